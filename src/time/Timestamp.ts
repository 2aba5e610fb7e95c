/**
 * The time of day on the wire: RFC 3339 text and nanoseconds since the Unix epoch, nothing lost between them. Written
 * by hand because JavaScript's own date parser takes bare dates, local times and 30 February, and stops at milliseconds.
 */
import { Result } from "effect"

const nanosPerSecond = 1_000_000_000n
const nanosPerMilli = 1_000_000n
const secondsPerDay = 86_400

/** What every refused text is told: one sentence, because a sender's mistake is nearly always the whole format. */
export const notATimestamp = "not an RFC 3339 time such as 2026-11-30T21:14:03.120934871+02:00"

/** Go's zero time: what a missing `timestamp` reads as. Source: wire.md, "What readers in the field do". */
export const zero = -62_135_596_800n * nanosPerSecond

const pattern =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/

const isLeapYear = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const daysIn = (year: number, month: number) => (month === 2 && isLeapYear(year) ? 29 : (monthLengths[month - 1] ?? 0))

/** Days in the years before `year`, counted from year 0 of the proleptic Gregorian calendar. */
const daysBeforeYear = (year: number) =>
  year === 0
    ? 0
    : 365 * year + Math.floor((year - 1) / 4) - Math.floor((year - 1) / 100) + Math.floor((year - 1) / 400) + 1

const daysBeforeMonth = (year: number, month: number) => {
  let days = 0
  for (let earlier = 1; earlier < month; earlier++) days += daysIn(year, earlier)
  return days
}

const epochDay = daysBeforeYear(1970)

/**
 * Reads an RFC 3339 date-time as strictly as servers written in Go do: `T` and `Z` in upper case, a zone, a real day,
 * no leap second, at most 9 fraction digits. Source: R3; cases B01, J01, J02.
 */
export const parse = (text: string): Result.Result<bigint, string> => {
  const match = pattern.exec(text)
  if (match === null) return Result.fail(notATimestamp)
  const part = (index: number) => Number(match[index] ?? 0)
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)]
  const [zoneHour, zoneMinute] = [part(9), part(10)]
  if (month < 1 || month > 12) return Result.fail("a month that does not exist")
  if (day < 1 || day > daysIn(year, month)) return Result.fail("a day that does not exist")
  if (hour > 23 || minute > 59 || second > 59) return Result.fail("a time of day that does not exist")
  if (zoneHour > 23 || zoneMinute > 59) return Result.fail("a zone that does not exist")
  const days = daysBeforeYear(year) + daysBeforeMonth(year, month) + day - 1 - epochDay
  const zoneSeconds = (match[8] === "-" ? -1 : 1) * (zoneHour * 3600 + zoneMinute * 60)
  const seconds = days * secondsPerDay + hour * 3600 + minute * 60 + second - zoneSeconds
  return Result.succeed(BigInt(seconds) * nanosPerSecond + BigInt((match[7] ?? "").padEnd(9, "0")))
}

const digits = (value: number, width: number) => String(value).padStart(width, "0")

/**
 * Writes a moment in UTC as Go prints it: `Z`, and only the fraction digits that say something. Between the years 0 and
 * 9999 `parse` reads back the same nanosecond.
 */
export const format = (nanos: bigint): string => {
  const fraction = ((nanos % nanosPerSecond) + nanosPerSecond) % nanosPerSecond
  const seconds = Number((nanos - fraction) / nanosPerSecond)
  const days = Math.floor(seconds / secondsPerDay)
  const secondOfDay = seconds - days * secondsPerDay
  const dayCount = days + epochDay
  // The mean year is a guess that is never more than one off.
  let year = Math.floor(dayCount / 365.2425)
  while (daysBeforeYear(year) > dayCount) year--
  while (daysBeforeYear(year + 1) <= dayCount) year++
  let dayOfYear = dayCount - daysBeforeYear(year)
  let month = 1
  while (dayOfYear >= daysIn(year, month)) dayOfYear -= daysIn(year, month++)
  const date = `${digits(year, 4)}-${digits(month, 2)}-${digits(dayOfYear + 1, 2)}`
  const time = [Math.floor(secondOfDay / 3600), Math.floor(secondOfDay / 60) % 60, secondOfDay % 60]
  const trimmed = fraction === 0n ? "" : `.${String(fraction).padStart(9, "0").replace(/0+$/, "")}`
  return `${date}T${time.map((value) => digits(value, 2)).join(":")}${trimmed}Z`
}

export const fromMillis = (millis: number): bigint => BigInt(Math.floor(millis)) * nanosPerMilli

/** Whole milliseconds since the epoch, rounded down, so that no moment moves into the future. */
export const toMillis = (nanos: bigint): number => {
  const rest = ((nanos % nanosPerMilli) + nanosPerMilli) % nanosPerMilli
  return Number((nanos - rest) / nanosPerMilli)
}
