import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Fiber, Layer, Option, Result } from "effect"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import { TestClock } from "effect/testing"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { SelfCheck, type SelfCheckRecord } from "../../src/health/SelfCheck.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import { Intake } from "../../src/registry/Intake.ts"
import { ageMillis, available } from "../../src/registry/Query.ts"
import { Registry } from "../../src/registry/Registry.ts"
import { KeptChecks } from "../../src/storage/KeptChecks.ts"
import { type KeptMessage, type KeptServer, KeptServers, type KeptTimestamps } from "../../src/storage/KeptServers.ts"
import * as Restore from "../../src/storage/Restore.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { now } from "../../src/time/Now.ts"
import {
  alice,
  announcement,
  bob,
  carol,
  hearAnnouncement,
  hour,
  minute,
  self,
  startMillis,
  wall
} from "../registry/Sample.ts"
import { capture, type Line } from "./Fixtures.ts"
import { announced, beaten, believing, kept, verified } from "./KeptWords.ts"

const away = new SqlError({
  reason: new ConnectionError({ cause: new Error("connect ECONNREFUSED 127.0.0.1:5432"), message: "Failed to connect" })
})

const check = (number: number): SelfCheckRecord => ({
  startedWallMillis: startMillis + number * 5 * minute,
  durationMillis: 1,
  ok: number % 2 === 0,
  errorClass: undefined
})

interface Store {
  servers: ReadonlyArray<KeptServer>
  evicted: ReadonlyArray<KeptTimestamps>
  checks: ReadonlyArray<SelfCheckRecord>
  /** What the database makes of a query. */
  answer: Effect.Effect<void, SqlError>
}

/** Starts a server, on what is kept, so many milliseconds after what is kept was. */
const start = Effect.fnUntraced(function* (millis: number, store: Partial<Store>) {
  yield* TestClock.setTime(startMillis + millis)
  const lines: Array<Line> = []
  const asked: Array<readonly [string, ...ReadonlyArray<number>]> = []
  const it: Store = { servers: [], evicted: [], checks: [], answer: Effect.void, ...store }
  const query = <A>(answer: () => A) => Effect.suspend(() => Effect.map(it.answer, answer))
  const keptServers = Layer.mock(KeptServers, {
    load: (sinceMillis, most) => {
      asked.push(["load", sinceMillis, most])
      return query(() => it.servers)
    },
    loadEvicted: () => query(() => it.evicted),
    forgetBefore: (beforeMillis) => query(() => void asked.push(["forgetBefore", beforeMillis]))
  })
  const checks = Layer.mock(KeptChecks, { load: query(() => it.checks) })
  const running = yield* Layer.build(Layer.mergeAll(believing(self), keptServers, checks, capture(lines)))
  const registry = Context.get(running, Registry)
  return {
    store: it,
    lines: () => lines.filter(({ level }) => level !== "Debug"),
    asked,
    registry,
    addressBook: Context.get(running, Gossip).addressBook,
    intake: Context.get(running, Intake),
    selfCheck: Context.get(running, SelfCheck),
    /** What a start waits for. */
    restore: Layer.build(Restore.layer).pipe(Effect.provide(running)),
    listed: Effect.gen(function* () {
      const entries = available(yield* registry.entries, yield* now)
      return entries.map(({ serverId }) => serverId)
    })
  }
})

