/** Waiting for an effect no longer than allowed, even for one that cannot be interrupted. */
import { type Duration, Effect, type Exit, Fiber, type Option } from "effect"

/**
 * Runs the effect in a fiber of its own and waits for its end, at most for `bound`. After that it is interrupted and
 * left to itself: `Effect.timeout` would wait for a body that cannot be interrupted, and this does not. Holds in
 * finalizers too.
 */
export const orAbandon = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  bound: Duration.Duration
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDetach(effect, { startImmediately: true })
    return yield* Fiber.await(fiber).pipe(
      Effect.timeoutOption(bound),
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
    )
  })
