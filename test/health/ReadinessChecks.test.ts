import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { CheckFailed, Readiness } from "../../src/health/Readiness.ts"
import * as ReadinessChecks from "../../src/health/ReadinessChecks.ts"

const twoSeconds = Duration.seconds(2)
const tenSeconds = Duration.seconds(10)

/** Asks, and lets virtual time pass until there is an answer. */
const reportWhile = Effect.fnUntraced(function* (within: Duration.Duration, pass: Duration.Input) {
  const readiness = yield* Readiness
  const fiber = yield* Effect.forkChild(readiness.report(within))
  yield* TestClock.adjust(pass)
  assert.isDefined(fiber.pollUnsafe(), `no answer after ${String(pass)}`)
  return yield* Fiber.join(fiber)
})

const register = Effect.fnUntraced(function* (name: string, check: Effect.Effect<void, unknown>) {
  yield* (yield* Readiness).register(name, check)
})

describe("the readiness report", () => {
  it.effect("S25 is ready without checks, and says of each check that it passed", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* reportWhile(twoSeconds, 0), {
        ready: true,
        checks: {},
        failures: [],
        durationMillis: 0
      })
      yield* register("postgres", Effect.sleep("40 millis"))
      yield* register("disk", Effect.void)
      assert.deepStrictEqual(yield* reportWhile(twoSeconds, "40 millis"), {
        ready: true,
        checks: { postgres: { ok: true }, disk: { ok: true } },
        failures: [],
        durationMillis: 40
      })
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect(
    "R16 G10 keeps a failure, a defect, an interruption and a hang apart, and shows strangers only what they may read",
    () =>
      Effect.gen(function* () {
        yield* register("good", Effect.void)
        yield* register(
          "postgres",
          Effect.fail(
            new CheckFailed({ check: "postgres", outside: "refused", cause: new Error("connect 10.0.0.7:5432") })
          )
        )
        yield* register("odd", Effect.fail("user ricochet at 10.0.0.7"))
        yield* register("defect", Effect.die(new Error("x is undefined")))
        yield* register("interrupted", Effect.interrupt)
        yield* register("hang", Effect.never)
        const report = yield* reportWhile(twoSeconds, "2 seconds")
        assert.deepStrictEqual(report.checks, {
          good: { ok: true },
          postgres: { ok: false, error: "refused" },
          odd: { ok: false, error: "failed" },
          defect: { ok: false, error: "failed" },
          interrupted: { ok: false, error: "interrupted" },
          hang: { ok: false, error: "did not answer within 2 s" }
        })
        assert.strictEqual(report.ready, false)
        assert.strictEqual(report.durationMillis, 2_000)
        assert.deepStrictEqual(
          report.failures.map(({ message }) => message),
          [
            "postgres: refused: connect 10.0.0.7:5432",
            "odd: failed: user ricochet at 10.0.0.7",
            "defect: failed: x is undefined",
            "interrupted: interrupted: All fibers interrupted without error",
            "hang: did not answer within 2 s"
          ]
        )
      }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("R16 runs the checks at the same time", () =>
    Effect.gen(function* () {
      yield* register("a", Effect.sleep("1 seconds"))
      yield* register("b", Effect.sleep("1 seconds"))
      assert.strictEqual((yield* reportWhile(twoSeconds, "1 seconds")).durationMillis, 1_000)
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("R16 answers within its bound about a check that cannot be interrupted, and so does the shutdown", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Effect.provideService(Effect.context<Scope.Scope>(), Scope.Scope, scope)
      yield* Effect.gen(function* () {
        yield* register("stuck", Effect.uninterruptible(Effect.never))
        const report = yield* reportWhile(twoSeconds, "2 seconds")
        assert.deepStrictEqual(report.checks, { stuck: { ok: false, error: "did not answer within 2 s" } })
        yield* Effect.forkChild((yield* Readiness).report(tenSeconds))
        yield* TestClock.adjust("1 seconds")
      }).pipe(Effect.provide(ReadinessChecks.layer), Effect.provideContext(context))
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(0)
      assert.isDefined(closing.pollUnsafe())
    })
  )

  it.effect("G01 R16 interrupts a check when its bound has passed, and the next run is a new one", () =>
    Effect.gen(function* () {
      let begun = 0
      let cancelled = 0
      yield* register(
        "postgres",
        Effect.suspend(() => (++begun === 1 ? Effect.never : Effect.void)).pipe(
          Effect.onInterrupt(() => Effect.sync(() => void cancelled++))
        )
      )
      assert.strictEqual((yield* reportWhile(twoSeconds, "2 seconds")).ready, false)
      assert.deepStrictEqual({ begun, cancelled }, { begun: 1, cancelled: 1 })
      assert.strictEqual((yield* reportWhile(twoSeconds, 0)).ready, true)
      assert.deepStrictEqual({ begun, cancelled }, { begun: 2, cancelled: 1 })
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("ends a check's registration, and what runs of it, with its scope", () =>
    Effect.gen(function* () {
      let begun = 0
      let cancelled = 0
      const scope = yield* Scope.make()
      const hang = Effect.suspend(() => {
        begun++
        return Effect.onInterrupt(Effect.never, () => Effect.sync(() => void cancelled++))
      })
      yield* Effect.provideService(register("postgres", hang), Scope.Scope, scope)
      const fiber = yield* Effect.forkChild((yield* Readiness).report(twoSeconds))
      yield* TestClock.adjust("1 seconds")
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual({ begun, cancelled }, { begun: 1, cancelled: 1 })
      assert.strictEqual((yield* Fiber.join(fiber)).ready, false)
      assert.deepStrictEqual((yield* reportWhile(twoSeconds, 0)).checks, {})
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("R13 is not ready once the server drains, and says so", () =>
    Effect.gen(function* () {
      yield* register("postgres", Effect.void)
      yield* (yield* Readiness).drain
      assert.deepStrictEqual(yield* reportWhile(twoSeconds, 0), {
        ready: false,
        reason: "draining",
        checks: { postgres: { ok: true } },
        failures: [],
        durationMillis: 0
      })
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )
})

describe("callers at the same time", () => {
  it.effect("G11 R16 share one run, 200 of them", () =>
    Effect.gen(function* () {
      let runs = 0
      yield* register(
        "postgres",
        Effect.suspend(() => {
          runs++
          return Effect.sleep("1500 millis")
        })
      )
      const readiness = yield* Readiness
      const fibers = yield* Effect.forEach(Array.from({ length: 200 }), () =>
        Effect.forkChild(readiness.report(twoSeconds))
      )
      yield* TestClock.adjust("1500 millis")
      const reports = yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(runs, 1)
      assert.isTrue(reports.every(({ ready }) => ready))
      yield* reportWhile(twoSeconds, "1500 millis")
      assert.strictEqual(runs, 2)
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("G11 are each answered within their own bound while the shared run goes on", () =>
    Effect.gen(function* () {
      let runs = 0
      yield* register(
        "postgres",
        Effect.suspend(() => {
          runs++
          return Effect.sleep("6 seconds")
        })
      )
      const readiness = yield* Readiness
      const patient = yield* Effect.forkChild(readiness.report(tenSeconds))
      yield* TestClock.adjust("1 seconds")
      const report = yield* reportWhile(twoSeconds, "2 seconds")
      assert.deepStrictEqual(report.checks, { postgres: { ok: false, error: "did not answer within 2 s" } })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual((yield* Fiber.join(patient)).checks, { postgres: { ok: true } })
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("R16 give a run begun by the less patient all the time the most patient allows", () =>
    Effect.gen(function* () {
      let runs = 0
      yield* register(
        "postgres",
        Effect.suspend(() => {
          runs++
          return Effect.sleep("6 seconds")
        })
      )
      const readiness = yield* Readiness
      const hasty = yield* Effect.forkChild(readiness.report(twoSeconds))
      yield* TestClock.adjust("1 seconds")
      const report = yield* reportWhile(tenSeconds, "5 seconds")
      assert.strictEqual(report.ready, true)
      assert.strictEqual((yield* Fiber.join(hasty)).ready, false)
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("G01 get a new run for what is left of their time when the one they joined hangs and is given up", () =>
    Effect.gen(function* () {
      const first = yield* Deferred.make<void>()
      let runs = 0
      yield* register(
        "postgres",
        Effect.suspend(() => (++runs === 1 ? Deferred.await(first) : Effect.void))
      )
      const readiness = yield* Readiness
      const earlier = yield* Effect.forkChild(readiness.report(twoSeconds))
      yield* TestClock.adjust("1500 millis")
      const report = yield* reportWhile(twoSeconds, "500 millis")
      assert.deepStrictEqual(
        { ready: report.ready, durationMillis: report.durationMillis, runs },
        {
          ready: true,
          durationMillis: 500,
          runs: 2
        }
      )
      assert.strictEqual((yield* Fiber.join(earlier)).ready, false)
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )

  it.effect("R16 do not lose the shared run when the one who began it goes away", () =>
    Effect.gen(function* () {
      let runs = 0
      yield* register(
        "postgres",
        Effect.suspend(() => {
          runs++
          return Effect.sleep("1 seconds")
        })
      )
      const readiness = yield* Readiness
      const gone = yield* Effect.forkChild(readiness.report(twoSeconds))
      yield* TestClock.adjust("500 millis")
      const stays = yield* Effect.forkChild(readiness.report(twoSeconds))
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(gone)
      yield* TestClock.adjust("500 millis")
      assert.strictEqual((yield* Fiber.join(stays)).ready, true)
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(ReadinessChecks.layer))
  )
})
