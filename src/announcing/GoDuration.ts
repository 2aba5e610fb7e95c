/** A duration as Go prints it: the form in which servers in the field write `retention_policy` (wire.md). */
import { Duration } from "effect"

const perMicro = 1_000n
const perMilli = 1_000_000n
const perSecond = 1_000_000_000n
const perMinute = 60n * perSecond
const perHour = 60n * perMinute

/** A number of units with as many decimals as it takes and no more. */
const decimal = (nanos: bigint, perUnit: bigint): string => {
  const fraction = (nanos % perUnit)
    .toString()
    .padStart(perUnit.toString().length - 1, "0")
    .replace(/0+$/, "")
  return fraction === "" ? `${nanos / perUnit}` : `${nanos / perUnit}.${fraction}`
}

/** As Go's `Duration.String`: `720h0m0s`, `1m30.5s`, `1.5µs`, `0s`. Below a second the largest fitting unit leads. */
export const fromNanos = (nanos: bigint): string => {
  if (nanos < 0n) return `-${fromNanos(-nanos)}`
  if (nanos === 0n) return "0s"
  if (nanos < perMicro) return `${nanos}ns`
  if (nanos < perMilli) return `${decimal(nanos, perMicro)}µs`
  if (nanos < perSecond) return `${decimal(nanos, perMilli)}ms`
  const seconds = `${decimal(nanos % perMinute, perSecond)}s`
  if (nanos < perMinute) return seconds
  const minutes = `${(nanos % perHour) / perMinute}m${seconds}`
  return nanos < perHour ? minutes : `${nanos / perHour}h${minutes}`
}

/** A finite duration as Go prints it. */
export const fromDuration = (duration: Duration.Duration): string => fromNanos(Duration.toNanosUnsafe(duration))
