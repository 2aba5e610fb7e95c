import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer, Option, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { PeerId } from "../../src/identity/PeerId.ts"
import type { Server, ServerState } from "../../src/library/Server.ts"
import { Servers, type ServersEvent } from "../../src/library/Servers.ts"
import { Surroundings } from "../../src/ops/Surroundings.ts"
import type { Filter } from "../../src/registry/Query.ts"
import { type Change, Registry } from "../../src/registry/Registry.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { now } from "../../src/time/Now.ts"
import { random, seed } from "../registry/Random.ts"
import { hearAnnouncement, hearHeartbeat } from "../registry/Sample.ts"

const maxServers = 6
const [alice, bob] = [peerIdOf("alice"), peerIdOf("bob")]
const network = { neighbours: new Set<PeerId>(), addresses: new Map([[bob, ["/ip4/127.0.0.1/tcp/4001"]]]) }

const layer = Servers.layer.pipe(
  Layer.provide(Layer.succeed(Surroundings, { read: Effect.map(now, (at) => ({ now: at, ...network })) })),
  Layer.provideMerge(RegistryMemory.layerBounded(maxServers))
)

const announce = Effect.fnUntraced(function* (
  serverId: PeerId,
  said: Partial<Parameters<typeof hearAnnouncement>[0]> = {}
) {
  const at = yield* now
  yield* (yield* Registry).admit(
    serverId,
    hearAnnouncement({ serverId, timestamp: at.wallNanos, ...said }, { now: at })
  )
})

const beat = Effect.fnUntraced(function* (serverId: PeerId, healthy: boolean) {
  const at = yield* now
  const message = { serverId, healthy, uptimeScore: healthy ? 1 : 0.5, timestamp: at.wallNanos }
  yield* (yield* Registry).admit(serverId, hearHeartbeat(message, { now: at }))
})

/** Lets every reader that can go on read all there is. */
const settle = Effect.repeat(Effect.yieldNow, { times: 40 })

/** A reader that reads only while its gate is open, from now on. */
const read = Effect.gen(function* () {
  const gate = yield* Latch.make(true)
  const told: Array<ServersEvent> = []
  const { changes } = yield* Servers
  const fiber = yield* Effect.forkScoped(
    Stream.runForEach(changes, (event) => gate.whenOpen(Effect.sync(() => void told.push(event)))),
    { startImmediately: true }
  )
  yield* settle
  return { gate, told, fiber }
})

/** Each server's state as the events add up to it; every `before` on the way is checked. */
const folded = (events: ReadonlyArray<ServersEvent>): ReadonlyMap<PeerId, Server> => {
  const servers = new Map<PeerId, Server>()
  for (const event of events) {
    if (event._tag === "Snapshot") {
      servers.clear()
      for (const server of event.servers) servers.set(server.serverId, server)
    } else if (event._tag === "Gone") {
      assert.isTrue(servers.delete(event.serverId), "only who was there can go")
    } else {
      assert.strictEqual(event.before, servers.get(event.server.serverId)?.state)
      servers.set(event.server.serverId, event.server)
    }
  }
  return servers
}

const heardOf = (servers: Iterable<Server>) =>
  Array.from(servers, ({ serverId, lastHeardMillis }) => [serverId, lastHeardMillis] as const).sort(([a], [b]) =>
    a < b ? -1 : 1
  )

/** What a change is known by: no two of a test have the same. Silence follows from time, and is left to the states. */
const nameOf = (cause: string, serverId: PeerId, lastHeardMillis: number | undefined) =>
  cause === "silent" ? [] : [`${cause} ${serverId} ${lastHeardMillis ?? ""}`]

const toldNames = (events: ReadonlyArray<ServersEvent>) =>
  events.flatMap((event) => {
    if (event._tag === "Snapshot") return []
    if (event._tag === "Gone") return nameOf(event.cause, event.serverId, undefined)
    return nameOf(event.cause, event.server.serverId, event.server.lastHeardMillis)
  })

