import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { announceTopic, heartbeatTopic, makeVirtualNetwork, VirtualWords } from "../../src/testing.ts"

describe("a replayed message", () => {
  it.effect("R7 A03 keeps nobody alive: the dead leave two hours after their own last word", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* network.start("c")
      const mallory = network.attacker("mallory")
      yield* TestClock.adjust("11 minutes")
      yield* a.crash
      const recorded = network.spoken.filter(({ server }) => server === "a").map(({ signed }) => signed())
      assert.isAtLeast(recorded.length, 4)
      // From the last heartbeat, heard a millisecond past ten minutes, until two hours later.
      for (let seconds = 60; seconds + 130 < 7_200; seconds += 130) {
        yield* TestClock.adjust("130 seconds")
        for (const signed of recorded.toReversed()) assert.strictEqual(yield* mallory.hand(b, signed), "ignore")
        yield* network.expectLists({ b: ["a", "c"], c: ["a", "b"] })
      }
      const left = 10 * 60_000 + 1 + 7_200_000 - (yield* network.nowMillis)
      yield* TestClock.adjust(left)
      yield* network.expectLists({ b: ["a", "c"], c: ["a", "b"] })
      yield* TestClock.adjust("1 millis")
      yield* network.expectLists({ b: ["c"], c: ["b"] })
      for (let round = 0; round < 3; round++) {
        yield* TestClock.adjust("130 seconds")
        for (const signed of recorded) assert.strictEqual(yield* mallory.hand(b, signed), "ignore")
        yield* network.expectLists({ b: ["c"], c: ["b"] })
      }
      // Ignored, not rejected: nobody is punished for what may be an honest echo.
      assert.deepStrictEqual(yield* network.memory.rejects("b"), new Map())
    })
  )

  it.effect("R7 A03 R14 revives nobody in a server that was restarted meanwhile", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a")
      const b = yield* network.start("b", { keeps: true })
      const mallory = network.attacker("mallory")
      yield* TestClock.adjust("6 minutes")
      const recorded = network.spoken.filter(({ server }) => server === "a").map(({ signed }) => signed())
      yield* a.stop
      yield* TestClock.adjust("3 minutes")
      yield* b.crash
      yield* b.start
      for (const signed of recorded) assert.strictEqual(yield* mallory.hand(b, signed), "ignore")
      yield* network.expectLists({ b: [] })
      assert.strictEqual((yield* b.why(a)).state, "unhealthy")
    })
  )

  it.effect("A04 does not heal a server that has said it is ill", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      const mallory = network.attacker("mallory")
      yield* TestClock.adjust("1 minute")
      yield* a.check(Effect.fail("refused"))
      yield* TestClock.adjust("5 minutes")
      yield* network.expectLists({ b: [] })
      const before = yield* b.entry(a)
      for (const { signed } of network.spoken.filter(({ server }) => server === "a")) {
        yield* TestClock.adjust("125 seconds")
        assert.strictEqual(yield* mallory.hand(b, signed()), "ignore")
        yield* network.expectLists({ b: [] })
      }
      const after = yield* b.entry(a)
      assert.deepStrictEqual(
        Option.map(after, ({ announcement }) => announcement),
        Option.map(before, ({ announcement }) => announcement)
      )
    })
  )
})

