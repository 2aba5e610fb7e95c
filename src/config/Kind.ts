/**
 * What a setting can hold: how its text is read, strictly, what is allowed, and how it is written back. It knows
 * nothing of which settings there are or where a text came from.
 */
import { isIP } from "node:net"
import { Duration, Redacted, Result } from "effect"
import { inert, isInert } from "../logging/InertText.ts"

/** A value as a file, a variable, a flag or a program wrote it, before anything is made of it. */
export type Raw =
  | { readonly type: "scalar"; readonly text: string; readonly quoted: boolean }
  | { readonly type: "list"; readonly items: ReadonlyArray<Raw> }
  | { readonly type: "map" }

/** What is not allowed: the whole of what was written, or one item of a list. */
export interface Refused {
  readonly part: Raw
  /** Which item of the list it is. */
  readonly index?: number
  /** What is the matter with it, where that is more than not to be what is allowed. */
  readonly flaw?: string
}

export interface Kind<A> {
  /** What may be written, as the end of "allowed: …". */
  readonly allowed: string
  readonly shape: "text" | "literal" | "list"
  /** Whether the value is to be kept out of every message. */
  readonly isSecret: boolean
  /** Fails with everything in it that is not allowed. */
  read(raw: Raw): Result.Result<A, ReadonlyArray<Refused>>
  /** As the configuration file would say it. `undefined` where nothing is set. */
  write(value: A): string | undefined
}

const decimal = /^-?(0|[1-9]\d*)(\.\d+)?$/

const refuse = (part: Raw) => Result.fail([{ part }])

/** What was written, for a message: its kind, and its text where it is one, inert and cut. Not to be asked of a secret. */
export const describe = (raw: Raw): string => {
  if (raw.type === "list") return `a list of ${raw.items.length}`
  if (raw.type === "map") return "a section"
  if (raw.text === "") return "an empty text"
  const shown = inert(raw.text, 200)
  if (!raw.quoted && (raw.text === "true" || raw.text === "false")) return `boolean ${shown}`
  return !raw.quoted && decimal.test(raw.text) ? `number ${shown}` : `text "${shown}"`
}

/** A kind of bare words: in quotes a file would make it a text, and a text is neither number nor boolean. */
const literal = <A>(allowed: string, parse: (text: string) => A | undefined, write: (value: A) => string): Kind<A> => ({
  allowed,
  shape: "literal",
  isSecret: false,
  read: (raw) => {
    const value = raw.type === "scalar" && !raw.quoted ? parse(raw.text) : undefined
    return value === undefined ? refuse(raw) : Result.succeed(value)
  },
  write
})

export const boolean: Kind<boolean> = literal(
  "true or false",
  (text) => (text === "true" ? true : text === "false" ? false : undefined),
  String
)

const parseNumber = (text: string, least: number, most: number): number | undefined => {
  const value = decimal.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : undefined
}

export const number = (least: number, most: number): Kind<number> =>
  literal(`a number from ${least} to ${most}`, (text) => parseNumber(text, least, most), String)

export const wholeNumber = (least: number, most: number): Kind<number> =>
  literal(
    `a whole number from ${least} to ${most}`,
    (text) => (text.includes(".") ? undefined : parseNumber(text, least, most)),
    String
  )

/** An interval written as a number of minutes (R22: from 1 second to 24 hours). */
export const minutes: Kind<Duration.Duration> = literal(
  "a number of minutes from 0.016667 (1 second) to 1440 (24 hours)",
  (text) => {
    const value = parseNumber(text, 1 / 60, 24 * 60)
    return value === undefined ? undefined : Duration.millis(Math.round(value * 60_000))
  },
  (value) => String(Duration.toMinutes(value))
)

