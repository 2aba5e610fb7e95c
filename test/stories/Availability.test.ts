import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Query from "../../src/registry/Query.ts"
import { announceTopic, heartbeatTopic, makeVirtualNetwork, VirtualWords } from "../../src/testing.ts"
import { now } from "../../src/time/Now.ts"

describe("a server that is heard", () => {
  it.effect("S13 is kept from its announcement on, and refreshed by each heartbeat", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      const heardAt = Effect.gen(function* () {
        const entry = Option.getOrThrow(yield* b.entry(a))
        return [entry.announcement?.message.region, Math.round(entry.lastHeard.steadyMillis)]
      })
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual(yield* heardAt, ["default", 2])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* heardAt, ["default", 300_001])
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* heardAt, ["default", 600_001])
    })
  )

  it.effect("S18 is listed at every minute of two days", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      yield* network.start("a")
      yield* network.start("b")
      for (let minute = 1; minute <= 48 * 60; minute++) {
        yield* TestClock.adjust("1 minute")
        yield* network.expectLists({ a: ["b"], b: ["a"] })
      }
    })
  )
})

describe("a server whose check fails", () => {
  it.effect("S14 leaves the list at that heartbeat and is back at the next that passed", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* TestClock.adjust("1 minute")
      yield* a.check(Effect.fail(new Error("connection refused")))
      yield* TestClock.adjust("4 minutes")
      yield* network.expectLists({ b: ["a"] })
      yield* TestClock.adjust("1 millis")
      yield* network.expectLists({ b: [] })
      assert.strictEqual((yield* b.why(a)).state, "unhealthy")
      yield* a.check(Effect.void)
      yield* TestClock.adjust("299999 millis")
      yield* network.expectLists({ b: [] })
      yield* TestClock.adjust("1 millis")
      yield* network.expectLists({ b: ["a"] })
      assert.strictEqual(a.logged("self-check failed").length, 1)
    })
  )

  it.effect("F02 is followed at each change, which its entry counts, and told of in one line", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* TestClock.adjust("1 minute")
      for (let change = 1; change <= 12; change++) {
        yield* a.check(change % 2 === 1 ? Effect.fail("refused") : Effect.void)
        yield* TestClock.adjust("5 minutes")
        yield* network.expectLists({ b: change % 2 === 1 ? [] : ["a"] })
        assert.strictEqual(Option.getOrThrow(yield* b.entry(a)).verdictChanges, change)
      }
      assert.deepStrictEqual(
        b.logged("server is flapping").map(({ annotations }) => annotations),
        [{ server_id: a.peerId, verdict_changes: 7, neighbour: a.peerId }]
      )
    })
  )

  it.effect("F03 shares its fate with all that share its database, and their recovery is seen at the next check", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const names = ["a", "b", "c", "d"]
      const servers = yield* Effect.forEach(names, (name) => network.start(name))
      const others = (name: string) => names.filter((other) => other !== name)
      yield* TestClock.adjust("4 minutes")
      yield* Effect.forEach(servers, (server) => server.check(Effect.fail("stalled")))
      yield* TestClock.adjust("2 minutes")
      yield* network.expectLists(Object.fromEntries(names.map((name) => [name, []])))
      for (const server of servers) {
        for (const other of servers.filter((one) => one !== server)) {
          assert.strictEqual((yield* server.why(other)).state, "unhealthy")
        }
      }
      yield* Effect.forEach(servers, (server) => server.check(Effect.void))
      yield* TestClock.adjust("4 minutes")
      yield* TestClock.adjust("10 millis")
      yield* network.expectLists(Object.fromEntries(names.map((name) => [name, others(name)])))
    })
  )
})

