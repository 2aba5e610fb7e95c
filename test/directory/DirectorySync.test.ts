import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { DirectorySync } from "../../src/directory/DirectorySync.ts"
import { announceTopic, heartbeatTopic, makeVirtualNetwork, peerIdOf, type VirtualServer } from "../../src/testing.ts"
import * as Timestamp from "../../src/time/Timestamp.ts"
import { announced, beaten, framed, neighbour, saying } from "./Neighbours.ts"

const countsOf = (server: VirtualServer) => server.run(Effect.flatMap(DirectorySync, ({ counts }) => counts))
const asks = (server: VirtualServer, other: VirtualServer) =>
  server.run(Effect.flatMap(DirectorySync, (directory) => directory.ask(other.peerId)))
/** Runs what takes a few milliseconds of the network's time. */
const soon = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    yield* TestClock.adjust("50 millis")
    return yield* Effect.fromResult(
      yield* Effect.result(Effect.flatten(Effect.sync(() => fiber.pollUnsafe() ?? Effect.die("not ended"))))
    )
  })

const line = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
  const network = yield* makeVirtualNetwork({ links: "none" })
  const servers: Array<VirtualServer> = []
  for (const name of names) {
    const server = yield* network.server(name)
    const last = servers.at(-1)
    if (last !== undefined) yield* network.connect(last, server)
    servers.push(server)
    yield* server.start
  }
  return {
    network,
    servers: servers as ReadonlyArray<VirtualServer> as [
      VirtualServer,
      VirtualServer,
      VirtualServer,
      ...Array<VirtualServer>
    ]
  }
})

describe("a newcomer", () => {
  it.effect(
    "R12 R11 knows the whole network at once, though all fell silent half an hour ago, and it knows the newcomer",
    () =>
      Effect.gen(function* () {
        const names = ["a", "b", "c", "d", "e", "f"]
        const { network, servers } = yield* line(...names)
        yield* TestClock.adjust("59 minutes")
        const spoken = network.spoken.length
        const newcomer = yield* network.server("newcomer")
        yield* network.connect(servers[0], newcomer)
        yield* newcomer.start
        yield* TestClock.adjust("20 millis")
        yield* network.expectLists({
          newcomer: names,
          ...Object.fromEntries(names.map((name) => [name, [...names.filter((other) => other !== name), "newcomer"]]))
        })
        // Nobody but the newcomer has said a word meanwhile.
        assert.deepStrictEqual(
          network.spoken.slice(spoken).map(({ server, topic }) => `${server} ${topic}`),
          [`newcomer ${announceTopic}`, `newcomer ${heartbeatTopic}`]
        )
      })
  )

  it.effect("R12 R6 hears no server later than its own words: who died before stays listed no longer for it", () =>
    Effect.gen(function* () {
      const { network, servers } = yield* line("a", "b", "dead")
      yield* TestClock.adjust("30 minutes")
      yield* servers[2].crash
      yield* TestClock.adjust("30 minutes")
      const newcomer = yield* network.server("newcomer")
      yield* network.connect("a", newcomer)
      yield* newcomer.start
      yield* TestClock.adjust("20 millis")
      yield* network.expectLists({ newcomer: ["a", "b", "dead"] })
      const entry = Option.getOrThrow(yield* newcomer.entry(servers[2]))
      const last = network.spokenBy("dead", heartbeatTopic).at(-1)?.atMillis ?? Number.NaN
      const wallMillis = Number((yield* network.wallNanos) / 1_000_000n)
      assert.strictEqual(entry.lastHeard.wallMillis, wallMillis - (yield* network.nowMillis) + last)
      assert.isTrue(entry.restored)
      yield* TestClock.adjust(7_200_000 - (yield* network.nowMillis) + last)
      yield* network.expectLists({ a: ["b", "dead", "newcomer"], newcomer: ["a", "b", "dead"] })
      yield* TestClock.adjust("10 millis")
      yield* network.expectLists({ a: ["b", "newcomer"], newcomer: ["a", "b"] })
    })
  )

  it.effect("R12 R13 is told of a server that has left as one that has left, and never believes it to be there", () =>
    Effect.gen(function* () {
      const { network, servers } = yield* line("a", "b", "left")
      yield* TestClock.adjust("10 minutes")
      yield* servers[2].stop
      yield* TestClock.adjust("1 minute")
      const newcomer = yield* network.server("newcomer")
      yield* network.connect("a", newcomer)
      yield* newcomer.start
      yield* TestClock.adjust("20 millis")
      yield* network.expectLists({ newcomer: ["a", "b"] })
      const entry = Option.getOrThrow(yield* newcomer.entry(servers[2]))
      assert.deepStrictEqual(
        {
          announced: entry.announcement?.message.healthy,
          healthy: entry.heartbeat?.message.healthy,
          changes: entry.verdictChanges,
          stopped: entry.saidGoodbye
        },
        { announced: true, healthy: false, changes: 0, stopped: true }
      )
    })
  )

  it.effect("R12 asks three neighbours at most, one after the other, and the later ones bring next to nothing", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const names = ["a", "b", "c", "d", "e", "f", "g", "h"]
      for (const name of names) yield* network.start(name)
      yield* TestClock.adjust("30 minutes")
      const newcomer = yield* network.start("newcomer")
      yield* TestClock.adjust("900 millis")
      yield* network.expectLists({ newcomer: names })
      const counts = yield* countsOf(newcomer)
      assert.deepStrictEqual(
        { ...counts, bytes: 0 },
        { asked: 3, failed: 0, messages: 16, bytes: 0, accepted: 16, known: 0, refused: 0 }
      )
    })
  )

  it.effect("R12 R23 hears nothing of a neighbour that has said nothing yet", () =>
    Effect.gen(function* () {
      const { network, servers } = yield* line("a", "b")
      const slow = yield* network.server("slow", { check: Effect.sleep("9 seconds") })
      yield* network.connect(servers[0], slow)
      yield* slow.start
      yield* TestClock.adjust("1 second")
      assert.isTrue(yield* soon(asks(servers[0], slow)))
      yield* network.expectLists({ a: ["b"] })
      yield* TestClock.adjust("9 seconds")
      yield* network.expectLists({ a: ["b", "slow"], slow: ["a", "b"] })
    })
  )
})

