import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { announceTopic, heartbeatTopic, makeVirtualNetwork, VirtualWords } from "../../src/testing.ts"

const names = (count: number) => Array.from({ length: count }, (_, index) => `s${String(index).padStart(3, "0")}`)

/** So many servers around a hub, started at the same moment. */
const crowd = Effect.fnUntraced(function* (count: number) {
  const network = yield* makeVirtualNetwork({
    links: "none",
    weather: { delay: "5 millis", jitter: "50 millis" }
  })
  const hub = yield* network.start("hub")
  const all = names(count)
  const servers = yield* Effect.forEach(all, (name) => network.server(name))
  yield* Effect.forEach(servers, (server) => network.connect(hub, server))
  yield* Effect.forEach(servers, (server) => server.start)
  return { network, all }
})

describe("servers on a network", () => {
  it.effect("S19 find each other through those between them, and those with no path do not", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ links: "none" })
      const [a, b, c] = [yield* network.start("a"), yield* network.start("b"), yield* network.start("c")]
      const island = yield* network.start("island")
      yield* network.connect(a, b)
      yield* network.connect(b, c)
      yield* TestClock.adjust("10 seconds")
      yield* network.expectLists({ a: ["b", "c"], b: ["a", "c"], c: ["a", "b"], island: [] })
      assert.strictEqual((yield* island.why(a)).state, "unknown")
      assert.strictEqual((yield* a.why(island)).state, "unknown")
    })
  )

  it.effect("S1 S21 join both topics and say so, whatever their settings", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a", { region: "eu-west", healthCheck: "30 seconds" })
      assert.deepStrictEqual(
        a.logged("joined topic").map(({ annotations }) => annotations.topic),
        [announceTopic, heartbeatTopic]
      )
      const [started] = a.logged("registry started")
      assert.strictEqual(started?.annotations.health_check_interval, "30s")
      assert.strictEqual(started?.annotations.first_check_passed, true)
    })
  )

  it.effect("C07 hear each beat of the other, also when nothing else is said for a quarter of an hour", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* TestClock.adjust("1 minute")
      const beats = [a, b].map((server) => network.spokenBy(server, heartbeatTopic).length)
      const said = network.spoken.length
      yield* TestClock.adjust("15 minutes")
      assert.strictEqual(network.spoken.length - said, 6, "nothing but three beats of each")
      assert.deepStrictEqual(
        [a, b].map((server) => network.spokenBy(server, heartbeatTopic).length),
        beats.map((count) => count + 3)
      )
      for (const [hearer, speaker] of [
        [a, b],
        [b, a]
      ] as const) {
        const entry = Option.getOrThrow(yield* hearer.entry(speaker))
        const last = network.spokenBy(speaker, heartbeatTopic).at(-1)
        assert.strictEqual(entry.lastHeard.steadyMillis, (last?.atMillis ?? 0) + 1)
      }
    })
  )

  it.effect("S24 log each message that nobody was there to take, and try again at the next beat", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a")
      yield* TestClock.adjust("61 minutes")
      const error = "no peer is on the topic"
      const refused = a.logged("failed to publish announcement")
      assert.deepStrictEqual(
        refused.map(({ atMillis, level, annotations }) => [atMillis, level, annotations.error]),
        [0, 3_600_000].map((atMillis) => [atMillis, "Warn", `${error} ${announceTopic}`])
      )
      assert.deepStrictEqual(
        a.logged("failed to publish heartbeat").map(({ atMillis, annotations }) => [atMillis, annotations.error]),
        Array.from({ length: 13 }, (_, index) => [index * 300_000, `${error} ${heartbeatTopic}`])
      )
      const b = yield* network.start("b")
      yield* TestClock.adjust("4 minutes")
      assert.strictEqual(network.spokenBy(a, heartbeatTopic).length, 2)
      yield* network.expectLists({ a: ["b"], b: ["a"] })
      assert.strictEqual(b.logged("discovered server").length, 1)
    })
  )
})

