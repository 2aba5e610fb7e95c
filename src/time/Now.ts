/**
 * One reading of both clocks. It is taken once per decision and passed down, so that one decision sees one time.
 */
import { Clock, Effect } from "effect"
import type { Now } from "./Reading.ts"
import { SteadyClock } from "./SteadyClock.ts"

export type { Now } from "./Reading.ts"

export const now: Effect.Effect<Now> = Effect.gen(function* () {
  const steady = yield* SteadyClock
  return { wallNanos: yield* Clock.currentTimeNanos, steadyMillis: yield* steady.nowMillis }
})
