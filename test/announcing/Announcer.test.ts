import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Metric, Option } from "effect"
import { TestClock } from "effect/testing"
import { Capabilities } from "../../src/announcing/Capabilities.ts"
import { PublishRefused } from "../../src/gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { CheckFailed } from "../../src/health/Readiness.ts"
import * as VirtualClock from "../../src/testing/VirtualClock.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import * as AnnouncingServer from "./AnnouncingServer.ts"
import * as RecordingGossip from "./RecordingGossip.ts"

const settings = VirtualSettings.make({})

const times = (said: ReadonlyArray<{ readonly atSeconds: number }>) => said.map(({ atSeconds }) => atSeconds)

/** 0, step, 2 · step, … up to and with `until`. */
const grid = (step: number, until: number) => Array.from({ length: Math.floor(until / step) + 1 }, (_, n) => n * step)

const refused = Effect.fail(
  new CheckFailed({ check: "postgres", outside: "refused", cause: new Error("connect ECONNREFUSED 10.0.0.7:5432") })
)

/** A check that fails while `down`. */
const database = () => {
  const state = { down: false, checks: 0 }
  const check = Effect.suspend(() => {
    state.checks++
    return state.down ? refused : Effect.void
  })
  return { state, check }
}

describe("a server's two schedules", () => {
  it.effect("S2 S3 speak at startup, every 60 minutes and every 5 minutes, for 24 hours", () =>
    Effect.gen(function* () {
      const { gossip } = yield* AnnouncingServer.start({ settings })
      yield* TestClock.adjust("24 hours")
      assert.deepStrictEqual(times(gossip.announcements), grid(3_600, 86_400))
      assert.deepStrictEqual(times(gossip.heartbeats), grid(300, 86_400))
    })
  )

  it.effect("S4 speak every minute and every 30 seconds with the development preset's intervals", () =>
    Effect.gen(function* () {
      const { gossip } = yield* AnnouncingServer.start({
        settings: VirtualSettings.make({ serviceAnnouncement: "1 minutes", healthCheck: "30 seconds" })
      })
      yield* TestClock.adjust("1 hours")
      assert.deepStrictEqual(times(gossip.announcements), grid(60, 3_600))
      assert.deepStrictEqual(times(gossip.heartbeats), grid(30, 3_600))
    })
  )

  it.effect("G12 R16 do not drift in 48 hours though each check takes 10 seconds", () =>
    Effect.gen(function* () {
      const { gossip } = yield* AnnouncingServer.start({ settings, check: Effect.sleep("9999 millis") })
      yield* TestClock.adjust("48 hours")
      yield* TestClock.adjust("20 seconds")
      const firstWords = 9.999
      const near = (expected: ReadonlyArray<number>) => expected.map((at) => Number(at.toFixed(3)))
      assert.deepStrictEqual(times(gossip.announcements), near(grid(3_600, 48 * 3_600).map((at) => at + firstWords)))
      assert.deepStrictEqual(
        times(gossip.heartbeats),
        near([
          firstWords,
          ...grid(300, 48 * 3_600)
            .slice(1)
            .map((at) => at + 2 * firstWords)
        ])
      )
    })
  )

  it.effect(
    "G05 R16 run one check at a time where the interval is shorter than the check, and count its timeouts",
    () =>
      Effect.gen(function* () {
        let running = 0
        let most = 0
        const check = Effect.acquireUseRelease(
          Effect.sync(() => {
            most = Math.max(most, ++running)
          }),
          () => Effect.sleep("30 seconds"),
          () => Effect.sync(() => void running--)
        )
        const { gossip } = yield* AnnouncingServer.start({
          settings: VirtualSettings.make({ healthCheck: "1 seconds" }),
          check
        })
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(most, 1)
        // The first at startup ends after 10 seconds; the beat begins there, so the next begins a second later.
        assert.deepStrictEqual(times(gossip.heartbeats), [10, ...Array.from({ length: 10 }, (_, n) => 21 + n * 10)])
        assert.isTrue(gossip.heartbeats.every(({ message }) => !message.healthy && message.uptimeScore === 0))
      })
  )

  it.effect("B07 keep time when the wall clock is set", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualClock.make(0n)
      const { gossip } = yield* AnnouncingServer.start({
        settings: VirtualSettings.make({ serviceAnnouncement: "10 minutes" }),
        clock: virtual.clock
      })
      yield* TestClock.adjust("6 minutes")
      yield* virtual.skew("-1 hours")
      yield* TestClock.adjust("6 minutes")
      yield* virtual.skew("1 hours")
      yield* TestClock.adjust("8 minutes")
      assert.deepStrictEqual(times(gossip.announcements), [0, 600 - 3_600, 1_200 + 3_600])
      assert.deepStrictEqual(times(gossip.heartbeats), [0, 300, 600 - 3_600, 900 + 3_600, 1_200 + 3_600])
    })
  )

  it.effect("B08 speak once each after a suspend, and say once how long it was", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualClock.make(0n)
      const { gossip, log } = yield* AnnouncingServer.start({ settings, clock: virtual.clock })
      yield* TestClock.adjust("7 minutes")
      yield* virtual.suspend
      yield* TestClock.adjust("150 minutes")
      assert.deepStrictEqual(times(gossip.heartbeats), [0, 300])
      yield* virtual.resume
      yield* TestClock.adjust("2 minutes")
      const woken = 157 * 60
      assert.deepStrictEqual(times(gossip.announcements), [0, woken])
      assert.deepStrictEqual(times(gossip.heartbeats), [0, 300, woken])
      assert.deepStrictEqual(
        log.lines
          .filter(({ message }) => message.startsWith("was suspended"))
          .map(({ level, message }) => ({ level, message })),
        [{ level: "Warn", message: "was suspended about 150 min" }]
      )
    })
  )
})

