/**
 * One JSON object as text, read in a single pass without recursion: the bounds it keeps (R4), the ambiguities that
 * readers in other languages would settle differently (R3), and the literals of its known keys. No value is ever built
 * of what nobody asked for, so what strangers add costs its length and no more (cases I01, I04).
 */
import { Result } from "effect"
import { maxDepth, maxListItems, maxStringCharacters } from "./Limits.ts"
import { type Refusal, refuse } from "./Refusal.ts"

/** The known keys of one kind of message, each with its place among the literals. */
export interface Keys {
  readonly places: ReadonlyMap<string, number>
  /** How long they are: a key of another length is none of them, in any case. */
  readonly lengths: ReadonlySet<number>
}

export const keys = (...known: ReadonlyArray<string>): Keys => ({
  places: new Map(known.map((key, index) => [key, index])),
  lengths: new Set(known.map((key) => key.length))
})

/** The values of the known keys as they are written, each at the place of its key; valid JSON, within the bounds. */
export type Literals = ReadonlyArray<string | undefined>

const shownCharacters = 40

/** Text from a stranger as a detail may carry it: cut short, in quotes, ASCII that prints on one line (R5). */
export const shown = (text: string): string => {
  const cut = text.length > shownCharacters ? `${text.slice(0, shownCharacters)}...` : text
  const spell = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  return `"${cut.replace(/[^\x20-\x7e]/g, spell)}"`
}

const isSpace = (unit: number) => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
const isDigit = (unit: number) => unit >= 0x30 && unit <= 0x39
const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

// What the readers of strings and numbers answer where there is no end.
const broken = -1
const tooLong = -2

const escapes = '"\\/bfnrt'
const fourHexDigits = /[0-9a-fA-F]{4}/y

/** Where the string that opens at `start` ends, behind its closing quote. Counts code points, escapes resolved. */
const endOfString = (text: string, start: number): number => {
  let characters = 0
  let afterHigh = false
  for (let at = start + 1; at < text.length; at++) {
    let unit = text.charCodeAt(at)
    if (unit === 0x22) return at + 1
    if (unit < 0x20) return broken
    if (unit === 0x5c) {
      const escaped = text.charAt(++at)
      if (escaped === "u") {
        fourHexDigits.lastIndex = at + 1
        if (!fourHexDigits.test(text)) return broken
        unit = Number.parseInt(text.slice(at + 1, at + 5), 16)
        at += 4
      } else if (escaped === "" || !escapes.includes(escaped)) return broken
    }
    const endsPair: boolean = afterHigh && isLow(unit)
    afterHigh = !endsPair && isHigh(unit)
    if (!endsPair && ++characters > maxStringCharacters) return tooLong
  }
  return broken
}

const endOfDigits = (text: string, start: number): number => {
  let at = start
  while (isDigit(text.charCodeAt(at))) at++
  return at === start ? broken : at
}

const endOfNumber = (text: string, start: number): number => {
  const first = text.charCodeAt(start) === 0x2d ? start + 1 : start
  let at = text.charCodeAt(first) === 0x30 ? first + 1 : endOfDigits(text, first)
  if (text.charCodeAt(at) === 0x2e) at = endOfDigits(text, at + 1)
  if (at === broken || (text.charCodeAt(at) | 0x20) !== 0x65) return at
  const sign = text.charAt(at + 1)
  return endOfDigits(text, sign === "+" || sign === "-" ? at + 2 : at + 1)
}

/** Where the string, number or word that starts here ends. */
const endOfScalar = (text: string, start: number): number => {
  switch (text.charAt(start)) {
    case '"':
      return endOfString(text, start)
    case "t":
      return text.startsWith("true", start) ? start + 4 : broken
    case "f":
      return text.startsWith("false", start) ? start + 5 : broken
    case "n":
      return text.startsWith("null", start) ? start + 4 : broken
    default:
      return endOfNumber(text, start)
  }
}

/** A key as Go's `encoding/json` folds it when it finds no exact match: ASCII case, ſ for s, and the Kelvin sign for k. */
const fold = (key: string) => (/^[a-z0-9_]*$/.test(key) ? key : key.toLowerCase().replaceAll("\u017f", "s"))

