/** Numbers and times as people read them in a terminal. Pure. */
import { Result } from "effect"
import { inert } from "../logging/InertText.ts"
import * as Timestamp from "../time/Timestamp.ts"
import type { Named } from "./Table.ts"

/** A time span in its two largest units at most. */
export const span = (seconds: number): string => {
  const whole = Math.floor(seconds)
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours}h` : `${hours}h ${minutes % 60}m`
  return hours % 24 === 0 ? `${hours / 24}d` : `${Math.floor(hours / 24)}d ${hours % 24}h`
}

/** A share of 1. Only what is whole reads as 100%. */
export const percent = (share: number): string =>
  share === 1 ? "100%" : `${(Math.floor(share * 1_000 + 1e-6) / 10).toFixed(1)}%`

/** A short time, as exact as it is worth. */
export const duration = (seconds: number): string =>
  seconds < 10 ? `${Number(seconds.toFixed(1))}s` : span(Math.round(seconds))

/** By how much another clock is ahead (+) or behind (-); a dash where nobody knows. */
export const skew = (seconds: number | null): string => {
  if (seconds === null) return "-"
  const text = duration(Math.abs(seconds))
  return text === "0s" ? text : `${seconds < 0 ? "-" : "+"}${text}`
}

export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** A time that a server told, to the second. */
export const instant = (time: string): string => inert(time.replace(/\.\d+(?=Z$)/, ""), 40)

/** The same, and how long ago that was by this machine's clock. */
export const when = (time: string, nowMillis: number): string => {
  const then = Timestamp.parse(time)
  const text = instant(time)
  if (Result.isFailure(then)) return text
  const agoMillis = nowMillis - Timestamp.toMillis(then.success)
  return agoMillis < 0 ? text : `${text} (${span(agoMillis / 1_000)} ago)`
}

/** Words from a server, for one line. */
export const said = (text: string): string => inert(text, 200)

/** Words of this program that may hold those of others, whole. */
export const whole = (text: string): string => inert(text, 1_000)

/** A name and what a server said under it, each on a line of its own and whole; a dash where it said nothing. */
export const eachOf = (name: string, texts: ReadonlyArray<string>): ReadonlyArray<Named> =>
  texts.length === 0 ? [[name, { text: "-" }]] : texts.map((text, at) => [at === 0 ? name : "", { text: whole(text) }])

/** Words from a server, as a list. */
export const list = (texts: ReadonlyArray<string>): string => (texts.length === 0 ? "-" : inert(texts.join(", "), 300))
