/**
 * The clock of one virtual server: it shares the flow of time with the rest of the network, and may be wrong about
 * the date or stand still as a stopped process does.
 */
import { Clock, Duration, Effect, Latch } from "effect"

export interface VirtualClock {
  readonly clock: Clock.Clock
  /** From now on the wall clock is this far ahead of the network's; negative is behind. Ages and sleeps do not notice. */
  skew(by: Duration.Input): Effect.Effect<void>
  /** From now on no timer fires. Time goes on, also on the steady clock, as it does for a machine that sleeps. */
  readonly suspend: Effect.Effect<void>
  /** Every timer that came due meanwhile fires now. */
  readonly resume: Effect.Effect<void>
}

/** A clock on top of the one in force. `datedNanos` is the date, by a clock that is right, when that one read zero. */
export const make = (datedNanos: bigint): Effect.Effect<VirtualClock> =>
  Effect.gen(function* () {
    const base = yield* Clock.Clock
    const running = yield* Latch.make(true)
    let skewNanos = 0n
    const nanos = () => datedNanos + skewNanos + base.monotonicTimeNanosUnsafe()
    const millis = () => Number(nanos() / 1_000_000n)
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: () => base.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: base.monotonicTimeNanos,
      sleep: (duration) => Effect.andThen(base.sleep(duration), running.await)
    }
    return {
      clock,
      skew: (by) =>
        Effect.sync(() => {
          skewNanos = Duration.toNanosUnsafe(by)
        }),
      suspend: Effect.asVoid(running.close),
      resume: Effect.asVoid(running.open)
    }
  })
