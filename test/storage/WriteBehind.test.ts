import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Exit, Fiber, Layer, Queue, Result, Scope } from "effect"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import { TestClock } from "effect/testing"
import { Settings } from "../../src/config/Settings.ts"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { SelfCheck, type SelfCheckRecord } from "../../src/health/SelfCheck.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import type { Known } from "../../src/registry/Known.ts"
import { Registry } from "../../src/registry/Registry.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { KeptChecks } from "../../src/storage/KeptChecks.ts"
import { KeptServers } from "../../src/storage/KeptServers.ts"
import { WriteBehind } from "../../src/storage/WriteBehind.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import { alice, bob, hearAnnouncement, hearHeartbeat, known, server, wall } from "../registry/Sample.ts"
import { capture, type Line } from "./Fixtures.ts"

/** One thing that was written, and the second of the test's clock in which it was. */
type Written =
  | { readonly second: number; readonly servers: ReadonlyArray<readonly [PeerId, bigint | undefined]> }
  | { readonly second: number; readonly evicted: ReadonlyArray<PeerId> }
  | { readonly second: number; readonly forgotten: ReadonlyArray<PeerId> }
  | { readonly second: number; readonly checks: ReadonlyArray<SelfCheckRecord> }

type Mood = "well" | "away" | "hung"

const away = new SqlError({
  reason: new ConnectionError({ cause: new Error("connect ECONNREFUSED 127.0.0.1:5432"), message: "Failed to connect" })
})

const check = (number: number): SelfCheckRecord => ({
  startedWallMillis: number,
  durationMillis: 1,
  ok: false,
  errorClass: "postgres: refused"
})

/** A registry and self-checks that a test moves, and a database that records what is written, in the mood it is told. */
const setUp = Effect.fnUntraced(function* (maxServers = 1_000, room = 10_000) {
  const written: Array<Written> = []
  const addressBook = new Map<PeerId, ReadonlyArray<string>>()
  const addresses: Array<ReadonlyArray<string>> = []
  const lines: Array<Line> = []
  const checks = yield* Queue.unbounded<SelfCheckRecord>()
  const database: { mood: Mood } = { mood: "well" }
  const record = (what: (second: number) => Written): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      if (database.mood === "hung") return yield* Effect.never
      if (database.mood === "away") return yield* away
      written.push(what((yield* Clock.currentTimeMillis) / 1_000))
    })
  const keptServers = Layer.mock(KeptServers, {
    write: (servers) =>
      servers.length === 0
        ? Effect.void
        : record((second) => {
            addresses.push(...servers.map((kept) => kept.addresses))
            return {
              second,
              servers: servers.map((kept) => [kept.serverId, kept.heartbeat?.timestamp ?? kept.announcement?.timestamp])
            }
          }),
    evict: (evicted) => (evicted.length === 0 ? Effect.void : record((second) => ({ second, evicted }))),
    forget: (forgotten) => (forgotten.length === 0 ? Effect.void : record((second) => ({ second, forgotten })))
  })
  const keptChecks = Layer.mock(KeptChecks, {
    write: (made) => (made.length === 0 ? Effect.void : record((second) => ({ second, checks: made })))
  })
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(
    WriteBehind.layer.pipe(
      Layer.provideMerge(RegistryMemory.layerBounded(room)),
      Layer.provide([keptServers, keptChecks, Layer.mock(SelfCheck, { recorded: Effect.succeed(checks) })]),
      Layer.provide(Layer.mock(Gossip, { self: peerIdOf("self"), addressBook: Effect.succeed(addressBook) })),
      Layer.provide(Layer.succeed(Settings, VirtualSettings.make({ maxServers }))),
      Layer.provideMerge(capture(lines))
    ),
    scope
  )
  const registry = Context.get(context, Registry)
  return {
    written,
    addressBook,
    addresses,
    lines,
    database,
    checks,
    status: Context.get(context, WriteBehind).status,
    know: (entry: Known) => registry.admit(entry.serverId, () => Result.succeed(entry)),
    stop: Scope.close(scope, Exit.void)
  }
})

/** What is known of a server after a heartbeat so many milliseconds from the start. */
const heard = (serverId: PeerId, millis: number) =>
  known(() => Result.succeed(server(serverId)), hearHeartbeat({ serverId, timestamp: wall(millis) }))

const ill = (serverId: PeerId) => known(hearAnnouncement({ serverId, healthy: false }))