describe("a message in another's name", () => {
  it.effect("A01 S8 S23 is refused, counted against who brought it, logged with the sender, and changes nothing", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ links: "none" })
      const [a, c, b] = [yield* network.start("a"), yield* network.start("c"), yield* network.start("b")]
      yield* network.connect(a, c)
      yield* network.connect(c, b)
      yield* TestClock.adjust("10 seconds")
      yield* network.expectLists({ b: ["a", "c"] })
      const mallory = network.attacker("mallory")
      const before = yield* b.entry(a)
      for (let index = 0; index < 20; index++) {
        const timestamp = (yield* network.wallNanos) + BigInt(index)
        const data = VirtualWords.announcement({ serverId: a.peerId, timestamp, healthy: false, region: "nowhere" })
        assert.strictEqual(yield* mallory.hand(b, mallory.sign(announceTopic, data)), "reject")
        assert.strictEqual(yield* mallory.hand(b, mallory.sign(announceTopic, data, a.peerId)), "unsigned")
      }
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* b.entry(a), before)
      assert.deepStrictEqual(yield* network.memory.rejects("b"), new Map([[mallory.peerId, 40]]))
      assert.deepStrictEqual(yield* network.memory.rejects("c"), new Map(), "R2: it goes no further")
      const rejected = b.logged("rejected message")
      yield* TestClock.adjust("2 minutes")
      const more = b.logs.filter(({ message }) => message.startsWith("more rejected messages"))
      assert.deepStrictEqual(
        [rejected.length, ...more.map(({ annotations }) => annotations.held_back)],
        [4, 16],
        "R19: five lines a minute about one neighbour, the last of which counts the rest"
      )
      assert.deepStrictEqual(rejected[0]?.annotations, {
        topic: announceTopic,
        sender: mallory.peerId,
        claimed_id: a.peerId,
        neighbour: mallory.peerId,
        reason: "forged",
        detail: rejected[0]?.annotations.detail
      })
      assert.strictEqual((yield* b.why(mallory)).state, "refused")
      assert.strictEqual((yield* b.why(a)).state, "listed")
    })
  )
})

describe("words that arrive in the wrong order", () => {
  it.effect("R8 F01 leave the newest verdict in force, and on equal timestamps the unhealthy one", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const b = yield* network.start("b")
      const sender = network.attacker("sender")
      const { peerId: serverId } = sender
      const start = yield* network.wallNanos
      yield* TestClock.adjust("1 minute")
      const beat = (timestamp: bigint, healthy: boolean) =>
        sender.hand(b, sender.sign(heartbeatTopic, VirtualWords.heartbeat({ serverId, timestamp, healthy })))
      const announce = (timestamp: bigint, healthy: boolean, region: string) =>
        sender.hand(b, sender.sign(announceTopic, VirtualWords.announcement({ serverId, timestamp, healthy, region })))
      const seen = Effect.map(b.entry(sender), (entry) => Option.getOrThrow(entry).announcement?.message.region)

      yield* beat(start + 10n, false)
      assert.strictEqual(yield* beat(start + 5n, true), "ignore")
      assert.strictEqual(yield* announce(start + 7n, true, "north"), "accept")
      yield* network.expectLists({ b: [] })
      assert.strictEqual(yield* seen, "north")
      // An announcement newer than the heartbeat decides; one at the same moment does not make it healthy.
      assert.strictEqual(yield* announce(start + 10n, true, "south"), "accept")
      yield* network.expectLists({ b: [] })
      assert.strictEqual(yield* seen, "south")
      assert.strictEqual(yield* announce(start + 11n, true, "east"), "accept")
      yield* network.expectLists({ b: ["sender"] })
      yield* beat(start + 12n, true)
      yield* beat(start + 12n, false)
      yield* network.expectLists({ b: [] })
    })
  )
})

describe("a crowd of strangers", () => {
  it.effect("R19 K02 takes the place of nobody known before, in a registry that is full", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const honest = ["a", "b", "c", "d"]
      const [first] = yield* Effect.forEach(honest, (name) => network.start(name, { maxServers: 20 }))
      assert(first !== undefined)
      yield* TestClock.adjust("11 minutes")
      for (let index = 0; index < 300; index++) {
        const stranger = network.attacker(`stranger${index}`)
        const timestamp = yield* network.wallNanos
        const data = VirtualWords.announcement({ serverId: stranger.peerId, timestamp, uptimeScore: 0.5 })
        yield* stranger.hand(first, stranger.sign(announceTopic, data))
        yield* TestClock.adjust("100 millis")
      }
      for (const name of honest) {
        const list = yield* network.servers.find((server) => server.name === name)?.list ?? Effect.succeed([])
        assert.deepStrictEqual(
          list.slice(0, 3),
          honest.filter((other) => other !== name)
        )
        assert.strictEqual(list.length, 20)
      }
    })
  )
})
