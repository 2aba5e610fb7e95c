import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Beat from "../../src/time/Beat.ts"
import { SteadyClock } from "../../src/time/SteadyClock.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"

const seconds = (millis: number) => millis / 1_000

/** Starts a beat whose n-th run is `runs(n)`, and lists when each began, in seconds. */
const begin = Effect.fnUntraced(function* (
  options: Pick<Beat.Options<never>, "first" | "interval">,
  runs: (n: number) => Effect.Effect<unknown, unknown> = () => Effect.void
) {
  const starts: Array<number> = []
  const effect = Effect.gen(function* () {
    starts.push(seconds(yield* (yield* SteadyClock).nowMillis))
    yield* runs(starts.length)
  })
  const fiber = yield* Effect.forkScoped(
    Beat.run({ ...options, label: "a test", effect, onSuspended: Beat.logSuspended })
  )
  yield* TestClock.adjust(0)
  return { starts, fiber }
})

/** A steady clock that a test can push on while the timers stand still, as a suspended machine does. */
const suspendable = () => {
  let asleepMillis = 0
  const layer = Layer.succeed(SteadyClock, {
    nowMillis: Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6 + asleepMillis)
  })
  return { layer, suspend: (duration: Duration.Input) => (asleepMillis += Duration.toMillis(duration)) }
}

const everyFiveMinutes = { interval: Duration.minutes(5), first: "now" } as const

describe("a fixed beat", () => {
  it.effect("G12 R16 runs at start + n · interval for 48 hours though each run takes 10 seconds", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("7 seconds")
      const { starts } = yield* begin(everyFiveMinutes, () => Effect.sleep("10 seconds"))
      yield* TestClock.adjust("48 hours")
      assert.deepStrictEqual(
        starts,
        Array.from({ length: 48 * 12 + 1 }, (_, n) => 7 + n * 300)
      )
    })
  )

  it.effect("begins an interval later where the start is no beat", () =>
    Effect.gen(function* () {
      const { starts } = yield* begin({ interval: Duration.seconds(45), first: "after-interval" })
      yield* TestClock.adjust("44999 millis")
      assert.deepStrictEqual(starts, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(starts, [45])
      yield* TestClock.adjust("90 seconds")
      assert.deepStrictEqual(starts, [45, 90, 135])
    })
  )

  it.effect("R16 G05 skips the beats that a long run swallows, and doubles none", () =>
    Effect.gen(function* () {
      const { starts } = yield* begin({ interval: Duration.seconds(1), first: "now" }, () =>
        Effect.sleep("2500 millis")
      )
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(starts, [0, 3, 6, 9])
    })
  )

  it.effect("R16 runs at once when a run ends on the beat that follows it", () =>
    Effect.gen(function* () {
      const { starts } = yield* begin({ interval: Duration.seconds(1), first: "now" }, () => Effect.sleep("1 seconds"))
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(starts, [0, 1, 2, 3])
    })
  )

  const log = CapturedLog.make()
  it.effect(
    "R17 G06 goes on, on time, after a run that failed, died or interrupted itself, and logs each by its label",
    () =>
      Effect.gen(function* () {
        const bad = [Effect.fail("refused"), Effect.die(new Error("a bug")), Effect.interrupt]
        const { starts } = yield* begin(everyFiveMinutes, (n) => bad[n - 1] ?? Effect.void)
        yield* TestClock.adjust("20 minutes")
        assert.deepStrictEqual(starts, [0, 300, 600, 900, 1_200])
        assert.deepStrictEqual(
          log.lines.map(({ level, message }) => ({ level, message })),
          Array.from({ length: 3 }, () => ({ level: "Error", message: "a test failed to run" }))
        )
        assert.include(log.lines[0]?.cause, "refused")
        assert.include(log.lines[1]?.cause, "a bug")
      }).pipe(Effect.provide(log.layer))
  )

  it.effect("R17 ends with its fiber, also in the middle of a run", () =>
    Effect.gen(function* () {
      const { fiber, starts } = yield* begin(everyFiveMinutes, () => Effect.never)
      assert.deepStrictEqual(starts, [0])
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 hours")
      assert.deepStrictEqual(starts, [0])
    })
  )
})

describe("a beat on a machine that was suspended", () => {
  const machine = suspendable()
  const log = CapturedLog.make()
  it.effect("B08 runs once within 30 seconds of waking, says how long it was, and is on its grid again", () =>
    Effect.gen(function* () {
      const { starts } = yield* begin(everyFiveMinutes)
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(starts, [0, 300])
      machine.suspend("150 minutes")
      yield* TestClock.adjust("30 seconds")
      const woken = 6 * 60 + 150 * 60 + 30
      assert.deepStrictEqual(starts, [0, 300, woken])
      // Woken 90 seconds after the beat of 155 minutes: that run is its run, and the next is the one of 160.
      yield* TestClock.adjust("15 minutes")
      assert.deepStrictEqual(starts, [0, 300, woken, 160 * 60, 165 * 60, 170 * 60])
      assert.deepStrictEqual(
        log.lines.map(({ level, message }) => ({ level, message })),
        [{ level: "Warn", message: "was suspended about 150 min" }]
      )
    }).pipe(Effect.provide([machine.layer, log.layer]))
  )

  const shortSleeper = suspendable()
  const quiet = CapturedLog.make()
  it.effect("B08 says nothing of a sleep that ran over by less than a minute", () =>
    Effect.gen(function* () {
      const { starts } = yield* begin(everyFiveMinutes)
      yield* TestClock.adjust("1 seconds")
      shortSleeper.suspend("59 seconds")
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(starts, [0, 300])
      assert.deepStrictEqual(quiet.lines, [])
    }).pipe(Effect.provide([shortSleeper.layer, quiet.layer]))
  )
})

describe("the point of the grid that comes next", () => {
  it.each([
    { what: "a run on time", started: 1_000, ended: 1_001, next: 2 },
    { what: "a run a little late", started: 1_490, ended: 1_490, next: 2 },
    {
      what: "a run later than half an interval, which stands for the next point",
      started: 1_500,
      ended: 1_500,
      next: 3
    },
    { what: "a run that began before its point by the clock's grain", started: 999, ended: 999, next: 2 },
    { what: "a run that ended on a point", started: 1_000, ended: 4_000, next: 4 },
    { what: "a run that ended just after a point", started: 1_000, ended: 4_001, next: 5 }
  ])("R16 B08 after $what", ({ ended, next, started }) => {
    assert.strictEqual(Beat.nextPoint(1_000, started, ended), next)
  })
})