describe("a server's first words", () => {
  it.effect("S10 S12 come after a check that failed, and say so", () =>
    Effect.gen(function* () {
      const { gossip, log } = yield* AnnouncingServer.start({ settings, check: refused })
      assert.deepStrictEqual(gossip.announcements, [
        {
          atSeconds: 0,
          message: {
            serverId: RecordingGossip.self,
            capabilities: ["store-and-forward", "mailbox", "document-sync"],
            maxStorage: "10GB",
            retentionPolicy: "720h0m0s",
            region: "default",
            regions: ["default"],
            uptimeScore: 0,
            healthy: false,
            timestamp: 0n,
            port: 55_223
          }
        }
      ])
      assert.deepStrictEqual(gossip.heartbeats, [
        { atSeconds: 0, message: { serverId: RecordingGossip.self, healthy: false, uptimeScore: 0, timestamp: 1n } }
      ])
      assert.deepStrictEqual(log.of("self-check failed"), [
        { level: "Warn", facts: { error: "postgres: refused: connect ECONNREFUSED 10.0.0.7:5432", duration_ms: 0 } }
      ])
    })
  )

  it.effect.each([
    { check: Effect.void, passed: true },
    { check: refused, passed: false }
  ])(
    "S21 come after `registry started`, which tells both topics, the interval, and that the check passed: $passed",
    ({ check, passed }) =>
      Effect.gen(function* () {
        const { log } = yield* AnnouncingServer.start({
          settings: VirtualSettings.make({ region: "eu-west", healthCheck: "30 seconds" }),
          check
        })
        assert.deepStrictEqual(log.of("registry started"), [
          {
            level: "Info",
            facts: {
              announce_topic: "/sf-network/services/announce",
              heartbeat_topic: "/sf-network/services/heartbeat",
              health_check_interval: "30s",
              service_announcement_interval: "1h0m0s",
              first_check_passed: passed,
              region: "eu-west",
              server_id: RecordingGossip.self
            }
          }
        ])
        assert.deepStrictEqual(
          log.lines.map(({ message }) => message),
          [
            ...(passed ? [] : ["self-check failed"]),
            "registry started",
            "published server announcement",
            "published heartbeat"
          ]
        )
      })
  )

  it.effect("S10 R16 wait for a first check that hangs no longer than 10 seconds", () =>
    Effect.gen(function* () {
      const { gossip, started } = yield* AnnouncingServer.start({ settings, check: Effect.never })
      yield* TestClock.adjust("9999 millis")
      assert.deepStrictEqual(gossip.announcements, [])
      assert.isUndefined(started.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(times(gossip.announcements), [10])
      assert.isDefined(started.pollUnsafe())
    })
  )

  it.effect("R23 are not said by a server that is stopped before its first check has ended", () =>
    Effect.gen(function* () {
      const { gossip, started, stop } = yield* AnnouncingServer.start({ settings, check: Effect.never })
      yield* Fiber.interrupt(started)
      yield* Fiber.join(yield* stop)
      yield* TestClock.adjust("1 hours")
      assert.deepStrictEqual(gossip.announcements, [])
      assert.deepStrictEqual(gossip.heartbeats, [])
    })
  )

  it.effect("R4 I13 are not said when every other server would refuse them: the start fails with exit code 78", () =>
    Effect.gen(function* () {
      const { gossip, started } = yield* AnnouncingServer.start({
        settings: VirtualSettings.make({ region: "r".repeat(257) })
      })
      const exit = yield* Fiber.await(started)
      const error = Option.getOrUndefined(Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none())
      assert.strictEqual(error?._tag, "OwnAnnouncementRefused")
      assert.strictEqual(error?.exitCode, 78)
      assert.match(error?.message ?? "", /^every other server would refuse this server's announcement: .*region/)
      assert.deepStrictEqual(gossip.announcements, [])
    })
  )
})

describe("what a server says", () => {
  it.effect("E03 S9 is fresh each time: verdict, score and timestamp", () =>
    Effect.gen(function* () {
      const { check, state } = database()
      const { gossip } = yield* AnnouncingServer.start({ settings, check })
      yield* TestClock.adjust("44 minutes")
      state.down = true
      yield* TestClock.adjust("16 minutes")
      assert.deepStrictEqual(
        gossip.heartbeats.slice(-4).map(({ message }) => message.healthy),
        [false, false, false, false]
      )
      assert.strictEqual(gossip.heartbeats.at(-5)?.message.healthy, true)
      state.down = false
      yield* TestClock.adjust("60 minutes")
      assert.deepStrictEqual(
        gossip.announcements.map(({ message: { healthy, timestamp, uptimeScore } }) => ({
          healthy,
          timestamp,
          uptimeScore
        })),
        [
          { healthy: true, uptimeScore: 1, timestamp: 0n },
          { healthy: false, uptimeScore: 9 / 12, timestamp: 3_600_000_000_000n },
          { healthy: true, uptimeScore: 20 / 24, timestamp: 7_200_000_000_000n }
        ]
      )
      assert.strictEqual(state.checks, 25)
    })
  )

  it.effect("R7 has strictly increasing timestamps, each remembered as its own", () =>
    Effect.gen(function* () {
      const { gossip, ownWords } = yield* AnnouncingServer.start({ settings })
      yield* TestClock.adjust("3 hours")
      const words = yield* ownWords
      const stamps = [...gossip.announcements, ...gossip.heartbeats].map(({ message }) => message.timestamp)
      const sorted = [...new Set(stamps)].sort((a, b) => Number(a - b))
      assert.strictEqual(sorted.length, 4 + 37)
      for (const stamp of stamps) assert.isTrue(yield* words.isMine(stamp))
      assert.isFalse(yield* words.isMine(2n))
      for (const said of [gossip.announcements, gossip.heartbeats]) {
        const own = said.map(({ message }) => message.timestamp)
        assert.isTrue(own.every((stamp, at) => at === 0 || stamp > (own[at - 1] ?? stamp)))
      }
    })
  )

  it.effect(
    "S6 is what the application and the node make of it: capabilities, and the port that a free one became",
    () =>
      Effect.gen(function* () {
        const { announcer } = yield* Effect.provideService(
          AnnouncingServer.start({
            settings: { ...settings, server: { ...settings.server, port: 0 } },
            gossip: RecordingGossip.make(["/ip4/127.0.0.1/tcp/40001/ws/p2p/x", "/ip4/127.0.0.1/tcp/40000/p2p/x"])
          }),
          Capabilities,
          ["mailbox", "translation"]
        )
        const { capabilities, port, timestamp } = yield* (yield* announcer).announcement
        assert.deepStrictEqual(
          { capabilities, port, timestamp },
          {
            capabilities: ["mailbox", "translation"],
            port: 40_000,
            timestamp: 2n
          }
        )
      })
  )
})

describe("the log of what a server says", () => {
  it.effect("S22 has each message at DEBUG, with verdict, score and how many took it", () =>
    Effect.gen(function* () {
      const { log } = yield* AnnouncingServer.start({ settings })
      const facts = { healthy: true, uptime_score: 1, recipients: 1 }
      assert.deepStrictEqual(log.of("published server announcement"), [
        { level: "Debug", facts: { topic: announceTopic, ...facts } }
      ])
      assert.deepStrictEqual(log.of("published heartbeat"), [
        { level: "Debug", facts: { topic: heartbeatTopic, ...facts } }
      ])
    })
  )

  it.effect("S24 R17 has each refusal at WARN with its error, and the next interval tries again", () =>
    Effect.gen(function* () {
      const gossip = RecordingGossip.make()
      gossip.desert()
      const { log } = yield* AnnouncingServer.start({ settings, gossip })
      assert.deepStrictEqual(log.of("failed to publish announcement"), [
        { level: "Warn", facts: { topic: announceTopic, error: `no peer is on the topic ${announceTopic}` } }
      ])
      assert.deepStrictEqual(log.of("failed to publish heartbeat"), [
        { level: "Warn", facts: { topic: heartbeatTopic, error: `no peer is on the topic ${heartbeatTopic}` } }
      ])
      yield* TestClock.adjust("60 minutes")
      assert.strictEqual(log.of("failed to publish announcement").length, 2)
      assert.strictEqual(log.of("failed to publish heartbeat").length, 13)
      assert.deepStrictEqual(gossip.announcements, [])
    })
  )

  it.effect("R17 G06 S24 has a publish that failed, died or hung, each once, and every later beat on time", () =>
    Effect.gen(function* () {
      const { gossip, log } = yield* AnnouncingServer.start({
        settings: VirtualSettings.make({ serviceAnnouncement: "24 hours" })
      })
      const failed = new PublishRefused({ topic: heartbeatTopic, reason: "failed", cause: new Error("stream reset") })
      gossip.instead.push(Effect.fail(failed), Effect.die(new TypeError("x is undefined")), Effect.never)
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(times(gossip.heartbeats), [0, 1_200, 1_500, 1_800])
      assert.deepStrictEqual(
        log.of("failed to publish heartbeat").map(({ facts }) => facts.error),
        [
          `GossipSub refused the message for ${heartbeatTopic}: stream reset`,
          "x is undefined",
          `GossipSub refused the message for ${heartbeatTopic}: no answer within 5 s`
        ]
      )
    })
  )

  it.effect("R17 G06 has an encoder that threw once, and the next beat on time", () =>
    Effect.gen(function* () {
      const odd = { throws: false }
      const capabilities = Object.assign(["mailbox"], {
        toJSON: () => {
          if (!odd.throws) return ["mailbox"]
          odd.throws = false
          throw new Error("not today")
        }
      })
      const { gossip, log } = yield* Effect.provideService(
        AnnouncingServer.start({ settings }),
        Capabilities,
        capabilities
      )
      odd.throws = true
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(times(gossip.announcements), [0, 7_200])
      assert.deepStrictEqual(log.of("failed to publish announcement"), [
        { level: "Warn", facts: { topic: announceTopic, error: "not today" } }
      ])
    })
  )

  it.effect("R17 G06 has a check that died once as failed, and the next on time", () =>
    Effect.gen(function* () {
      let checks = 0
      const check = Effect.suspend(() => (++checks === 2 ? Effect.die(new Error("a bug")) : Effect.void))
      const { gossip, log } = yield* AnnouncingServer.start({ settings, check })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(
        gossip.heartbeats.map(({ atSeconds, message: { healthy } }) => ({ atSeconds, healthy })),
        [
          { atSeconds: 0, healthy: true },
          { atSeconds: 300, healthy: false },
          { atSeconds: 600, healthy: true }
        ]
      )
      assert.deepStrictEqual(log.of("self-check failed"), [
        { level: "Warn", facts: { error: "postgres: failed: a bug", duration_ms: 0 } }
      ])
    })
  )

  it.effect("S24 counts what came of each publish", () =>
    Effect.gen(function* () {
      const gossip = RecordingGossip.make()
      const refusal = new PublishRefused({ topic: announceTopic, reason: "failed", cause: new Error("stream reset") })
      gossip.instead.push(undefined, undefined, Effect.fail(refusal), Effect.die(new Error("a bug")), Effect.never)
      yield* AnnouncingServer.start({ settings: VirtualSettings.make({ serviceAnnouncement: "24 hours" }), gossip })
      yield* TestClock.adjust("20 minutes")
      gossip.desert()
      yield* TestClock.adjust("10 minutes")
      const counted = (yield* Metric.snapshot).flatMap(({ attributes, id, state }) =>
        id === "ricochet_publishes_total" ? [{ ...attributes, ...state }] : []
      )
      const of = (topic: string, outcome: string, count: number) => ({ topic, outcome, count, incremental: true })
      assert.deepStrictEqual(counted, [
        of("announce", "sent", 1),
        of("heartbeat", "sent", 2),
        of("heartbeat", "failed", 3),
        of("heartbeat", "no-topic-peers", 2)
      ])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("O01 counts among its own metrics what an application has it say", () =>
    Effect.gen(function* () {
      const { announcer } = yield* AnnouncingServer.start({ settings })
      const announced = Effect.map(Metric.snapshot, (snapshot) =>
        snapshot.flatMap(({ attributes, id, state }) =>
          id === "ricochet_publishes_total" && attributes?.topic === "announce" ? [{ ...state }] : []
        )
      )
      assert.deepStrictEqual(yield* announced, [{ count: 1, incremental: true }])
      const ofApplication = new Map()
      yield* Effect.gen(function* () {
        yield* (yield* announcer).offer("translation")
        assert.deepStrictEqual(yield* announced, [])
      }).pipe(Effect.provideService(Metric.MetricRegistry, ofApplication))
      assert.strictEqual(ofApplication.size, 0)
      assert.deepStrictEqual(yield* announced, [{ count: 2, incremental: true }])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