/** A star of twenty: all the others are linked to the one that answers. `third` checks itself every minute. */
const star = Effect.gen(function* () {
  const network = yield* makeVirtualNetwork({ links: "none" })
  const servers: Array<VirtualServer> = []
  for (let index = 0; index < 20; index++) {
    const server = yield* network.server(`server ${index}`, index === 2 ? { healthCheck: "1 minute" } : {})
    if (index > 0) yield* network.connect("server 0", server)
    servers.push(server)
    yield* server.start
  }
  const [answering, asking, third] = servers as [VirtualServer, VirtualServer, VirtualServer]
  return { network, answering, asking, third, others: servers.slice(3) }
})

describe("a server whose registry is full", () => {
  it.effect(
    "R12 R19 R13 does not list who has left, where its announcement makes room for it and its goodbye does not",
    () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork({ links: "none" })
        const server = yield* network.start("server", { maxServers: 2 })
        const now = yield* network.wallNanos
        const handOn = (...messages: ReadonlyArray<Uint8Array>) => saying(framed(...messages))
        yield* neighbour(
          network,
          "first",
          server,
          handOn(announced("ill", now), beaten("ill", now + 1n, false), announced("well", now))
        )
        yield* TestClock.adjust("100 millis")
        yield* network.expectLists({ server: [peerIdOf("well")] })
        yield* neighbour(network, "second", server, handOn(beaten("left", now + 1n, false), announced("left", now)))
        yield* TestClock.adjust("100 millis")
        yield* network.expectLists({ server: [peerIdOf("well")] })
        const { announcement, heartbeat } = Option.getOrThrow(yield* server.entry({ peerId: peerIdOf("left") }))
        assert.deepStrictEqual([announcement?.message.healthy, heartbeat?.message.healthy], [true, false])
      })
  )
})

