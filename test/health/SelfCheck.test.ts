import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Fiber, Layer, Option, Queue } from "effect"
import { TestClock } from "effect/testing"
import { CheckFailed, Readiness } from "../../src/health/Readiness.ts"
import * as ReadinessChecks from "../../src/health/ReadinessChecks.ts"
import { SelfCheck, type SelfCheckRecord } from "../../src/health/SelfCheck.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"

const layer = SelfCheck.layer.pipe(Layer.provideMerge(ReadinessChecks.layer))

/** Makes `check` the one readiness check, and runs the self-check while virtual time passes. */
const begin = Effect.fnUntraced(function* (check: Effect.Effect<void, unknown>) {
  yield* (yield* Readiness).register("postgres", check)
  const selfCheck = yield* SelfCheck
  const run = Effect.fnUntraced(function* (pass: Duration.Input = 0) {
    const fiber = yield* Effect.forkChild(selfCheck.run)
    yield* TestClock.adjust(pass)
    assert.isDefined(fiber.pollUnsafe())
    return yield* Fiber.join(fiber)
  })
  return { selfCheck, run }
})

/** Fails while `down`. */
const switchable = () => {
  const database = { down: false }
  const ping = Effect.suspend(() =>
    database.down
      ? Effect.fail(
          new CheckFailed({ check: "postgres", outside: "refused", cause: new Error("connect ECONNREFUSED") })
        )
      : Effect.void
  )
  return { database, ping }
}

