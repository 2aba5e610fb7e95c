import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import * as AnnouncingServer from "./AnnouncingServer.ts"
import * as RecordingGossip from "./RecordingGossip.ts"

const settings = VirtualSettings.make({})

/** A server whose every random delay is this share of the longest. */
const server = Effect.fnUntraced(function* (share: number, options: Partial<AnnouncingServer.Options> = {}) {
  const { nextIntUnsafe } = yield* Random.Random
  return yield* AnnouncingServer.start({ settings, ...options }).pipe(
    Effect.provideService(Random.Random, { nextIntUnsafe, nextDoubleUnsafe: () => share })
  )
})

const alone = Effect.sync(() => {
  const gossip = RecordingGossip.make()
  gossip.desert()
  return gossip
})

const times = (gossip: ReturnType<typeof RecordingGossip.make>) => ({
  announcements: gossip.announcements.map(({ atSeconds }) => atSeconds),
  heartbeats: gossip.heartbeats.map(({ atSeconds }) => atSeconds)
})

describe("a peer that appears", () => {
  it.effect("R11 is told at once by a server that was alone, of its last verdict and with no new check", () =>
    Effect.gen(function* () {
      let checks = 0
      const gossip = yield* alone
      const { log } = yield* server(0.9, { gossip, check: Effect.sync(() => void checks++) })
      yield* TestClock.adjust("100 seconds")
      gossip.appear(peerIdOf("b"))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(times(gossip), { announcements: [100], heartbeats: [100] })
      assert.deepStrictEqual(
        [...gossip.announcements, ...gossip.heartbeats].map(({ message: { healthy, timestamp } }) => ({
          healthy,
          timestamp
        })),
        [
          { healthy: true, timestamp: 100_000_000_000n },
          { healthy: true, timestamp: 100_000_000_001n }
        ]
      )
      assert.strictEqual(checks, 1)
      assert.strictEqual(log.of("failed to publish announcement").length, 1)
    })
  )

  it.effect("R11 is told after a random delay by a server that was not alone", () =>
    Effect.gen(function* () {
      const { gossip } = yield* server(0.75)
      yield* TestClock.adjust("100 seconds")
      gossip.appear(peerIdOf("b"))
      yield* TestClock.adjust("749 millis")
      assert.deepStrictEqual(times(gossip), { announcements: [0], heartbeats: [0] })
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(times(gossip), { announcements: [0, 100.75], heartbeats: [0, 100.75] })
    })
  )

  it.effect("R11 is told within a second, whatever the delay drawn", () =>
    Effect.gen(function* () {
      const { gossip } = yield* server(0.999_999)
      yield* TestClock.adjust("100 seconds")
      gossip.appear(peerIdOf("b"))
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(times(gossip), { announcements: [0, 101], heartbeats: [0, 101] })
    })
  )

  it.effect("R11 shares the words with all who appear during the delay", () =>
    Effect.gen(function* () {
      const { gossip } = yield* server(0.5)
      yield* TestClock.adjust("100 seconds")
      for (const name of ["b", "c", "d"]) {
        gossip.appear(peerIdOf(name))
        yield* TestClock.adjust("100 millis")
      }
      yield* TestClock.adjust("1 minutes")
      assert.deepStrictEqual(times(gossip), { announcements: [0, 100.5], heartbeats: [0, 100.5] })
    })
  )

  it.effect("R11 is told at the end of the 5 seconds when others were told just before it came", () =>
    Effect.gen(function* () {
      const gossip = yield* alone
      yield* server(0.5, { gossip })
      yield* TestClock.adjust("100 seconds")
      gossip.appear(peerIdOf("b"))
      yield* TestClock.adjust("1 seconds")
      gossip.appear(peerIdOf("c"))
      yield* TestClock.adjust("3 seconds")
      gossip.appear(peerIdOf("d"))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(times(gossip), { announcements: [100], heartbeats: [100] })
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(times(gossip), { announcements: [100, 105], heartbeats: [100, 105] })
      yield* TestClock.adjust("1 minutes")
      assert.deepStrictEqual(times(gossip).announcements, [100, 105])
    })
  )

  it.effect("R11 makes a server speak at most once in 5 seconds, however many appear", () =>
    Effect.gen(function* () {
      const { gossip } = yield* server(0)
      for (let n = 0; n < 300; n++) {
        gossip.appear(peerIdOf(n))
        yield* TestClock.adjust("100 millis")
      }
      assert.deepStrictEqual(times(gossip).announcements, [0, 0, 5, 10, 15, 20, 25, 30])
    })
  )

  it.effect("R11 S2 S3 moves neither of the two schedules", () =>
    Effect.gen(function* () {
      const { gossip } = yield* server(0)
      yield* TestClock.adjust("299 seconds")
      gossip.appear(peerIdOf("b"))
      yield* TestClock.adjust("3301 seconds")
      const { announcements, heartbeats } = times(gossip)
      assert.deepStrictEqual(announcements, [0, 299, 3_600])
      assert.deepStrictEqual(heartbeats, [0, 299, ...Array.from({ length: 12 }, (_, n) => (n + 1) * 300)])
    })
  )

  it.effect("R11 S24 on one topic only is told there, and what nobody would hear is no failure", () =>
    Effect.gen(function* () {
      const gossip = yield* alone
      const { log } = yield* server(0.5, { gossip })
      const failuresAtStart = log.lines.filter(({ level }) => level === "Warn").length
      yield* TestClock.adjust("100 seconds")
      gossip.appear(peerIdOf("b"), [announceTopic])
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(times(gossip), { announcements: [100], heartbeats: [] })
      gossip.appear(peerIdOf("b"), [heartbeatTopic])
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(times(gossip), { announcements: [100, 105], heartbeats: [105] })
      assert.strictEqual(log.lines.filter(({ level }) => level === "Warn").length, failuresAtStart)
    })
  )

  it.effect("R11 that appears while the server says its first words is not overlooked", () =>
    Effect.gen(function* () {
      const gossip = yield* alone
      gossip.instead.push(
        Effect.sync(() => {
          gossip.appear(peerIdOf("b"))
          return { recipients: 0 }
        })
      )
      yield* server(0.5, { gossip })
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(times(gossip), { announcements: [0], heartbeats: [0, 0] })
    })
  )

  it.effect("R11 R17 is told although the words to the one before it failed", () =>
    Effect.gen(function* () {
      const { gossip, log } = yield* server(0)
      gossip.instead.push(Effect.die(new Error("a bug")), Effect.die(new Error("a bug")))
      gossip.appear(peerIdOf("b"))
      yield* TestClock.adjust("10 seconds")
      gossip.appear(peerIdOf("c"))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(times(gossip), { announcements: [0, 10], heartbeats: [0, 10] })
      assert.strictEqual(log.of("failed to publish announcement").length, 1)
    })
  )
})
