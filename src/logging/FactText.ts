/**
 * Any value as something that a log line can hold: inert, bounded in length and depth, never a failure of its own
 * (R5, I01, I02). Secrets print as `<redacted>`.
 */
import { Cause, Duration, Predicate, Redacted } from "effect"
import { inert } from "./InertText.ts"

export type Fact = string | number | boolean | ReadonlyArray<string>

const longest = 300
const longestCause = 1_000
const mostItems = 20
const deepest = 3

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

/** An error and what caused it, each once: `outer: inner`. */
const describeError = (error: Error, depth: number): string => {
  const own = error.message === "" ? error.name : error.message
  if (error.cause === undefined || error.cause === error || depth >= deepest) return own
  const cause = describe(error.cause, depth + 1)
  return own.includes(cause) ? own : `${own}: ${cause}`
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