describe("the self-check", () => {
  it.effect("S9 S11 counts each verdict, and keeps what it was", () =>
    Effect.gen(function* () {
      const { database, ping } = switchable()
      const { run, selfCheck } = yield* begin(Effect.andThen(Effect.sleep("20 millis"), ping))
      assert.deepStrictEqual(yield* selfCheck.score, { score: 0, checks: 0 })
      assert.isTrue(Option.isNone(yield* selfCheck.latest))

      const first = yield* run("20 millis")
      assert.strictEqual(first.healthy, true)
      database.down = true
      const second = yield* run("20 millis")
      assert.strictEqual(second.healthy, false)
      assert.deepStrictEqual(yield* selfCheck.latest, Option.some(second))
      assert.deepStrictEqual(yield* selfCheck.score, { score: 0.5, checks: 2 })
      assert.deepStrictEqual(yield* selfCheck.history, [
        { startedWallMillis: 0, durationMillis: 20, ok: true, errorClass: undefined },
        { startedWallMillis: 20, durationMillis: 20, ok: false, errorClass: "postgres: refused" }
      ])
    }).pipe(Effect.provide(layer))
  )

  const log = CapturedLog.make()
  it.effect("S12 logs a failed check as `self-check failed` with the error, and a passed one not at all", () =>
    Effect.gen(function* () {
      const { database, ping } = switchable()
      const { run } = yield* begin(ping)
      yield* run()
      assert.deepStrictEqual(log.lines, [])
      database.down = true
      yield* run()
      assert.deepStrictEqual(log.of("self-check failed"), [
        { level: "Warn", facts: { error: "postgres: refused: connect ECONNREFUSED", duration_ms: 0 } }
      ])
      assert.strictEqual(log.lines.length, 1)
    }).pipe(Effect.provide([layer, log.layer]))
  )

  const loud = CapturedLog.make()
  it.effect("S12 logs at most 200 characters of the error", () =>
    Effect.gen(function* () {
      const { run } = yield* begin(Effect.fail(new Error("x".repeat(5_000))))
      yield* run()
      assert.strictEqual(String(loud.of("self-check failed")[0]?.facts.error).length, 200)
    }).pipe(Effect.provide([layer, loud.layer]))
  )

  const slow = CapturedLog.make()
  it.effect("R16 fails a check that takes longer than 10 seconds, and the next one is not held up", () =>
    Effect.gen(function* () {
      let runs = 0
      const hangsOnce = Effect.suspend(() => (++runs === 1 ? Effect.uninterruptible(Effect.never) : Effect.void))
      const { run, selfCheck } = yield* begin(hangsOnce)
      const report = yield* run("10 seconds")
      assert.deepStrictEqual(report.record, {
        startedWallMillis: 0,
        durationMillis: 10_000,
        ok: false,
        errorClass: "postgres: did not answer within 10 s"
      })
      assert.deepStrictEqual(slow.of("self-check failed"), [
        { level: "Warn", facts: { error: "postgres: did not answer within 10 s", duration_ms: 10_000 } }
      ])
      // A second is given to the one that was cancelled, which this one does not take notice of.
      assert.strictEqual((yield* run("1 seconds")).healthy, true)
      assert.deepStrictEqual(yield* selfCheck.score, { score: 0.5, checks: 2 })
    }).pipe(Effect.provide([layer, slow.layer]))
  )

  it.effect("G05 R16 runs one check at a time, and counts each that ended", () =>
    Effect.gen(function* () {
      let running = 0
      let most = 0
      const check = Effect.acquireUseRelease(
        Effect.sync(() => {
          most = Math.max(most, ++running)
        }),
        () => Effect.sleep("3 seconds"),
        () => Effect.sync(() => void running--)
      )
      const { selfCheck } = yield* begin(check)
      const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(selfCheck.run))
      yield* TestClock.adjust("9 seconds")
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(
        (yield* selfCheck.history).map(({ startedWallMillis }) => startedWallMillis),
        [0, 3_000, 6_000]
      )
      assert.strictEqual(most, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("R16 goes on after a check that died or interrupted itself", () =>
    Effect.gen(function* () {
      const outcomes = [Effect.die(new Error("a bug")), Effect.interrupt, Effect.void]
      const { run, selfCheck } = yield* begin(Effect.suspend(() => outcomes.shift() ?? Effect.void))
      for (let n = 0; n < 3; n++) yield* run()
      assert.deepStrictEqual(
        (yield* selfCheck.history).map(({ errorClass }) => errorClass),
        ["postgres: failed", "postgres: interrupted", undefined]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("R13 is no worse for the server's leaving", () =>
    Effect.gen(function* () {
      const { run, selfCheck } = yield* begin(Effect.void)
      yield* (yield* Readiness).drain
      assert.strictEqual((yield* run()).healthy, true)
      assert.deepStrictEqual(yield* selfCheck.score, { score: 1, checks: 1 })
    }).pipe(Effect.provide(layer))
  )
})

describe("the history of self-checks", () => {
  const kept = (n: number): SelfCheckRecord => ({
    startedWallMillis: n,
    durationMillis: 1,
    ok: n % 2 === 0,
    errorClass: n % 2 === 0 ? undefined : "postgres: refused"
  })

  it.effect("R14 G09 goes on from what was kept, and holds 288", () =>
    Effect.gen(function* () {
      const { run, selfCheck } = yield* begin(Effect.void)
      yield* selfCheck.restore(Array.from({ length: 300 }, (_, n) => kept(n)))
      assert.deepStrictEqual(yield* selfCheck.score, { score: 0.5, checks: 288 })
      assert.deepStrictEqual((yield* selfCheck.history)[0], kept(12))
      assert.isTrue(Option.isNone(yield* selfCheck.latest))
      yield* run()
      yield* run()
      assert.deepStrictEqual(yield* selfCheck.score, { score: 145 / 288, checks: 288 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("R14 puts what is restored late before what was measured meanwhile", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 hours")
      const { run, selfCheck } = yield* begin(Effect.void)
      yield* run()
      yield* selfCheck.restore([kept(1), kept(2)])
      assert.deepStrictEqual(
        (yield* selfCheck.history).map(({ startedWallMillis }) => startedWallMillis),
        [1, 2, 3_600_000]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("R14 tells each who listens of every check from then on", () =>
    Effect.gen(function* () {
      const { database, ping } = switchable()
      const { run, selfCheck } = yield* begin(ping)
      yield* run()
      const [one, other] = [yield* selfCheck.recorded, yield* selfCheck.recorded]
      database.down = true
      const failed = yield* run()
      database.down = false
      const passed = yield* run()
      assert.deepStrictEqual(yield* Queue.takeAll(one), [failed.record, passed.record])
      assert.deepStrictEqual(yield* Queue.takeAll(other), [failed.record, passed.record])
    }).pipe(Effect.provide(layer))
  )
})
