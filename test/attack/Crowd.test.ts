/**
 * Strangers in numbers, among whole servers on a network in memory. A hundred thousand of them meet one registry in
 * RegistryMemory.test.ts, and one server over real connections in `npm run bench crowd`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import type { Topic } from "../../src/gossip/Topic.ts"
import { heartbeatsPerMinute, refusedSigners } from "../../src/registry/Limits.ts"
import type { RefusalReason } from "../../src/registry/Refusal.ts"
import { Registry } from "../../src/registry/Registry.ts"
import { Tally } from "../../src/registry/Tally.ts"
import {
  announceTopic,
  heartbeatTopic,
  makeVirtualNetwork,
  type VirtualNetwork,
  type VirtualServer,
  VirtualWords
} from "../../src/testing.ts"

const honest = ["a", "b", "c", "d", "e"]

const count = (server: VirtualServer, topic: Topic, reason: RefusalReason | "none") =>
  server.run(
    Effect.gen(function* () {
      const all = yield* (yield* Tally).read
      return all.find((one) => one.topic === topic && one.reason === reason)?.count
    })
  )

/** What grows with those who are known, and what must not. */
const sizes = (server: VirtualServer) =>
  server.run(
    Effect.gen(function* () {
      const [registry, tally] = [yield* Registry, yield* Tally]
      return {
        entries: (yield* registry.entries).length,
        refused: (yield* registry.latestRefusals(Number.POSITIVE_INFINITY)).length,
        series: (yield* tally.read).length + (yield* Metric.snapshot).length
      }
    })
  )

/** What an operator reads at the default level. */
const visible = (server: VirtualServer) =>
  server.logs.filter(({ level }) => level !== "Debug").map(({ message }) => message)

const expectHonest = Effect.fnUntraced(function* (network: VirtualNetwork, servers: ReadonlyArray<VirtualServer>) {
  for (const server of servers) {
    const list = new Set(yield* server.list)
    const missing = honest.filter((name) => name !== server.name && !list.has(name))
    yield* network.expect(`honest servers that ${server.name} does not list`, missing, [])
  }
})

describe("a crowd of strangers that comes through one neighbour", () => {
  const crowd = 10_000
  const maxServers = 1_000

  it.effect(
    "K02 O01 R19 costs no honest server its place, and us one line, a bounded number of entries and no series; then it is forgotten",
    () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork()
        const servers = yield* Effect.forEach(honest, (name) =>
          network.start(name, { maxServers, healthCheck: "20 minutes" })
        )
        const [first] = servers
        assert(first !== undefined)
        yield* TestClock.adjust("11 minutes")
        const before = yield* sizes(first)
        const lines = visible(first).length

        const door = network.attacker("door")
        for (let index = 0; index < crowd; index++) {
          const stranger = network.attacker(`stranger ${index}`)
          const timestamp = yield* network.wallNanos
          const data = VirtualWords.announcement({ serverId: stranger.peerId, timestamp })
          const verdict = yield* door.hand(first, stranger.sign(announceTopic, data))
          assert.strictEqual(verdict, index < maxServers - 4 ? "accept" : "ignore")
          if (index % 100 === 99) yield* TestClock.adjust("6 seconds")
          if (index % 1_000 === 999) yield* expectHonest(network, servers)
        }
        assert.strictEqual(yield* count(first, announceTopic, "full"), crowd - maxServers + 4)
        for (const server of servers) {
          const { entries, refused, series } = yield* sizes(server)
          assert.deepStrictEqual([entries, series], [maxServers, before.series], server.name)
          assert.isAtMost(refused, refusedSigners)
        }
        assert.deepStrictEqual(visible(first).slice(lines), ["registry is full"])
        assert.deepStrictEqual(yield* network.memory.rejects("a"), new Map(), "R2: nobody is punished for a full house")

        // Who comes now finds no room, and is told of, until the crowd has been silent for two hours.
        const late = yield* network.start("late")
        yield* TestClock.adjust("1 minute")
        const why = yield* first.why(late)
        assert.strictEqual(why.state === "refused" && why.refusal.reason, "full")
        yield* TestClock.adjust("3 hours")
        yield* network.expectLists({
          a: ["b", "c", "d", "e", "late"],
          late: honest
        })
        // A day in the life of two servers takes less time than one of six.
        for (const server of network.servers.slice(2)) yield* server.crash
        yield* TestClock.adjust("25 hours")
        for (const server of network.servers.slice(0, 2)) {
          assert.strictEqual((yield* sizes(server)).entries, 1, server.name)
        }
      }),
    60_000
  )
})

describe("one signer that says a thousand things a second", () => {
  const seconds = 6

  it.effect(
    "R19 is heard 60 times a minute, relayed as often, and costs others nothing",
    () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork()
        const servers = yield* Effect.forEach(honest, (name) => network.start(name, { healthCheck: "2 seconds" }))
        const [first, second] = servers
        assert(first !== undefined && second !== undefined)
        yield* TestClock.adjust("1 minute")
        const loud = network.attacker("loud")
        const heard = [
          yield* count(first, heartbeatTopic, "none"),
          yield* count(second, heartbeatTopic, "none")
        ] as const
        const lines = visible(first).length
        let said = 0
        const say = Effect.gen(function* () {
          const timestamp = (yield* network.wallNanos) + BigInt(said++)
          const data = VirtualWords.heartbeat({ serverId: loud.peerId, timestamp })
          return yield* loud.hand(first, loud.sign(heartbeatTopic, data))
        })
        let accepted = 0
        for (let index = 0; index < seconds * 1_000; index++) {
          if ((yield* say) === "accept") accepted++
          if (index % 20 === 19) yield* TestClock.adjust("20 millis")
        }
        assert.strictEqual(accepted, heartbeatsPerMinute)
        assert.strictEqual(yield* count(first, heartbeatTopic, "over-rate"), seconds * 1_000 - heartbeatsPerMinute)
        const ofHonest = (honest.length - 1) * (seconds / 2)
        for (const [index, server] of [first, second].entries()) {
          assert.strictEqual(
            yield* count(server, heartbeatTopic, "none"),
            (heard[index] ?? 0) + ofHonest + heartbeatsPerMinute,
            server.name
          )
        }
        yield* expectHonest(network, servers)
        assert.deepStrictEqual(visible(first).slice(lines), [])
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* say, "accept")
      }),
    60_000
  )
})
