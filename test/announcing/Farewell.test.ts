import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Farewell from "../../src/announcing/Farewell.ts"
import { heartbeatTopic } from "../../src/gossip/Topic.ts"
import { CheckFailed } from "../../src/health/Readiness.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import * as AnnouncingServer from "./AnnouncingServer.ts"
import type * as RecordingGossip from "./RecordingGossip.ts"

const settings = VirtualSettings.make({})

const ended = (fiber: Fiber.Fiber<unknown>) => fiber.pollUnsafe() !== undefined

const passed = (atSeconds: number, score: number) => ({ atSeconds, healthy: true, uptimeScore: score })

const heartbeats = (gossip: ReturnType<typeof RecordingGossip.make>) =>
  gossip.heartbeats.map(({ atSeconds, message: { healthy, uptimeScore } }) => ({ atSeconds, healthy, uptimeScore }))

describe("a planned stop", () => {
  it.effect("R13 says a last heartbeat: unhealthy, with the score unchanged, and then nothing", () =>
    Effect.gen(function* () {
      let checks = 0
      const check = Effect.suspend(() =>
        ++checks === 2
          ? Effect.fail(new CheckFailed({ check: "postgres", outside: "refused", cause: undefined }))
          : Effect.void
      )
      const { gossip, stop } = yield* AnnouncingServer.start({ settings, check })
      yield* TestClock.adjust("16 minutes")
      const stopping = yield* stop
      yield* TestClock.adjust(0)
      assert.isTrue(ended(stopping))
      yield* TestClock.adjust("2 hours")
      gossip.appear(peerIdOf("b"))
      yield* TestClock.adjust("1 minutes")
      assert.deepStrictEqual(heartbeats(gossip), [
        passed(0, 1),
        { atSeconds: 300, healthy: false, uptimeScore: 0.5 },
        passed(600, 2 / 3),
        passed(900, 3 / 4),
        { atSeconds: 960, healthy: false, uptimeScore: 3 / 4 }
      ])
      assert.strictEqual(gossip.announcements.length, 1)
      assert.strictEqual(checks, 4)
    })
  )

  it.effect("R13 turns unready first, and waits the drain delay before the last heartbeat", () =>
    Effect.gen(function* () {
      const { gossip, readiness, stop } = yield* AnnouncingServer.start({
        settings: VirtualSettings.make({ drainDelay: "3 seconds" })
      })
      const { report } = yield* readiness
      assert.strictEqual((yield* report(Duration.seconds(2))).ready, true)
      const stopping = yield* stop
      const { ready, reason } = yield* report(Duration.seconds(2))
      assert.deepStrictEqual({ ready, reason }, { ready: false, reason: "draining" })
      yield* TestClock.adjust("2999 millis")
      assert.deepStrictEqual(heartbeats(gossip), [passed(0, 1)])
      assert.isFalse(ended(stopping))
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(heartbeats(gossip), [passed(0, 1), { atSeconds: 3, healthy: false, uptimeScore: 1 }])
      assert.isTrue(ended(stopping))
    })
  )

  it.effect("R13 cuts a drain delay that would leave no time for the last heartbeat", () =>
    Effect.gen(function* () {
      const { gossip, stop } = yield* AnnouncingServer.start({
        settings: VirtualSettings.make({ drainDelay: "30 seconds", shutdownTimeout: "5 seconds" })
      })
      const stopping = yield* stop
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(heartbeats(gossip).at(-1), { atSeconds: 4, healthy: false, uptimeScore: 1 })
      assert.isTrue(ended(stopping))
    })
  )

  it.effect("R13 S24 logs a last heartbeat that was refused, and ends", () =>
    Effect.gen(function* () {
      const { gossip, log, stop } = yield* AnnouncingServer.start({ settings })
      gossip.desert()
      const stopping = yield* stop
      yield* TestClock.adjust(0)
      assert.isTrue(ended(stopping))
      assert.deepStrictEqual(log.of("failed to publish heartbeat"), [
        { level: "Warn", facts: { topic: heartbeatTopic, error: `no peer is on the topic ${heartbeatTopic}` } }
      ])
    })
  )

  it.effect("R13 takes no longer than the shutdown timeout, even with a publish that cannot be interrupted", () =>
    Effect.gen(function* () {
      const { gossip, log, stop } = yield* AnnouncingServer.start({
        settings: VirtualSettings.make({ shutdownTimeout: "2 seconds" })
      })
      gossip.instead.push(Effect.uninterruptible(Effect.never))
      const stopping = yield* stop
      yield* TestClock.adjust("1999 millis")
      assert.isFalse(ended(stopping))
      yield* TestClock.adjust("1 millis")
      assert.isTrue(ended(stopping))
      assert.strictEqual(log.of("farewell not ended within the shutdown timeout").length, 1)
    })
  )

  it.effect("R13 is not held up by a self-check that hangs", () =>
    Effect.gen(function* () {
      let checks = 0
      const check = Effect.suspend(() => (++checks === 2 ? Effect.uninterruptible(Effect.never) : Effect.void))
      const { gossip, stop } = yield* AnnouncingServer.start({ settings, check })
      yield* TestClock.adjust("301 seconds")
      const stopping = yield* stop
      yield* TestClock.adjust(0)
      assert.isTrue(ended(stopping))
      assert.deepStrictEqual(heartbeats(gossip), [passed(0, 1), { atSeconds: 301, healthy: false, uptimeScore: 1 }])
    })
  )

  it.effect("R13 is said once, whether it was asked for before the server closes or not", () =>
    Effect.gen(function* () {
      const { announcer, gossip, stop } = yield* AnnouncingServer.start({ settings })
      yield* TestClock.adjust("1 minutes")
      const { farewell } = yield* announcer
      yield* farewell
      yield* farewell
      // The beats still run, and have nothing to say.
      yield* TestClock.adjust("1 hours")
      yield* Fiber.join(yield* stop)
      assert.deepStrictEqual(heartbeats(gossip), [passed(0, 1), { atSeconds: 60, healthy: false, uptimeScore: 1 }])
      assert.strictEqual(gossip.announcements.length, 1)
    })
  )
})

describe("the farewell", () => {
  it.effect("R13 is waited for by all who ask, and a defect in it is no failure", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const step = (name: string) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => Effect.sync(() => steps.push(`${at} ${name}`)))
      const farewell = yield* Farewell.make({
        drain: Effect.asVoid(step("drain")),
        lastWords: Effect.andThen(step("last words"), Effect.die(new Error("a bug"))),
        drainDelay: Duration.seconds(1),
        shutdownTimeout: Duration.seconds(5)
      })
      const fibers = yield* Effect.forEach([1, 2], () => Effect.forkChild(Effect.andThen(farewell, step("left"))))
      yield* TestClock.adjust("5 seconds")
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(steps, ["0 drain", "1000 last words", "1000 left", "1000 left"])
    })
  )

  it.each([
    { drain: 0, shutdown: 5_000, delay: 0 },
    { drain: 4_000, shutdown: 5_000, delay: 4_000 },
    { drain: 4_001, shutdown: 5_000, delay: 4_000 },
    { drain: 4_000, shutdown: 1_000, delay: 500 }
  ])(
    "R13 waits $delay ms of a drain delay of $drain ms within a shutdown timeout of $shutdown ms",
    ({ delay, drain, shutdown }) => {
      const within = Farewell.delayWithin(Duration.millis(drain), Duration.millis(shutdown))
      assert.strictEqual(Duration.toMillis(within), delay)
    }
  )
})
