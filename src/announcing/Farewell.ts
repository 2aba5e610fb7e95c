/**
 * A planned stop (R13): the server turns unready, waits for those who route to it to notice, says a last unhealthy
 * heartbeat, and may then leave. It takes no longer than a shutdown may.
 */
import { Duration, Effect, Option, Semaphore } from "effect"
import { orAbandon } from "../time/Bounded.ts"

export interface Options {
  /** Turns the server unready. */
  readonly drain: Effect.Effect<void>
  /** Publishes the last heartbeat. */
  readonly lastWords: Effect.Effect<void>
  /** Between the two. Source: `ops.drain_delay`. */
  readonly drainDelay: Duration.Duration
  /** For all of it. Source: `ops.shutdown_timeout`. */
  readonly shutdownTimeout: Duration.Duration
}

/** Kept free of the drain delay for the last words and for what else must end within the shutdown timeout. */
const longestReserve = Duration.seconds(1)

/** The drain delay as far as the shutdown timeout has room for it. */
export const delayWithin = (drainDelay: Duration.Duration, shutdownTimeout: Duration.Duration): Duration.Duration => {
  const reserve = Duration.min(longestReserve, Duration.times(shutdownTimeout, 0.5))
  return Duration.min(drainDelay, Duration.subtract(shutdownTimeout, reserve))
}

/** An effect that says farewell once; whoever else runs it waits for that to end. It never fails. */
export const make = (options: Options): Effect.Effect<Effect.Effect<void>> =>
  Effect.gen(function* () {
    const oneAtATime = yield* Semaphore.make(1)
    let said = false
    const leave = Effect.gen(function* () {
      yield* options.drain
      yield* Effect.sleep(delayWithin(options.drainDelay, options.shutdownTimeout))
      yield* options.lastWords
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("farewell failed", cause)))
    const once = Effect.gen(function* () {
      if (said) return
      said = true
      const end = yield* orAbandon(leave, options.shutdownTimeout)
      if (Option.isNone(end)) yield* Effect.logWarning("farewell not ended within the shutdown timeout")
    })
    return Semaphore.withPermit(oneAtATime, once)
  })