describe("what is known is written behind", () => {
  it.effect(
    "R14 in one batch a second at most, with the newest of each server, and nothing while nothing changes",
    () =>
      Effect.gen(function* () {
        const { know, written, status } = yield* setUp()
        yield* know(server(alice))
        yield* know(heard(alice, 1))
        yield* know(server(bob))
        yield* TestClock.adjust("999 millis")
        assert.deepStrictEqual(written, [])
        assert.deepStrictEqual(yield* status, { writes: 0, failures: 0, pending: 2, dropped: 0, lagMillis: 999 })
        yield* TestClock.adjust("1 millis")
        yield* know(heard(alice, 2))
        yield* know(heard(alice, 3))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(written, [
          {
            second: 1,
            servers: [
              [alice, wall(1)],
              [bob, wall(0)]
            ]
          },
          { second: 2, servers: [[alice, wall(3)]] }
        ])
        assert.deepStrictEqual(yield* status, { writes: 2, failures: 0, pending: 0, dropped: 0, lagMillis: 0 })
      })
  )

  it.effect("R15 with the addresses that are known when it is written", () =>
    Effect.gen(function* () {
      const { addressBook, addresses, know } = yield* setUp()
      yield* know(server(alice))
      yield* know(server(bob))
      addressBook.set(alice, ["/ip4/192.0.2.1/tcp/1"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(addresses, [["/ip4/192.0.2.1/tcp/1"], []])
    })
  )

  it.effect("R14 self-checks beside it, those that failed because of the database itself when it is back", () =>
    Effect.gen(function* () {
      const { checks, database, know, lines, status, written } = yield* setUp()
      database.mood = "away"
      yield* know(server(alice))
      yield* Queue.offer(checks, check(1))
      yield* TestClock.adjust("8 seconds")
      yield* Queue.offer(checks, check(2))
      yield* know(heard(alice, 5))
      yield* TestClock.adjust("52 seconds")
      assert.deepStrictEqual(written, [])
      // After 1, 3, 7 and 15 seconds, and every 10 from then on.
      assert.deepStrictEqual(yield* status, { writes: 0, failures: 8, pending: 3, dropped: 0, lagMillis: 60_000 })
      database.mood = "well"
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(written, [
        { second: 65, checks: [check(1), check(2)] },
        { second: 65, servers: [[alice, wall(5)]] }
      ])
      assert.deepStrictEqual(lines, [
        {
          level: "Warn",
          message: "failed to keep what is known",
          annotations: { error: "Failed to connect: connect ECONNREFUSED 127.0.0.1:5432", pending: 2 }
        },
        { level: "Info", message: "keeping what is known again", annotations: { pending: 0 } }
      ])
    })
  )

  it.effect("R14 and says how long the oldest waits, be it a server or a self-check", () =>
    Effect.gen(function* () {
      const { checks, database, know, status } = yield* setUp()
      const lag = Effect.map(status, ({ lagMillis }) => lagMillis)
      database.mood = "away"
      yield* TestClock.adjust("5 seconds")
      yield* Queue.offer(checks, check(1))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* lag, 60_000)
      yield* know(server(alice))
      yield* Queue.offer(checks, check(2))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* lag, 120_000)
      database.mood = "well"
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* lag, 0)
      database.mood = "away"
      yield* know(server(bob))
      yield* TestClock.adjust("1 minute")
      yield* Queue.offer(checks, check(3))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* lag, 120_000)
    })
  )

  it.effect("R16 a database that hangs costs 10 seconds and is tried again", () =>
    Effect.gen(function* () {
      const { database, know, status, written } = yield* setUp()
      database.mood = "hung"
      yield* know(server(alice))
      yield* TestClock.adjust("10999 millis")
      assert.strictEqual((yield* status).failures, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* status).failures, 1)
      database.mood = "well"
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(written, [{ second: 13, servers: [[alice, wall(0)]] }])
    })
  )

  it.effect("what changes while a batch is written is written with the next", () =>
    Effect.gen(function* () {
      const { database, know, written } = yield* setUp()
      yield* know(server(alice))
      database.mood = "hung"
      yield* TestClock.adjust("5 seconds")
      yield* know(heard(alice, 9))
      database.mood = "well"
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(written, [{ second: 13, servers: [[alice, wall(9)]] }])
    })
  )

  it.effect("R19 the oldest change is given up when more servers wait than the registry may hold", () =>
    Effect.gen(function* () {
      const { database, know, status, written } = yield* setUp(3)
      database.mood = "away"
      const ids = Array.from({ length: 5 }, (_, number) => peerIdOf(number))
      for (const id of ids) yield* know(server(id))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* status).pending, 3)
      assert.strictEqual((yield* status).dropped, 2)
      database.mood = "well"
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(written, [{ second: 3, servers: ids.slice(2).map((id) => [id, wall(0)] as const) }])
    })
  )

  it.effect("R14 in batches of 500, one a second, even of more changes at once than a reader may fall behind", () =>
    Effect.gen(function* () {
      const { know, written } = yield* setUp(10_000)
      const ids = Array.from({ length: 2_600 }, (_, number) => peerIdOf(number))
      // In one step, so that nobody reads meanwhile.
      Effect.runSync(Effect.forEach(ids, (id) => know(server(id))))
      yield* TestClock.adjust("10 seconds")
      const batches = written.map((batch) => ("servers" in batch ? [batch.second, batch.servers.length] : []))
      assert.deepStrictEqual(
        batches.map(([second]) => second),
        batches.map((_, index) => index + 1)
      )
      for (const [, size] of batches) assert.isAtMost(size ?? 0, 500)
      const all = written.flatMap((batch) => ("servers" in batch ? batch.servers.map(([id]) => id) : []))
      assert.deepStrictEqual([...new Set(all)].sort(), [...ids].sort())
    })
  )

  it.effect(
    "R9 R14 a server that is forgotten is forgotten there, and one that falls silent is not written again",
    () =>
      Effect.gen(function* () {
        const { know, written } = yield* setUp()
        const almostTwoHours = 7_195_000
        const almostADay = 86_395_000
        yield* know({ ...server(alice), lastHeard: { wallMillis: 0, steadyMillis: -almostTwoHours } })
        yield* know({ ...server(bob), lastHeard: { wallMillis: 0, steadyMillis: -almostADay } })
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(
          written.map((batch) => ("forgotten" in batch ? batch.forgotten : "servers" in batch && batch.servers)),
          [
            [
              [alice, wall(0)],
              [bob, wall(0)]
            ],
            [bob]
          ]
        )
      })
  )

  it.effect("R7 R14 R19 a server that is evicted is written as it last was, and marked", () =>
    Effect.gen(function* () {
      const { database, know, written } = yield* setUp(1_000, 1)
      yield* know(ill(alice))
      yield* TestClock.adjust("1 second")
      yield* know(server(bob))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(written, [
        { second: 1, servers: [[alice, wall(0)]] },
        { second: 2, servers: [[bob, wall(0)]] },
        { second: 2, evicted: [alice] }
      ])
      // One that came, changed and went while the database was away.
      database.mood = "away"
      yield* know(ill(bob))
      yield* know(server(alice))
      database.mood = "well"
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(written.slice(3), [
        {
          second: 3,
          servers: [
            [bob, wall(0)],
            [alice, wall(0)]
          ]
        },
        { second: 3, evicted: [bob] }
      ])
    })
  )

  it.effect("R14 what happened up to a stop is written before it ends", () =>
    Effect.gen(function* () {
      const { checks, know, stop, written } = yield* setUp()
      yield* TestClock.adjust("100 millis")
      yield* know(server(alice))
      yield* Queue.offer(checks, check(1))
      yield* stop
      assert.deepStrictEqual(written, [
        { second: 0.1, checks: [check(1)] },
        { second: 0.1, servers: [[alice, wall(0)]] }
      ])
    })
  )

  it.effect.each(["away", "hung"] as const)("N01 a database that is %s holds up a stop for a second at most", (mood) =>
    Effect.gen(function* () {
      const { database, know, lines, stop } = yield* setUp()
      yield* know(server(alice))
      database.mood = mood
      yield* TestClock.adjust("1500 millis")
      const stopping = yield* Effect.forkChild(Effect.timed(stop))
      yield* TestClock.adjust("1 second")
      const [took] = yield* Fiber.join(stopping)
      assert.isAtMost(Duration.toMillis(took), 1_000)
      assert.deepStrictEqual(lines.at(-1), {
        level: "Warn",
        message: "stopped before all was kept",
        annotations: { pending: 1 }
      })
      assert.strictEqual(lines.length, mood === "away" ? 2 : 1)
    })
  )
})