/** The same of the registry's own changes, without servers that have not announced themselves. */
const happenedNames = (changes: ReadonlyArray<Change>) => {
  const announced = new Set<PeerId>()
  return changes.flatMap(({ cause, entry, serverId }) => {
    if (entry === undefined) return announced.delete(serverId) ? nameOf(cause, serverId, undefined) : []
    if (entry.announcement === undefined) return []
    announced.add(serverId)
    return nameOf(cause, serverId, entry.lastHeard.wallMillis)
  })
}

describe("the changes of the list", () => {
  it.effect.each([0, 1, 2])(
    "start with a snapshot, and lose and repeat nothing, however fast they are read (%i)",
    (offset) =>
      Effect.gen(function* () {
        const choose = random(seed + offset)
        const registry = yield* Registry
        const witness = yield* registry.subscribe
        const happened: Array<Change> = []
        const readers: Array<Effect.Success<typeof read> & { readonly since: number }> = []
        for (let step = 0; step < 300; step++) {
          yield* TestClock.adjust(choose.of([1, 1, 1_000, 60_000, 1_800_000, choose.chance(0.1) ? 30_000_000 : 7]))
          const server = peerIdOf(`server-${choose.below(9)}`)
          if (choose.chance(0.5)) yield* announce(server, { healthy: choose.chance(0.8) })
          else yield* beat(server, choose.chance(0.8))
          happened.push(...(yield* Queue.clear(witness.changes)))
          if (choose.chance(0.02)) readers.push({ ...(yield* read), since: happened.length })
          for (const { gate } of readers) if (choose.chance(0.2)) yield* choose.chance(0.5) ? gate.open : gate.close
        }
        yield* Effect.forEach(readers, ({ gate }) => gate.open)
        yield* settle
        yield* settle
        const believed = yield* (yield* Servers).known
        const all = happenedNames(happened)
        for (const { told, since } of readers) {
          assert.deepStrictEqual(
            told.map(({ _tag }) => _tag === "Snapshot"),
            told.map((_, index) => index === 0),
            `SEED=${seed}`
          )
          const expected = all.slice(happenedNames(happened.slice(0, since)).length)
          assert.deepStrictEqual(toldNames(told), expected, `SEED=${seed}`)
          assert.deepStrictEqual(heardOf(folded(told).values()), heardOf(believed), `SEED=${seed}`)
        }
      }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("come as a new snapshot to a reader that is 1 024 changes behind, and go on from there", () =>
    Effect.gen(function* () {
      yield* announce(alice)
      const { gate, told } = yield* read
      yield* gate.close
      for (let round = 0; round < 3_000; round++) {
        yield* TestClock.adjust(1)
        yield* beat(alice, true)
        if (round % 100 === 0) yield* settle
      }
      yield* announce(bob)
      yield* gate.open
      yield* settle
      const second = told.findLastIndex(({ _tag }) => _tag === "Snapshot")
      assert.strictEqual(told.filter(({ _tag }) => _tag === "Snapshot").length, 2)
      // What is told before the second snapshot is what happened first, without a gap.
      const before = toldNames(told.slice(0, second))
      assert.isAtMost(before.length, 1_025)
      assert.deepStrictEqual(
        before,
        before.map((_, index) => `heartbeat ${alice} ${index + 1}`)
      )
      const { known } = yield* Servers
      assert.deepStrictEqual(told.slice(second), [{ _tag: "Snapshot", servers: yield* known }])

      yield* TestClock.adjust(1)
      yield* beat(alice, false)
      yield* settle
      assert.deepStrictEqual(toldNames(told.slice(second)), [`heartbeat ${alice} 3001`])
      assert.deepStrictEqual(heardOf(folded(told).values()), heardOf(yield* known))
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("S15 R9 tell of silence, of the return, and of what is forgotten", () =>
    Effect.gen(function* () {
      const { told } = yield* read
      yield* announce(alice)
      yield* TestClock.adjust("2 hours")
      yield* TestClock.adjust("1 second")
      yield* beat(alice, true)
      yield* TestClock.adjust("25 hours")
      yield* settle
      const story = told.map((event): [string, ServerState | undefined, ServerState | undefined] => {
        if (event._tag === "Snapshot") return ["snapshot", undefined, undefined]
        return event._tag === "Gone"
          ? [event.cause, undefined, undefined]
          : [event.cause, event.before, event.server.state]
      })
      assert.deepStrictEqual(story, [
        ["snapshot", undefined, undefined],
        ["announced", undefined, "available"],
        ["silent", "available", "silent"],
        ["heartbeat", "silent", "available"],
        ["silent", "available", "silent"],
        ["forgotten", undefined, undefined]
      ])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("tell a late reader of silence once, for a state is told as it is now", () =>
    Effect.gen(function* () {
      const { gate, told } = yield* read
      yield* gate.close
      yield* announce(alice)
      yield* settle
      yield* TestClock.adjust(1)
      yield* beat(alice, true)
      yield* TestClock.adjust("3 hours")
      yield* gate.open
      yield* settle
      assert.deepStrictEqual(
        told.map((event) => (event._tag === "Changed" ? [event.cause, event.server.state] : [event._tag])),
        [["Snapshot"], ["announced", "available"], ["heartbeat", "silent"]]
      )
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("end when the server stops, for readers that wait and for readers that come later", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const inner = yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(layer)
          const started = yield* read.pipe(Effect.provideContext(context), Effect.provideService(Scope.Scope, scope))
          return { ...started, changes: (yield* Effect.provideContext(Servers, context)).changes }
        })
      )
      yield* Fiber.join(inner.fiber)
      assert.deepStrictEqual(inner.told, [{ _tag: "Snapshot", servers: [] }])
      assert.deepStrictEqual(yield* Stream.runCollect(inner.changes), [])
    }).pipe(Effect.scoped)
  )
})

describe("the list as an application reads it", () => {
  it.effect("S14 S17 has available servers in order, with the addresses that are known", () =>
    Effect.gen(function* () {
      yield* announce(alice, {
        uptimeScore: 0.5,
        region: "us-east",
        regions: ["us-east"],
        capabilities: ["translation"]
      })
      yield* announce(bob, { uptimeScore: 1 })
      const carol = peerIdOf("carol")
      yield* announce(carol, { healthy: false })
      yield* beat(peerIdOf("dave"), true)
      yield* TestClock.adjust(1_500)
      const servers = yield* Servers
      const ids = (list: ReadonlyArray<Server>) => list.map(({ serverId }) => serverId)
      assert.deepStrictEqual(ids(yield* servers.list()), [bob, alice])
      assert.deepStrictEqual(ids(yield* servers.list({ capability: "translation" })), [alice])
      assert.deepStrictEqual(ids(yield* servers.known), [bob, carol, alice])
      assert.deepStrictEqual(yield* servers.find(alice), Option.some((yield* servers.list({ region: "us-east" }))[0]))
      assert.deepStrictEqual(yield* servers.find(peerIdOf("dave")), Option.none())
      assert.deepStrictEqual(
        Option.map(yield* servers.find(bob), ({ addresses, ageMillis, state }) => ({ addresses, ageMillis, state })),
        Option.some({ addresses: ["/ip4/127.0.0.1/tcp/4001"], ageMillis: 1_500, state: "available" as const })
      )
      assert.deepStrictEqual(yield* servers.why(carol), { state: "unhealthy", sinceMillis: 0 })
      assert.deepStrictEqual(yield* servers.why(peerIdOf("nobody")), { state: "unknown" })
    }).pipe(Effect.provide(layer))
  )

  it.effect("R20 picks one of the available that match, the same for the same key", () =>
    Effect.gen(function* () {
      yield* announce(alice, { capabilities: ["translation"] })
      yield* announce(bob, { capabilities: [] })
      const { pick } = yield* Servers
      const picks = (filter?: Filter) =>
        Effect.map(
          Effect.forEach(Array(50).keys(), (key) => pick(String(key), filter)),
          (picked) => picked.map((one) => Option.getOrThrow(one).serverId)
        )
      const picked = yield* picks()
      assert.deepStrictEqual(new Set(picked), new Set([alice, bob]))
      assert.deepStrictEqual(yield* picks(), picked)
      assert.deepStrictEqual(new Set(yield* picks({ capability: "translation" })), new Set([alice]))
      assert.deepStrictEqual(yield* pick("1", { capability: "cheese" }), Option.none())
    }).pipe(Effect.provide(layer))
  )
})