const unitMillis: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000]
])
const durationPart = /(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/g
const wholeDuration = new RegExp(`^(?:${durationPart.source})+$`)

const durationMillis = (text: string): number => {
  if (text === "0") return 0
  if (!wholeDuration.test(text)) return Number.NaN
  let millis = 0
  for (const [, amount, unit = ""] of text.matchAll(durationPart)) {
    millis += Number(amount) * (unitMillis.get(unit) ?? Number.NaN)
  }
  return millis
}

const durationText = (value: Duration.Duration): string => {
  const millis = Duration.toMillis(value)
  return millis % 1_000 === 0 ? `${millis / 1_000}s` : `${millis}ms`
}

/** A duration as Go writes it: `2s`, `1m30s`, `500ms`. */
export const duration = (least: Duration.Duration, most: Duration.Duration): Kind<Duration.Duration> => ({
  allowed: `a duration such as 2s, 1m30s or 500ms, from ${durationText(least)} to ${durationText(most)}`,
  shape: "literal",
  isSecret: false,
  read: (raw) => {
    const millis = raw.type === "scalar" ? durationMillis(raw.text) : Number.NaN
    return millis >= Duration.toMillis(least) && millis <= Duration.toMillis(most)
      ? Result.succeed(Duration.millis(millis))
      : refuse(raw)
  },
  write: durationText
})

export const choice = <const A extends string>(...choices: ReadonlyArray<A>): Kind<A> => ({
  allowed: `one of ${choices.join(", ")}`,
  shape: "text",
  isSecret: false,
  read: (raw) => {
    const chosen = raw.type === "scalar" ? choices.find((known) => known === raw.text) : undefined
    return chosen === undefined ? refuse(raw) : Result.succeed(chosen)
  },
  write: String
})

const textual = (allowed: string, accepts: (text: string) => boolean): Kind<string> => ({
  allowed,
  shape: "text",
  isSecret: false,
  read: (raw) => (raw.type === "scalar" && accepts(raw.text) ? Result.succeed(raw.text) : refuse(raw)),
  write: (value) => JSON.stringify(value)
})

const isPlain = (text: string, most: number) =>
  text.length >= 1 && text.length <= most && text.trim() === text && isInert(text)

const plainText = (most: number): Kind<string> =>
  textual(`a text of 1 to ${most} characters, without control characters, without spaces at its ends`, (text) =>
    isPlain(text, most)
  )

/** A label or a name. What looks like a number, a boolean or a date is the text it was written as (L04). */
export const text: Kind<string> = plainText(256)

/** A path; a leading `~/` is the home directory. */
export const path: Kind<string> = plainText(4_096)

const hostName = /^(?=.{1,253}$)[a-z\d]([a-z\d-]{0,61}[a-z\d])?(\.[a-z\d]([a-z\d-]{0,61}[a-z\d])?)*$/i
const onlyNumbers = /^[\d.]+$/

const isHost = (text: string) => isIP(text) !== 0 || (hostName.test(text) && !onlyNumbers.test(text))

/** An IP address or a host name. */
export const host: Kind<string> = textual("an IP address such as 127.0.0.1 or ::1, or a host name", isHost)

/** With the name of the socket in it, a path may have 103 bytes where systems allow least. */
const longestSocketDirectory = 88

/** A host, or the directory of a Unix socket on this machine. */
export const hostOrSocketDirectory: Kind<string> = textual(
  "an IP address such as 127.0.0.1 or ::1, a host name, or the absolute path of a Unix socket's directory of at most " +
    `${longestSocketDirectory} bytes`,
  (text) =>
    isHost(text) ||
    (text.startsWith("/") && isPlain(text, longestSocketDirectory) && Buffer.byteLength(text) <= longestSocketDirectory)
)

const longestList = 1_000
const longestItem = 512
const placeholder = /[<>]/

/**
 * Addresses or names: items of a list in a file, separated by commas in a variable or a flag. `flawIn` says what is the
 * matter with an item, if anything is.
 */
export const list = (
  what: string,
  flawIn: (text: string) => string | undefined = () => undefined
): Kind<ReadonlyArray<string>> => ({
  allowed: `a list of at most ${longestList} ${what}, none of them empty or a <placeholder>`,
  shape: "list",
  isSecret: false,
  read: (raw) => {
    if (raw.type !== "list" || raw.items.length > longestList) return refuse(raw)
    const texts: Array<string> = []
    const refused: Array<Refused> = []
    raw.items.forEach((part, index) => {
      if (part.type !== "scalar" || !isPlain(part.text, longestItem) || placeholder.test(part.text)) {
        refused.push({ part, index })
        return
      }
      const flaw = flawIn(part.text)
      if (flaw === undefined) texts.push(part.text)
      else refused.push({ part, index, flaw })
    })
    return refused.length === 0 ? Result.succeed(texts) : Result.fail(refused)
  },
  write: (value) => JSON.stringify(value)
})

const masked = "********"

export const secret: Kind<Redacted.Redacted> = {
  allowed: "a text of 1 to 1024 characters",
  shape: "text",
  isSecret: true,
  read: (raw) =>
    raw.type === "scalar" && raw.text.length >= 1 && raw.text.length <= 1_024
      ? Result.succeed(Redacted.make(raw.text))
      : refuse(raw),
  write: () => masked
}

/** The kind of a setting that may be left unset, which an empty text says too. */
export const optional = <A>(kind: Kind<A>): Kind<A | undefined> => ({
  ...kind,
  read: (raw) => (raw.type === "scalar" && raw.text === "" ? Result.succeed(undefined) : kind.read(raw)),
  write: (value) => (value === undefined ? undefined : kind.write(value))
})
