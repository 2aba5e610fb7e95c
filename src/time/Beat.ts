/**
 * A fixed beat: one effect, run at `start + n · interval` for as long as its fiber lives. It keeps time on the steady
 * clock alone, and knows nothing of what it runs.
 */
import { Duration, Effect } from "effect"
import { SteadyClock } from "./SteadyClock.ts"

export interface Options<R> {
  /** What the log calls this beat when a run fails, as in `self-check failed to run`. */
  readonly label: string
  /** From 1 second to 24 hours. */
  readonly interval: Duration.Duration
  /** Whether the grid's first point, the start, is a beat. */
  readonly first: "now" | "after-interval"
  readonly effect: Effect.Effect<unknown, unknown, R>
  /** Told for about how long this process stood still while the beat was waiting. Default: nobody is told. */
  readonly onSuspended?: (millis: number) => Effect.Effect<void, never, R>
}

/**
 * A timer may not count the time the machine sleeps, so no single sleep is longer than this: a beat that came due in
 * a suspend runs at most this long after it.
 */
const longestSleepMillis = 30_000

/** A sleep that took this much longer than asked was a suspended machine or a stopped process, not a busy one. */
const suspendedFromMillis = 60_000

/**
 * The grid point that follows a run which began at `startedMillis` and ended at `endedMillis`, both counted from the
 * grid's start. Points that passed meanwhile are skipped. A late run stands for the point nearest to its start, so
 * after a long suspend one run happens at once, the next no sooner than half an interval later, and from there on the
 * beat is on its old grid again.
 */
export const nextPoint = (intervalMillis: number, startedMillis: number, endedMillis: number): number =>
  Math.max(Math.round(startedMillis / intervalMillis) + 1, Math.ceil(endedMillis / intervalMillis))

/**
 * Runs the effect on a fixed grid for ever; to be forked into a scope. A run that is still going when its next beat
 * comes swallows that beat (R16). A run that fails or dies is logged, and the next comes as if it had not (R17).
 */
export const run = Effect.fnUntraced(function* <R>(options: Options<R>): Effect.fn.Return<never, never, R> {
  const steady = yield* SteadyClock
  const intervalMillis = Duration.toMillis(options.interval)
  const start = yield* steady.nowMillis
  const onSuspended = options.onSuspended ?? (() => Effect.void)

  const waitUntil = Effect.fnUntraced(function* (dueMillis: number) {
    for (let now = yield* steady.nowMillis; now < dueMillis; ) {
      // Rounded up: a sleep of a fraction of a millisecond may be none at all.
      const sleepMillis = Math.min(longestSleepMillis, Math.ceil(dueMillis - now))
      yield* Effect.sleep(Duration.millis(sleepMillis))
      const awake = yield* steady.nowMillis
      const overMillis = awake - now - sleepMillis
      if (overMillis >= suspendedFromMillis) yield* onSuspended(overMillis)
      now = awake
    }
  })

  const runOnce = options.effect.pipe(
    Effect.catchCause((cause) => Effect.logError(`${options.label} failed to run`, cause))
  )

  let point = options.first === "now" ? 0 : 1
  while (true) {
    yield* waitUntil(start + point * intervalMillis)
    const started = yield* steady.nowMillis
    yield* runOnce
    point = nextPoint(intervalMillis, started - start, (yield* steady.nowMillis) - start)
  }
})

/** Says that the process stood still: what it believed of the network is that old (B08). */
export const logSuspended = (millis: number): Effect.Effect<void> =>
  Effect.logWarning(`was suspended about ${Math.max(1, Math.round(millis / 60_000))} min`)
