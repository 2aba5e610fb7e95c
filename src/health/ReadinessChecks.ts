/**
 * Readiness as it runs: every check by itself, each caller held to its own bound, and one run of a check at a time
 * however many ask (R16). What a check does is its owner's business.
 */
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Layer, Option } from "effect"
import { SteadyClock } from "../time/SteadyClock.ts"
import { CheckFailed, type CheckOutcome, Readiness } from "./Readiness.ts"

/** One run of a check, shared by all who ask while it goes on. */
interface Run {
  /** Raises what the run is allowed to take, counted from its start, to what this caller allows. */
  allow(millis: number): void
  /** How the check ended; none when it was given up. */
  readonly ended: Deferred.Deferred<Option.Option<Exit.Exit<void, unknown>>>
  /** Ends the run for all who wait, at once, and interrupts what still goes on of it. */
  giveUp(): void
}

interface Check {
  readonly name: string
  readonly effect: Effect.Effect<void, unknown>
  running: Run | undefined
}

/** How long the next run waits for one that is being given up, so that there are two only of a check that cannot be. */
const longestInterruption = Duration.seconds(1)

const failureOf = (check: string, cause: Cause.Cause<unknown>): CheckFailed => {
  const error = Cause.squash(cause)
  if (error instanceof CheckFailed) return new CheckFailed({ check, outside: error.outside, cause: error.cause })
  return new CheckFailed({ check, outside: Cause.hasInterruptsOnly(cause) ? "interrupted" : "failed", cause: error })
}

const noAnswer = (check: string, within: Duration.Duration): CheckFailed =>
  new CheckFailed({ check, outside: `did not answer within ${Duration.toSeconds(within)} s`, cause: undefined })

const outcomeOf = (failure: CheckFailed | undefined): CheckOutcome =>
  failure === undefined ? { ok: true } : { ok: false, error: failure.outside }

const make = Effect.gen(function* () {
  const steady = yield* SteadyClock
  // Runs are forked here and not in whoever asks: they belong to all who ask, and one that cannot be interrupted must
  // hold up neither them nor the shutdown. Forking is synchronous, so no two callers begin the same run.
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const checks = new Map<string, Check>()
  let draining = false

  const begin = (check: Check, startedMillis: number, allowedAtFirstMillis: number): Run => {
    let allowedMillis = allowedAtFirstMillis
    const ended = Deferred.makeUnsafe<Option.Option<Exit.Exit<void, unknown>>>()
    const end = (how: Option.Option<Exit.Exit<void, unknown>>) => {
      if (check.running === run) check.running = undefined
      Deferred.doneUnsafe(ended, Exit.succeed(how))
    }
    const stopAtBound = Effect.gen(function* () {
      while (true) {
        const leftMillis = startedMillis + allowedMillis - (yield* steady.nowMillis)
        if (leftMillis <= 0) break
        yield* Effect.sleep(Duration.millis(Math.ceil(leftMillis)))
      }
      body.interruptUnsafe()
      yield* Effect.timeoutOption(Fiber.await(body), longestInterruption)
      end(Option.none())
    })
    const run: Run = {
      allow: (millis) => {
        allowedMillis = Math.max(allowedMillis, millis)
      },
      ended,
      giveUp: () => {
        end(Option.none())
        body.interruptUnsafe()
      }
    }
    check.running = run
    const body = fork(Effect.map(Effect.exit(check.effect), (exit) => end(Option.some(exit))))
    fork(Effect.raceFirst(stopAtBound, Deferred.await(ended)))
    return run
  }

  /** The failure of a check, if it fails or does not answer in time. */
  const ask = Effect.fnUntraced(function* (check: Check, within: Duration.Duration) {
    const askedMillis = yield* steady.nowMillis
    const deadlineMillis = askedMillis + Duration.toMillis(within)
    // Again only when a run was given up that someone less patient had begun: what is left of the time is worth another.
    const isRegistered = () => checks.get(check.name) === check
    for (let now = askedMillis; now < deadlineMillis && isRegistered(); now = yield* steady.nowMillis) {
      const leftMillis = deadlineMillis - now
      const run = check.running ?? begin(check, now, leftMillis)
      run.allow(leftMillis)
      const ended = yield* Effect.timeoutOption(Deferred.await(run.ended), Duration.millis(leftMillis))
      const exit = Option.getOrUndefined(Option.flatten(ended))
      if (exit !== undefined) return Exit.isSuccess(exit) ? undefined : failureOf(check.name, exit.cause)
    }
    return noAnswer(check.name, within)
  })

  return Readiness.of({
    register: Effect.fn("Readiness.register")(function* (name, effect) {
      const check: Check = { name, effect, running: undefined }
      yield* Effect.acquireRelease(
        Effect.sync(() => checks.set(name, check)),
        () =>
          Effect.sync(() => {
            if (checks.get(name) === check) checks.delete(name)
            check.running?.giveUp()
          })
      )
    }),
    report: Effect.fn("Readiness.report")(function* (within) {
      const startedMillis = yield* steady.nowMillis
      const outcomes = yield* Effect.forEach(
        checks.values(),
        (check) => Effect.map(ask(check, within), (failure) => ({ name: check.name, failure })),
        { concurrency: "unbounded" }
      )
      const failures = outcomes.flatMap(({ failure }) => failure ?? [])
      return {
        ready: failures.length === 0 && !draining,
        ...(draining ? { reason: "draining" as const } : {}),
        checks: Object.fromEntries(outcomes.map(({ name, failure }) => [name, outcomeOf(failure)])),
        failures,
        durationMillis: (yield* steady.nowMillis) - startedMillis
      }
    }),
    drain: Effect.sync(() => {
      draining = true
    })
  })
})

export const layer: Layer.Layer<Readiness> = Layer.effect(Readiness, make)
