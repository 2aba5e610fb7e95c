/**
 * The clock that ages are measured on (R6): it never jumps when the wall clock is set, and it goes on
 * while the machine sleeps. It knows nothing of dates; those come from Effect's `Clock`.
 */

import { uptime } from "node:os"
import { Clock, Context, Effect, Layer } from "effect"

/**
 * Milliseconds on a clock with an arbitrary origin that only moves forward.
 *
 * Without a layer it reads `Clock.monotonicTimeNanos`, which is virtual under a `TestClock`. `layerLive` reads the
 * time since boot, which counts suspend on Linux (10 ms steps), macOS and Windows and ignores NTP steps on Linux and
 * Windows. Source: ruling R6.
 */
export const SteadyClock: Context.Reference<SteadyClock> = Context.Reference<SteadyClock>(
  "ricochet-discovery/time/SteadyClock",
  {
    defaultValue: () => ({
      nowMillis: Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000n) / 1_000)
    })
  }
)
export interface SteadyClock {
  readonly nowMillis: Effect.Effect<number>
}

/** The time since boot, as the operating system counts it. */
export const layerLive: Layer.Layer<never> = Layer.succeed(SteadyClock, {
  nowMillis: Effect.sync(() => uptime() * 1_000)
})
