/** What a look at one matter showed, and what to do about it. Pure; whoever looks says it in inert words. */
import type { Colour } from "../logging/Colours.ts"
import { line, type Row, type Sheet, widthsOf } from "./Table.ts"
import { counted } from "./Words.ts"

export interface Finding {
  /** `note`: worth a look, and no harm to this server. `bad`: something has to be done. */
  readonly level: "ok" | "note" | "bad"
  /** What it is about, in a word or two. */
  readonly about: string
  readonly text: string
  /** What to do; absent where nothing has to be done. */
  readonly advice?: string
}

export const ok = (about: string, text: string): Finding => ({ level: "ok", about, text })
export const note = (about: string, text: string, advice?: string): Finding => finding("note", about, text, advice)
export const bad = (about: string, text: string, advice?: string): Finding => finding("bad", about, text, advice)

const finding = (level: Finding["level"], about: string, text: string, advice?: string): Finding => ({
  level,
  about,
  text,
  ...(advice === undefined ? {} : { advice })
})

const colours: Readonly<Record<Finding["level"], Colour>> = { ok: "green", note: "yellow", bad: "red" }

export const isWell = (findings: ReadonlyArray<Finding>): boolean => findings.every(({ level }) => level !== "bad")

const verdict = (findings: ReadonlyArray<Finding>): string => {
  const count = (level: Finding["level"]) => findings.filter((one) => one.level === level).length
  const [wrong, notes] = [count("bad"), count("note")]
  const told = wrong === 0 ? "all is well" : `${counted(wrong, "thing is", "things are")} wrong`
  return notes === 0 ? told : `${told}, ${counted(notes, "thing is", "things are")} worth a look`
}

const rowOf = ({ about, level, text }: Finding): Row => [
  { text: level, colour: colours[level] },
  { text: about },
  { text }
]

/** A line for each finding, what to do about it below it, and the verdict at the end. */
export const render = (findings: ReadonlyArray<Finding>, sheet: Sheet): ReadonlyArray<string> => {
  const widths = widthsOf(findings.map(rowOf))
  const lines = findings.flatMap((one) => [
    line(rowOf(one), widths, sheet),
    ...(one.advice === undefined
      ? []
      : [line([{ text: "" }, { text: "" }, { text: `-> ${one.advice}` }], widths, sheet)])
  ])
  return [...lines, "", sheet.paint(isWell(findings) ? "green" : "red", verdict(findings))]
}