describe("the first words of a server", () => {
  it.effect.each(Array.from({ length: 20 }, (_, seed) => seed))(
    "R11 C01 C03 need no luck: neither lost nor late by how messages overtake each other (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork({ seed, weather: { delay: "20 millis", jitter: "300 millis" } })
        yield* network.start("a")
        yield* TestClock.adjust(seed * 37)
        yield* network.start("b")
        yield* network.start("c")
        yield* TestClock.adjust("3 seconds")
        yield* network.expectLists({ a: ["b", "c"], b: ["a", "c"], c: ["a", "b"] })
      })
  )

  it.effect("R11 C01 are not lost when another starts a moment later", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ weather: { delay: "50 millis" } })
      yield* network.start("a")
      yield* TestClock.adjust("200 millis")
      yield* network.start("b")
      yield* TestClock.adjust("2 seconds")
      yield* network.expectLists({ a: ["b"], b: ["a"] })
    })
  )

  it.effect("R11 C02 reach the second server of a network whose first was alone for ten minutes", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a")
      yield* TestClock.adjust("10 minutes")
      yield* network.start("b")
      yield* TestClock.adjust("2 seconds")
      yield* network.expectLists({ a: ["b"], b: ["a"] })
      // The schedule is not moved by it.
      yield* TestClock.adjust("51 minutes")
      assert.deepStrictEqual(
        network.spokenBy(a, announceTopic).map(({ atMillis }) => atMillis),
        [600_001, 3_600_000]
      )
    })
  )

  it.effect("R11 are said again at most once in five seconds, however many appear", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ links: "none" })
      const hub = yield* network.start("hub")
      for (const name of names(40)) {
        yield* network.start(name)
        yield* network.connect(hub, name)
        yield* TestClock.adjust("500 millis")
      }
      yield* TestClock.adjust("1 minute")
      const said = network.spokenBy(hub, announceTopic).map(({ atMillis }) => atMillis)
      assert.isAtLeast(said.length, 4)
      for (const [index, at] of said.entries()) {
        if (index > 0) assert.isAtLeast(at - (said[index - 1] ?? 0), 5_000)
      }
      yield* network.expectLists({ hub: names(40) })
    })
  )

  it.effect(
    "R12 are not all a newcomer knows: it has the whole list in seconds, of servers that say nothing meanwhile",
    () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork({ links: "none" })
        const line = ["a", "b", "c", "d", "e"]
        for (const [index, name] of line.entries()) {
          yield* network.start(name)
          const before = line[index - 1]
          if (before !== undefined) yield* network.connect(before, name)
        }
        yield* TestClock.adjust("31 minutes")
        const said = network.spoken.length
        yield* network.start("newcomer")
        yield* network.connect("e", "newcomer")
        yield* TestClock.adjust("3 seconds")
        yield* network.expectLists({ newcomer: line })
        assert.deepStrictEqual([...new Set(network.spoken.slice(said).map(({ server }) => server))].sort(), [
          "e",
          "newcomer"
        ])
      })
  )

  it.effect("C10 are all heard when a hundred servers restart together", () =>
    Effect.gen(function* () {
      const { network, all } = yield* crowd(100)
      yield* TestClock.adjust("2 seconds")
      yield* network.expectLists({ hub: all })
    })
  )

  it.effect("C10 are all heard by a server that comes to nothing while they arrive, and reads them at once", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ links: "none" })
      const hub = yield* network.start("hub")
      const all = names(200)
      const crowd = all.map((name) => network.attacker(name))
      yield* network.memory.hold("hub")
      for (const server of crowd) {
        const words = { serverId: server.peerId, timestamp: yield* network.wallNanos }
        yield* server.hand(hub, server.sign(announceTopic, VirtualWords.announcement(words)))
        yield* TestClock.adjust("5 millis")
      }
      // As long as 200 messages would take a judge that is slowed to 20 ms each.
      yield* TestClock.adjust("3 seconds")
      yield* network.expectLists({ hub: [] })
      yield* network.memory.release("hub")
      assert.sameMembers([...(yield* hub.list)], all)
    })
  )

  it.effect("C10 R12 that a crowd drowned are made good within two minutes", () =>
    Effect.gen(function* () {
      const { network, all } = yield* crowd(40)
      yield* TestClock.adjust("2 minutes")
      yield* network.expectLists({ hub: all })
      for (const name of all) yield* network.expectLists({ [name]: ["hub", ...all.filter((other) => other !== name)] })
    })
  )
})