describe("what was kept is believed again", () => {
  it.effect("B05 R14 E01 a server heard half an hour ago is listed at once, heard when it was heard", () =>
    Effect.gen(function* () {
      const { addressBook, asked, lines, listed, registry, restore } = yield* start(30 * minute, {
        servers: [kept(alice, { firstHeardMillis: startMillis - hour, addresses: ["/ip4/192.0.2.1/tcp/1"] })]
      })
      yield* restore
      assert.deepStrictEqual(yield* listed, [alice])
      assert.deepStrictEqual([...(yield* addressBook)], [[alice, ["/ip4/192.0.2.1/tcp/1"]]])
      const at = yield* now
      const entry = Option.getOrThrow(yield* registry.find(alice))
      assert.strictEqual(ageMillis(entry, at), 30 * minute)
      assert.deepStrictEqual(entry.lastHeard, { wallMillis: startMillis, steadyMillis: at.steadyMillis - 30 * minute })
      assert.strictEqual(entry.firstHeard.wallMillis, startMillis - hour)
      assert.isTrue(entry.restored)
      assert.deepStrictEqual(asked, [
        ["load", startMillis + 30 * minute - 24 * hour, 1_000],
        ["forgetBefore", startMillis + 30 * minute - 24 * hour]
      ])
      assert.deepStrictEqual(lines(), [
        {
          level: "Info",
          message: "restored what was kept",
          annotations: { servers: 1, refused: 0, checks: 0, duration_ms: 0 }
        }
      ])
    })
  )

  it.effect("S15 R14 is listed for two hours since it was heard, and not a step longer", () =>
    Effect.gen(function* () {
      const { listed, restore } = yield* start(30 * minute, { servers: [kept(alice)] })
      yield* restore
      yield* TestClock.adjust(90 * minute)
      assert.deepStrictEqual(yield* listed, [alice])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* listed, [])
    })
  )

  it.effect("B05 R9 R14 a server that was silent for three hours keeps its description and is not listed", () =>
    Effect.gen(function* () {
      const { listed, registry, restore } = yield* start(3 * hour, { servers: [kept(alice)] })
      yield* restore
      assert.deepStrictEqual(yield* listed, [])
      const entry = Option.getOrThrow(yield* registry.find(alice))
      assert.deepStrictEqual(entry.announcement?.message, announcement())
    })
  )

  it.effect("R8 R14 with both of its last messages: the newer verdict decides", () =>
    Effect.gen(function* () {
      const { listed, registry, restore } = yield* start(10 * minute, {
        servers: [
          kept(alice, { heartbeat: beaten({ healthy: false, timestamp: wall(5 * minute) }) }),
          kept(bob, { heartbeat: beaten({ serverId: bob, uptimeScore: 0.5, timestamp: wall(5 * minute) }) })
        ]
      })
      yield* restore
      assert.deepStrictEqual(yield* listed, [bob])
      assert.strictEqual((yield* registry.entries).length, 2)
    })
  )

  it.effect("R7 R14 a message played again after a restart refreshes nothing", () =>
    Effect.gen(function* () {
      const server = kept(alice, { heartbeat: beaten({ healthy: false, timestamp: wall(5 * minute) }) })
      const { intake, listed, restore } = yield* start(10 * minute, { servers: [server] })
      yield* restore
      const replayed = [server.announcement, server.heartbeat, beaten({ timestamp: wall(4 * minute) })]
      for (const message of replayed) {
        const received = yield* verified(message?.signed ?? new Uint8Array())
        const outcome = yield* intake.consider({ ...received, neighbour: bob }, { kind: "topic" })
        assert.strictEqual(outcome._tag === "Failure" && outcome.failure.reason, "repeated")
      }
      assert.deepStrictEqual(yield* listed, [])
    })
  )

  it.effect("R7 R14 R19 a server that was evicted is not, and none of its old words counts", () =>
    Effect.gen(function* () {
      const evicted = [
        { serverId: alice, announcementTimestamp: wall(0), heartbeatTimestamp: wall(5 * minute) },
        { serverId: bob, announcementTimestamp: wall(0), heartbeatTimestamp: undefined }
      ]
      const { intake, listed, registry, restore } = yield* start(10 * minute, { evicted })
      yield* restore
      assert.deepStrictEqual(yield* registry.entries, [])
      const hear = Effect.fnUntraced(function* (message: KeptMessage) {
        const received = yield* verified(message.signed)
        const outcome = yield* intake.consider({ ...received, neighbour: carol }, { kind: "topic" })
        return Result.isFailure(outcome) ? outcome.failure.reason : "accepted"
      })
      assert.strictEqual(yield* hear(announced()), "repeated")
      assert.strictEqual(yield* hear(beaten({ timestamp: wall(5 * minute) })), "repeated")
      assert.strictEqual(yield* hear(announced({ serverId: bob })), "repeated")
      assert.strictEqual(yield* hear(announced({ timestamp: wall(6 * minute) })), "accepted")
      assert.deepStrictEqual(yield* listed, [alice])
    })
  )

  it.effect(
    "R7 R14 R19 a server for which there is no room is not, and none of its old words counts once there is",
    () =>
      Effect.gen(function* () {
        const old = announced({ timestamp: wall(0) })
        const last = beaten({ healthy: false, timestamp: wall(minute) })
        const { intake, listed, registry, restore } = yield* start(10 * minute, {
          servers: [
            kept(alice, { announcement: announced({ healthy: false, timestamp: wall(30_000) }), heartbeat: last })
          ]
        })
        const hear = Effect.fnUntraced(function* (serverId: PeerId, healthy: boolean) {
          const at = yield* now
          const said = { serverId, healthy, timestamp: at.wallNanos + (healthy ? 0n : 1n) }
          return Result.isSuccess(yield* registry.admit(serverId, hearAnnouncement(said, { now: at })))
        })
        // What is known meanwhile fills the registry.
        for (let number = 0; number < 1_000; number++) assert.isTrue(yield* hear(peerIdOf(number), true))
        yield* restore
        assert.strictEqual((yield* listed).length, 1_000)
        assert.isTrue(yield* hear(peerIdOf(0), false))
        for (const { signed } of [old, beaten({ timestamp: wall(20_000) })]) {
          const outcome = yield* intake.consider({ ...(yield* verified(signed)), neighbour: bob }, { kind: "topic" })
          assert.strictEqual(Result.isFailure(outcome) && outcome.failure.reason, "repeated")
        }
        assert.deepStrictEqual(yield* registry.find(alice), Option.none())
      })
  )

  it.effect("R6 R14 a moment that this server's clock has not reached is now, and never later", () =>
    Effect.gen(function* () {
      const { registry, restore } = yield* start(0, {
        servers: [kept(alice, { lastHeardMillis: startMillis + hour, firstHeardMillis: startMillis + hour })]
      })
      yield* restore
      const at = yield* now
      const entry = Option.getOrThrow(yield* registry.find(alice))
      assert.deepStrictEqual(entry.lastHeard, { wallMillis: startMillis, steadyMillis: at.steadyMillis })
      assert.deepStrictEqual(entry.firstHeard, entry.lastHeard)
    })
  )

  it.effect("R14 whose bytes were altered is not, and the others are", () =>
    Effect.gen(function* () {
      const altered = announced().signed.slice()
      altered[altered.length - 3] = 0x20
      const { lines, listed, registry, restore } = yield* start(minute, {
        servers: [
          kept(alice, { announcement: { signed: altered, timestamp: wall(0) } }),
          kept(bob, { announcement: { signed: new Uint8Array(), timestamp: wall(0) } }),
          // Signed by bob, kept as carol's: whose words they are is what the signature says.
          kept(carol, { announcement: announced({ serverId: carol }), heartbeat: beaten({ serverId: alice }) })
        ]
      })
      yield* restore
      assert.deepStrictEqual(yield* listed, [carol])
      assert.strictEqual(Option.getOrThrow(yield* registry.find(alice)).announcement, undefined)
      assert.deepStrictEqual(lines().at(-1)?.annotations, { servers: 1, refused: 2, checks: 0, duration_ms: 0 })
    })
  )

  it.effect("S10 S11 R14 the self-checks of earlier runs count into the score of the first", () =>
    Effect.gen(function* () {
      const checks = Array.from({ length: 9 }, (_, number) => check(number))
      const { restore, selfCheck } = yield* start(hour, { checks })
      yield* restore
      yield* selfCheck.run
      assert.deepStrictEqual((yield* selfCheck.history).slice(0, 9), checks)
      assert.deepStrictEqual(yield* selfCheck.score, { score: 0.6, checks: 10 })
    })
  )
})