const malformed = (detail: string) => Result.fail(refuse("malformed", detail))
const oversize = (detail: string) => Result.fail(refuse("oversize", detail))
const notAnObject = malformed("not one JSON object")

/** Fails as `malformed` or `oversize`, naming the top-level key. `text` is at most 8 KiB, which bounds the cost. */
export const literalsOf = (text: string, keys: Keys): Result.Result<Literals, Refusal> => {
  const literals = new Array<string | undefined>(keys.places.size).fill(undefined)
  // What is open, outermost first; index 0 stands for what is outside the message.
  const isList = [false]
  const items = [0]
  const named: Array<Set<string> | undefined> = [undefined]
  let depth = 0
  let expected: "message" | "first key" | "key" | "first item" | "value" | "more" = "message"
  // The top-level key whose value is being read, its place if it is known, and where the value starts.
  let field = ""
  let place: number | undefined
  let start = 0
  let backslash = text.indexOf("\\")
  const where = () => (field === "" ? "" : `${keys.places.has(field) ? field : shown(field)}: `)

  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at)
    if (isSpace(unit)) {
      at++
      continue
    }
    const closes = unit === (isList[depth] === true ? 0x5d : 0x7d)
    if (closes && depth > 0 && (expected === "more" || expected === "first key" || expected === "first item")) {
      depth--
      at++
    } else if (expected === "more") {
      if (unit !== 0x2c || depth === 0) return notAnObject
      at++
      expected = isList[depth] === true ? "value" : "key"
      if (expected === "key") continue
      const count = (items[depth] ?? 0) + 1
      if (count > maxListItems) return oversize(`${where()}a list of more than ${maxListItems} items`)
      items[depth] = count
      continue
    } else if (expected === "key" || expected === "first key") {
      const end = unit === 0x22 ? endOfString(text, at) : broken
      if (end === broken) return notAnObject
      if (end === tooLong) return oversize(`${where()}a string of more than ${maxStringCharacters} characters`)
      if (backslash !== -1 && backslash < at) backslash = text.indexOf("\\", at)
      const raw = text.slice(at + 1, end - 1)
      const key = backslash === -1 || backslash > end ? raw : (JSON.parse(`"${raw}"`) as string)
      const mayBeKnown = depth === 1 && keys.lengths.has(key.length)
      const known = mayBeKnown ? keys.places.get(key) : undefined
      if (known !== undefined) {
        if (literals[known] !== undefined) return malformed(`${key}: given twice`)
      } else {
        if (mayBeKnown && keys.places.has(fold(key))) {
          return malformed(`${shown(key)}: a known key in another case (expected ${fold(key)})`)
        }
        const names = named[depth] ?? new Set()
        const before = names.size
        if (names.add(key).size === before) return malformed(`${depth === 1 ? "" : where()}${shown(key)}: given twice`)
        named[depth] = names
      }
      at = end
      while (isSpace(text.charCodeAt(at))) at++
      if (text.charAt(at++) !== ":") return notAnObject
      while (isSpace(text.charCodeAt(at))) at++
      if (depth === 1) {
        field = key
        place = known
        start = at
      }
      expected = "value"
      continue
    } else if (unit === 0x7b || (unit === 0x5b && depth > 0)) {
      if (++depth > maxDepth) return oversize(`${where()}nested more than ${maxDepth} deep`)
      isList[depth] = unit === 0x5b
      items[depth] = 1
      named[depth] = undefined
      expected = unit === 0x5b ? "first item" : "first key"
      at++
      continue
    } else {
      const end = depth === 0 ? broken : endOfScalar(text, at)
      if (end === broken) return notAnObject
      if (end === tooLong) return oversize(`${where()}a string of more than ${maxStringCharacters} characters`)
      at = end
    }
    // A value has ended here, or the message.
    expected = "more"
    if (depth === 1 && place !== undefined) literals[place] = text.slice(start, at)
  }
  return depth === 0 && expected === "more" ? Result.succeed(literals) : notAnObject
}
