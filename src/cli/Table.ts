/** Rows with their columns in line. It knows nothing of what they say: whoever fills a cell makes it inert. Pure. */
import { type Colour, type Paint, painter } from "../logging/Colours.ts"
import type { Terminal } from "../logging/Logging.ts"

export interface Cell {
  readonly text: string
  readonly colour?: Colour | undefined
}

/** At least one cell; the last is as long as it is. */
export type Row = ReadonlyArray<Cell>

/** A name and what is to be said under it. */
export type Named = readonly [name: string, cell: Cell]

export const namedRows = (rows: ReadonlyArray<Named>): ReadonlyArray<Row> =>
  rows.map(([name, cell]) => [{ text: name, colour: "dim" }, cell])

/** How rows are put on lines. */
export interface Sheet {
  readonly paint: Paint
  /** Characters in a line of the terminal; absent where lines have no end. */
  readonly columns: number | undefined
}

export const sheetOn = ({ columns, hasColours }: Terminal): Sheet => ({ columns, paint: painter(hasColours) })

/** For rows that are sentences, which a terminal may break but nobody may cut. */
export const endlessSheetOn = ({ hasColours }: Terminal): Sheet => ({ columns: undefined, paint: painter(hasColours) })

const gap = "  "
/** A last cell that has to be cut keeps this much, wherever the line ends. */
const leastLast = 20
const cut = "…"

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })
/** What takes the place of two characters. */
const wide =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303e\uff01-\uff60]|\p{Emoji_Presentation}/u

/** The places that a text takes in a line. */
const widthOf = (text: string): number => {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}

/** The width of each column that all of these rows fit into. */
export const widthsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<number> => {
  const widths: Array<number> = []
  for (const row of rows) {
    row.forEach(({ text }, column) => {
      widths[column] = Math.max(widths[column] ?? 0, widthOf(text))
    })
  }
  return widths
}

const fitted = (text: string, room: number): string =>
  text.length <= Math.max(room, leastLast) ? text : `${text.slice(0, Math.max(room, leastLast) - cut.length)}${cut}`

/** The row as a line. */
export const line = (row: Row, widths: ReadonlyArray<number>, { columns, paint }: Sheet): string => {
  let used = 0
  const parts = row.map(({ colour, text }, column) => {
    if (column === row.length - 1) return paint(colour, columns === undefined ? text : fitted(text, columns - used))
    const width = Math.max(widths[column] ?? 0, widthOf(text))
    used += width + gap.length
    return `${paint(colour, text)}${" ".repeat(width - widthOf(text))}${gap}`
  })
  return parts.join("")
}

/** Rows below one another. */
export const render = (rows: ReadonlyArray<Row>, sheet: Sheet): ReadonlyArray<string> => {
  const widths = widthsOf(rows)
  return rows.map((row) => line(row, widths, sheet))
}