describe("a server that asks again", () => {
  it.effect("R12 is sent nothing where it knows the same, and a few messages where it lacks one", () =>
    Effect.gen(function* () {
      const { answering, asking, network, third } = yield* star
      yield* TestClock.adjust("31 minutes")
      yield* TestClock.adjust("10 seconds")
      const before = yield* countsOf(asking)
      assert.isTrue(yield* soon(asks(asking, answering)))
      assert.deepStrictEqual(yield* countsOf(asking), { ...before, asked: before.asked + 1 })

      yield* network.connect(answering, asking, { loss: 1 })
      yield* TestClock.adjust("90 seconds")
      yield* network.connect(answering, asking)
      assert.isTrue(yield* soon(asks(asking, answering)))
      const after = yield* countsOf(asking)
      assert.strictEqual(after.accepted - before.accepted, 1)
      assert.isAtMost(after.messages - before.messages, 16)
      // What comes along with it is known, and nobody's fault.
      assert.strictEqual(after.known - before.known, after.messages - before.messages - 1)
      assert.strictEqual(after.refused, 0)
      const entry = Option.getOrThrow(yield* asking.entry(third))
      const last = network.spokenBy(third, heartbeatTopic).at(-1)
      assert.strictEqual(
        entry.heartbeat?.message.timestamp,
        Result.getOrThrow(Timestamp.parse(String(last?.words.timestamp)))
      )
    })
  )

  it.effect("R12 C10 makes good within ten minutes what was lost on the way", () =>
    Effect.gen(function* () {
      const { answering, asking, network } = yield* star
      // Between two heartbeats of anybody, so that nothing but the announcement is missed.
      yield* TestClock.adjust("930 seconds")
      yield* network.connect(answering, asking, { loss: 1 })
      const late = yield* network.server("late")
      yield* network.connect(answering, late)
      yield* late.start
      yield* TestClock.adjust("2 seconds")
      yield* network.connect(answering, asking)
      const lists = Effect.map(asking.list, (list) => list.includes("late"))
      // Its heartbeats arrive, and say nothing of a server that is not known to have announced (S16).
      yield* TestClock.adjust("267 seconds")
      yield* network.expect("listed before twenty minutes", yield* lists, false)
      yield* TestClock.adjust("2 seconds")
      yield* network.expect("listed after twenty minutes", yield* lists, true)
      yield* network.expect("failed questions", (yield* countsOf(asking)).failed, 0)
    })
  )

  it.effect(
    "R12 asks a random neighbour every ten minutes, and one after the other where some do not speak the protocol",
    () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork()
        const server = yield* network.start("server")
        yield* network.start("other")
        for (const name of ["mute 1", "mute 2"]) yield* neighbour(network, name, server)
        yield* TestClock.adjust("9 minutes")
        const before = yield* countsOf(server)
        yield* TestClock.adjust("10 hours")
        const after = yield* countsOf(server)
        assert.strictEqual(after.asked - after.failed - (before.asked - before.failed), 60)
        assert.isAbove(after.failed, before.failed)
        assert.isAtMost(after.failed - before.failed, 120)
      })
  )
})

describe("a partition that heals", () => {
  /** Two and two, in a ring, parted for so long; one more server starts meanwhile on one side, and one leaves on the other. */
  const partAndHeal = Effect.fnUntraced(function* (minutes: number) {
    const { network, servers } = yield* line("a", "b", "c", "d", "e", "f")
    yield* network.connect("a", "f")
    yield* TestClock.adjust("30 minutes")
    yield* network.partition(["a", "b", "c"], ["d", "e", "f", "new"])
    yield* TestClock.adjust("1 minute")
    const late = yield* network.server("new")
    yield* network.connect("e", late)
    yield* late.start
    yield* servers[1].stop
    yield* network.connect("a", "c")
    yield* TestClock.adjust(`${minutes - 1} minutes`)
    yield* network.heal
    return network
  })
  const names = ["a", "c", "d", "e", "f", "new"]
  const whole = Object.fromEntries(names.map((name) => [name, names.filter((other) => other !== name)]))

  for (const minutes of [10, 150]) {
    it.effect(`R12 D01 E02 leaves complete lists everywhere within two minutes, after ${minutes} minutes`, () =>
      Effect.gen(function* () {
        const network = yield* partAndHeal(minutes)
        yield* TestClock.adjust("2 minutes")
        yield* network.expectLists(whole)
      })
    )
  }

  it.effect("R12 D02 of islands that never met leaves complete lists at once where they meet", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      yield* network.partition(["a", "b", "c"])
      const [a, b] = ["a, b, c", "d, e, f"].map((group) => group.split(", "))
      for (const name of [...(a ?? []), ...(b ?? [])]) yield* network.start(name)
      yield* TestClock.adjust("5 minutes")
      yield* network.expectLists({ a: ["b", "c"], d: ["e", "f"] })
      yield* network.heal
      yield* TestClock.adjust("20 millis")
      const all = [...(a ?? []), ...(b ?? [])]
      yield* network.expectLists(Object.fromEntries(all.map((name) => [name, all.filter((other) => other !== name)])))
    })
  )

  it.effect("R12 a server that was alone asks at once, however often its link comes and goes", () =>
    Effect.gen(function* () {
      const { network, servers } = yield* line("a", "b", "c")
      yield* TestClock.adjust("12 minutes")
      const before = yield* countsOf(servers[0])
      for (let cut = 0; cut < 50; cut++) {
        yield* network.disconnect("a", "b")
        yield* TestClock.adjust("300 millis")
        yield* network.connect("a", "b")
        yield* TestClock.adjust("700 millis")
      }
      yield* network.expectLists({ a: ["b", "c"], b: ["a", "c"], c: ["a", "b"] })
      const after = yield* countsOf(servers[0])
      assert.strictEqual(after.asked - before.asked, 12)
      assert.strictEqual(after.failed, before.failed)
    })
  )
})
