/**
 * Any value as something that a log line can hold: inert, bounded in length and depth, never a failure of its own
 * (R5, I01, I02). Secrets print as `<redacted>`.
 */
import { Cause, Duration, Predicate, Redacted } from "effect"
import { inert } from "./InertText.ts"

/** A fact beside a message of the log, as it is printed: inert text, bounded in length. */
export type Fact = string | number | boolean | ReadonlyArray<string>

const longest = 300
const longestCause = 1_000
const mostItems = 20
const deepest = 3
const longestChain = 5

export const factOf = (value: unknown): Fact => {
  if (typeof value === "boolean") return value
  if (typeof value === "number" && Number.isFinite(value)) return value
  if (!Array.isArray(value)) return inert(textOf(value), longest)
  const shown = value.slice(0, mostItems).map((item) => inert(textOf(item), longest))
  return value.length > mostItems ? [...shown, `… ${value.length - mostItems} more`] : shown
}

/** The value as text, not yet inert. Whatever it throws on the way is not the log's trouble. */
export const textOf = (value: unknown): string => {
  try {
    return describe(value, 0)
  } catch {
    return "(a value that cannot be printed)"
  }
}

const describe = (value: unknown, depth: number): string => {
  if (typeof value === "string") return value.slice(0, longestCause)
  if (typeof value !== "object" || value === null) return String(value)
  if (Redacted.isRedacted(value)) return "<redacted>"
  if (Duration.isDuration(value)) return Duration.format(value)
  if (value instanceof Error) return describeError(value, depth)
  if (Predicate.isDate(value)) return value.toISOString()
  if (depth >= deepest) return "…"
  if (!Array.isArray(value) && ![undefined, Object.prototype.toString].includes(value.toString)) return String(value)
  const entries = Object.entries(value).slice(0, mostItems)
  const inner = entries.map(([name, part]) =>
    Array.isArray(value) ? describe(part, depth + 1) : `${name}: ${describe(part, depth + 1)}`
  )
  const rest = Object.keys(value).length > entries.length ? ", …" : ""
  return Array.isArray(value) ? `[${inner.join(", ")}${rest}]` : `{${inner.join(", ")}${rest}}`
}

/** The error, then what caused it, and so on; each once, the outermost first. */
export const causeChain = (error: unknown): ReadonlyArray<unknown> => {
  const chain: Array<unknown> = []
  for (let at = error; at !== undefined && at !== null && chain.length < longestChain && !chain.includes(at); ) {
    chain.push(at)
    at = at instanceof Error ? at.cause : undefined
  }
  return chain
}

const ownText = (error: Error): string => {
  if (error.message !== "") return error.message
  // Node's AggregateError, of a host with several addresses, has a code and no message.
  return "code" in error && typeof error.code === "string" ? error.code : ""
}

/** An error and what caused it, each once: `outer: inner`. */
const describeError = (error: Error, depth: number): string => {
  let told = ""
  for (const part of causeChain(error)) {
    const text = part instanceof Error ? ownText(part) : describe(part, depth + 1)
    if (!told.includes(text)) told = told === "" ? text : `${told}: ${text}`
  }
  return told === "" ? error.name : told
}

/** What went wrong, in one inert line. A bug also says where it is. */
export const causeText = (cause: Cause.Cause<unknown>): string => {
  const reasons = cause.reasons.slice(0, deepest).map((reason) => {
    if (Cause.isFailReason(reason)) return textOf(reason.error)
    if (Cause.isDieReason(reason)) return `${textOf(reason.defect)}${placeOf(reason.defect)}`
    return "interrupted"
  })
  return inert([...new Set(reasons)].join("; "), longestCause)
}

const frame = /^\s+at (.+)$/gm

const placeOf = (defect: unknown): string => {
  const stack = defect instanceof Error && typeof defect.stack === "string" ? defect.stack.slice(0, 4_000) : ""
  const frames = [...stack.matchAll(frame)].slice(0, 4).map(([, place = ""]) => place)
  return frames.length === 0 ? "" : ` (at ${frames.join(", ")})`
}
