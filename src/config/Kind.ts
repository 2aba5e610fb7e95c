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

export interface Kind<A> {
  /** What may be written, as the end of "allowed: …". */
  readonly allowed: string
  readonly shape: "text" | "literal" | "list"
  /** Whether the value is to be kept out of every message. */
  readonly isSecret: boolean
  /** Fails with the part that is not allowed: the whole, or one item of a list. */
  read(raw: Raw): Result.Result<A, Raw>
  /** As the configuration file would say it. `undefined` where nothing is set. */
  write(value: A): string | undefined
}

const decimal = /^-?(0|[1-9]\d*)(\.\d+)?$/

/** What was written, for a message: its kind, and its text where it is one, inert and cut. Not to be asked of a secret. */
export const describe = (raw: Raw): string => {
  if (raw.type === "list") return `a list of ${raw.items.length}`
  if (raw.type === "map") return "a section"
  if (raw.text === "") return "an empty text"
  const shown = inert(raw.text, 100)
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
    return value === undefined ? Result.fail(raw) : Result.succeed(value)
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
      : Result.fail(raw)
  },
  write: durationText
})

export const choice = <const A extends string>(...choices: ReadonlyArray<A>): Kind<A> => ({
  allowed: `one of ${choices.join(", ")}`,
  shape: "text",
  isSecret: false,
  read: (raw) => {
    const chosen = raw.type === "scalar" ? choices.find((known) => known === raw.text) : undefined
    return chosen === undefined ? Result.fail(raw) : Result.succeed(chosen)
  },
  write: String
})

const textual = (allowed: string, accepts: (text: string) => boolean): Kind<string> => ({
  allowed,
  shape: "text",
  isSecret: false,
  read: (raw) => (raw.type === "scalar" && accepts(raw.text) ? Result.succeed(raw.text) : Result.fail(raw)),
  write: (value) => JSON.stringify(value)
})

const plainText = (most: number): Kind<string> =>
  textual(
    `a text of 1 to ${most} characters, without control characters, without spaces at its ends`,
    (text) => text.length >= 1 && text.length <= most && text.trim() === text && isInert(text)
  )

/** A label or a name. What looks like a number, a boolean or a date is the text it was written as (L04). */
export const text: Kind<string> = plainText(256)

/** A path; a leading `~/` is the home directory. */
export const path: Kind<string> = plainText(4_096)

const hostName = /^(?=.{1,253}$)[a-z\d]([a-z\d-]{0,61}[a-z\d])?(\.[a-z\d]([a-z\d-]{0,61}[a-z\d])?)*$/i
const onlyNumbers = /^[\d.]+$/

/** An IP address or a host name. */
export const host: Kind<string> = textual(
  "an IP address such as 127.0.0.1 or ::1, or a host name",
  (text) => isIP(text) !== 0 || (hostName.test(text) && !onlyNumbers.test(text))
)

const longestList = 1_000
const placeholder = /[<>]/
const item = plainText(512)

/** Addresses or names: items of a list in a file, separated by commas in a variable or a flag. */
export const list = (what: string): Kind<ReadonlyArray<string>> => ({
  allowed: `a list of at most ${longestList} ${what}, none of them empty or a <placeholder>`,
  shape: "list",
  isSecret: false,
  read: (raw) => {
    if (raw.type !== "list" || raw.items.length > longestList) return Result.fail(raw)
    const isRefused = (one: Raw) =>
      Result.isFailure(item.read(one)) || (one.type === "scalar" && placeholder.test(one.text))
    const wrong = raw.items.find(isRefused)
    return wrong === undefined
      ? Result.succeed(raw.items.flatMap((one) => (one.type === "scalar" ? [one.text] : [])))
      : Result.fail(wrong)
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
      : Result.fail(raw),
  write: () => masked
}

/** The kind of a setting that may be left unset, which an empty text says too. */
export const optional = <A>(kind: Kind<A>): Kind<A | undefined> => ({
  ...kind,
  read: (raw) => (raw.type === "scalar" && raw.text === "" ? Result.succeed(undefined) : kind.read(raw)),
  write: (value) => (value === undefined ? undefined : kind.write(value))
})