describe("a database that is away at the start", () => {
  it.effect("R14 delays nothing when it refuses connections, and what was kept comes back when it does", () =>
    Effect.gen(function* () {
      const running = yield* start(minute, {
        answer: Effect.fail(away),
        servers: [kept(alice), kept(bob)],
        checks: [check(-2), check(-1)]
      })
      const { intake, lines, listed, registry, restore, selfCheck, store } = running
      const [took] = yield* Effect.timed(restore)
      assert.strictEqual(Duration.toMillis(took), 0)
      assert.deepStrictEqual(lines(), [
        {
          level: "Warn",
          message: "failed to restore what was kept",
          annotations: { error: "Failed to connect: connect ECONNREFUSED 127.0.0.1:5432" }
        }
      ])
      // Meanwhile it lives: a check of its own, and newer words of one of them, which are not undone.
      const own = (yield* selfCheck.run).record
      const live = yield* verified(announced({ healthy: false, timestamp: wall(minute) }).signed)
      yield* intake.consider({ ...live, neighbour: bob }, { kind: "topic" })
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(lines().length, 1)
      store.answer = Effect.void
      // The check that was made meanwhile may have been kept before the others are asked for.
      store.checks = [...store.checks, own]
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* listed, [bob])
      const entry = Option.getOrThrow(yield* registry.find(alice))
      assert.strictEqual(entry.announcement?.message.timestamp, wall(minute))
      assert.isFalse(entry.restored)
      assert.deepStrictEqual(yield* selfCheck.history, [check(-2), check(-1), own])
      assert.deepStrictEqual(lines().at(-1)?.message, "restored what was kept")
    })
  )

  it.effect("R14 G02 delays the start by 2 seconds when it hangs, and what was kept comes back behind it", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { listed, restore, store } = yield* start(minute, {
        answer: Effect.never,
        servers: [kept(alice)]
      })
      const starting = yield* Effect.forkChild(Effect.timed(restore))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(Duration.toMillis((yield* Fiber.join(starting))[0]), 2_000)
      assert.deepStrictEqual(yield* listed, [])
      store.answer = Deferred.await(gate)
      yield* TestClock.adjust("30 seconds")
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* listed, [alice])
    })
  )
})
