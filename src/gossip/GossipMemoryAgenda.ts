/** What a network in memory has under way: each effect at its moment of the clock, those of one moment in order. */
import { Clock, Effect, FiberSet, type Scope } from "effect"

export interface Agenda {
  /** Milliseconds on the network's clock. */
  readonly nowMillis: () => number
  /** Runs the effect so many milliseconds from now, under the network's own clock and loggers. */
  later(delayMillis: number, effect: Effect.Effect<unknown>): void
}

export const make: Effect.Effect<Agenda, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const run = yield* FiberSet.makeRuntime()
  const due = new Map<number, Array<Effect.Effect<unknown>>>()
  const nowMillis = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  return {
    nowMillis,
    // All that falls due at one moment is one sleep: a network of hundreds stays fast.
    later: (delayMillis, effect) => {
      const at = nowMillis() + delayMillis
      const together = due.get(at)
      if (together !== undefined) return void together.push(effect)
      const batch = [effect]
      due.set(at, batch)
      const deliver = Effect.suspend(() => {
        due.delete(at)
        return Effect.forEach(batch, (one) => one, { discard: true })
      })
      run(Effect.andThen(Effect.sleep(delayMillis), deliver))
    }
  }
})