describe("a server that falls silent", () => {
  it.effect("S15 R6 is listed for two hours after its last message, that moment included", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* TestClock.adjust("11 minutes")
      // The last word went out at 10 minutes and took a millisecond.
      yield* a.crash
      yield* TestClock.adjust("119 minutes")
      yield* network.expectLists({ b: ["a"] })
      yield* TestClock.adjust("1 millis")
      yield* network.expectLists({ b: ["a"] })
      yield* TestClock.adjust("1 millis")
      yield* network.expectLists({ b: [] })
      assert.strictEqual((yield* b.why(a)).state, "silent")
    })
  )

  it.effect("R13 E02 is seen fading from the first heartbeat it missed", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      const overdue = b.run(
        Effect.gen(function* () {
          return Query.overdueHeartbeats(Option.getOrThrow(yield* b.entry(a)), yield* now)
        })
      )
      yield* TestClock.adjust("31 minutes")
      assert.strictEqual(yield* overdue, 0)
      yield* a.crash
      yield* TestClock.adjust("7 minutes")
      assert.strictEqual(yield* overdue, 1)
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual(yield* overdue, 5)
      yield* network.expectLists({ b: ["a"] })
    })
  )

  it.effect("R9 E05 is listed again at its first healthy heartbeat, without announcing anew", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const b = yield* network.start("b")
      const ghost = network.attacker("ghost")
      const { peerId: serverId } = ghost
      const beat = Effect.gen(function* () {
        return VirtualWords.heartbeat({ serverId, timestamp: yield* network.wallNanos })
      })
      const announcement = VirtualWords.announcement({ serverId, timestamp: yield* network.wallNanos, region: "north" })
      yield* ghost.hand(b, ghost.sign(announceTopic, announcement))
      yield* network.expectLists({ b: ["ghost"] })
      yield* TestClock.adjust("121 minutes")
      yield* network.expectLists({ b: [] })
      yield* ghost.hand(b, ghost.sign(heartbeatTopic, yield* beat))
      yield* network.expectLists({ b: ["ghost"] })
      assert.strictEqual(Option.getOrThrow(yield* b.entry(ghost)).announcement?.message.region, "north")
      // The description is kept for a day after the last word, and not for longer.
      yield* TestClock.adjust("25 hours")
      yield* ghost.hand(b, ghost.sign(heartbeatTopic, yield* beat))
      yield* network.expectLists({ b: [] })
      assert.strictEqual((yield* b.why(ghost)).state, "never-announced")
    })
  )
})

describe("a server that has not announced", () => {
  it.effect("S16 is not listed for its heartbeats, which count from the moment it announces", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [b, c] = [yield* network.start("b"), yield* network.start("c")]
      const ghost = network.attacker("ghost")
      const { peerId: serverId } = ghost
      const start = yield* network.wallNanos
      yield* TestClock.adjust("1 minute")
      const beat = VirtualWords.heartbeat({ serverId, timestamp: start + 2n, uptimeScore: 0.5 })
      assert.strictEqual(yield* ghost.hand(b, ghost.sign(heartbeatTopic, beat)), "accept")
      yield* TestClock.adjust("1 second")
      yield* network.expectLists({ b: ["c"], c: ["b"] })
      assert.strictEqual((yield* b.why(ghost)).state, "never-announced")
      assert.strictEqual((yield* c.why(ghost)).state, "never-announced", "R2: it is relayed all the same")
      const announcement = VirtualWords.announcement({ serverId, timestamp: start + 1n, uptimeScore: 1 })
      yield* ghost.hand(b, ghost.sign(announceTopic, announcement))
      yield* TestClock.adjust("1 second")
      yield* network.expectLists({ b: ["c", "ghost"], c: ["b", "ghost"] })
    })
  )
})

describe("a server that stops as planned", () => {
  it.effect("R13 E02 says goodbye and is out of every list in a moment, its score unchanged", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* network.start("c")
      yield* TestClock.adjust("1 minute")
      yield* a.stop
      yield* TestClock.adjust("2 millis")
      yield* network.expectLists({ b: ["c"], c: ["b"] })
      assert.strictEqual((yield* b.why(a)).state, "unhealthy")
      const last = network.spokenBy(a, heartbeatTopic).at(-1)
      assert.deepStrictEqual([last?.words.healthy, last?.words.uptime_score], [false, 1])
      yield* a.start
      yield* TestClock.adjust("3 seconds")
      yield* network.expectLists({ a: ["b", "c"], b: ["a", "c"], c: ["a", "b"] })
    })
  )
})
