/** What holds of the database and of what is kept in it, whichever database it is. */
import { assert, layer } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { SelfCheck, type SelfCheckRecord } from "../../src/health/SelfCheck.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import { Intake } from "../../src/registry/Intake.ts"
import { available } from "../../src/registry/Query.ts"
import { Registry } from "../../src/registry/Registry.ts"
import { Database } from "../../src/storage/Database.ts"
import { KeptChecks } from "../../src/storage/KeptChecks.ts"
import * as KeptChecksSql from "../../src/storage/KeptChecksSql.ts"
import { type KeptServer, KeptServers } from "../../src/storage/KeptServers.ts"
import * as KeptServersSql from "../../src/storage/KeptServersSql.ts"
import { migrate, Tables } from "../../src/storage/Migrations.ts"
import * as Restore from "../../src/storage/Restore.ts"
import { WriteBehind } from "../../src/storage/WriteBehind.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { now } from "../../src/time/Now.ts"
import { announced, beaten, believing, verified } from "./KeptWords.ts"

const bytes = (...values: ReadonlyArray<number>) => Uint8Array.of(...values)

const kept = (name: string | number, more: Partial<KeptServer> = {}): KeptServer => ({
  serverId: peerIdOf(name),
  announcement: { signed: bytes(1, 2, 3), timestamp: 1_790_000_000_123_456_789n },
  heartbeat: { signed: bytes(4, 5, 6), timestamp: 1_790_000_300_123_456_789n },
  firstHeardMillis: 1_790_000_000_000,
  lastHeardMillis: 1_790_000_300_000,
  addresses: [],
  ...more
})

const check = (number: number, more: Partial<SelfCheckRecord> = {}): SelfCheckRecord => ({
  startedWallMillis: 1_790_000_000_000 + number * 300_000,
  durationMillis: 1.25,
  ok: true,
  errorClass: undefined,
  ...more
})

const always = [0, 100_000] as const

const crowd = () => {
  const signed = new Uint8Array(700).fill(7)
  return Array.from({ length: 50_000 }, (_, number) =>
    kept(number, { announcement: { signed, timestamp: BigInt(number) }, lastHeardMillis: number })
  )
}

let owners = 0
/** What one server keeps: another for each call unless it is named. */
const keeping = (owner: PeerId = peerIdOf(`owner-${owners++}`)) => {
  const gossip = Layer.mock(Gossip, { self: owner })
  return Layer.mergeAll(KeptServersSql.layer, KeptChecksSql.layer).pipe(Layer.provide([Tables.layer, gossip]))
}

export const suite = (name: string, database: Layer.Layer<Database, unknown>) =>
  layer(database.pipe(Layer.orDie), { excludeTestServices: true })(name, (it) => {
    it.effect("answers a ping", () => Effect.flatMap(Database, ({ ping }) => ping))

    it.effect("has its tables, and leaves them alone when it is brought up to date again", () =>
      Effect.gen(function* () {
        const { sql } = yield* Database
        yield* Effect.all([migrate(sql), migrate(sql), migrate(sql)], { concurrency: 3 })
        assert.deepStrictEqual(yield* sql`SELECT migration_id, name FROM discovery_migrations`, [
          { migration_id: 1, name: "keep" },
          { migration_id: 2, name: "addresses" },
          { migration_id: 3, name: "evicted" }
        ])
      })
    )

    it.effect("runs transactions of many fibers beside each other without mixing them", () =>
      Effect.gen(function* () {
        const { sql } = yield* Database
        yield* sql`CREATE TABLE counter (value integer NOT NULL)`
        yield* sql`INSERT INTO counter VALUES (0)`
        const add = sql.withTransaction(
          Effect.gen(function* () {
            const [row] = yield* sql<{ value: number }>`SELECT value FROM counter FOR UPDATE`
            yield* sql`UPDATE counter SET value = ${(row?.value ?? 0) + 1}`
          })
        )
        yield* Effect.replicateEffect(add, 40, { concurrency: 10 })
        assert.deepStrictEqual(yield* sql`SELECT value FROM counter`, [{ value: 40 }])
      })
    )

    it.effect("undoes a transaction that is interrupted, and one that fails", () =>
      Effect.gen(function* () {
        const { sql } = yield* Database
        yield* sql`CREATE TABLE undone (value integer NOT NULL)`
        const written = yield* Deferred.make<void>()
        const unfinished = sql.withTransaction(
          sql`INSERT INTO undone VALUES (1)`.pipe(
            Effect.andThen(Deferred.succeed(written, undefined)),
            Effect.andThen(Effect.never)
          )
        )
        const fiber = yield* Effect.forkChild(unfinished)
        yield* Deferred.await(written)
        yield* Fiber.interrupt(fiber)
        yield* Effect.flip(sql.withTransaction(Effect.andThen(sql`INSERT INTO undone VALUES (2)`, Effect.fail("no"))))
        assert.deepStrictEqual(yield* sql`SELECT value FROM undone`, [])
      })
    )

    it.effect("goes on after a statement that it refuses", () =>
      Effect.gen(function* () {
        const { sql, ping } = yield* Database
        const error = yield* Effect.flip(sql`SELECT nothing FROM nowhere`)
        assert.strictEqual(error.reason._tag, "SqlSyntaxError")
        yield* ping
      })
    )

    it.effect("R14 gives back each server as it was kept, those heard last first", () =>
      Effect.gen(function* () {
        const keep = yield* KeptServers
        const servers = [
          kept("a", {
            lastHeardMillis: 1_790_000_300_003.5,
            addresses: ["/ip4/192.0.2.1/tcp/1/p2p/a", "/dns4/example.org/tcp/2/wss/p2p/a"]
          }),
          kept("b", { announcement: undefined, lastHeardMillis: 1_790_000_300_002 }),
          kept("c", { heartbeat: undefined, lastHeardMillis: 1_790_000_300_001 })
        ]
        yield* keep.write(servers)
        assert.deepStrictEqual(yield* keep.load(...always), servers)
        assert.deepStrictEqual(yield* keep.load(1_790_000_300_002, 100), servers.slice(0, 2))
        assert.deepStrictEqual(yield* keep.load(0, 1), servers.slice(0, 1))
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("R7 R14 keeps the newest message of each topic, in whatever order they are written", () =>
      Effect.gen(function* () {
        const keep = yield* KeptServers
        const words = (timestamp: bigint) => ({ signed: bytes(Number(timestamp)), timestamp })
        yield* keep.write([kept("a", { announcement: words(5n), heartbeat: undefined, firstHeardMillis: 50 })])
        yield* keep.write([kept("a", { announcement: words(4n), heartbeat: words(7n), firstHeardMillis: 40 })])
        yield* keep.write([kept("a", { announcement: undefined, heartbeat: words(6n), lastHeardMillis: 9 })])
        yield* keep.write([kept("a", { announcement: words(5n), heartbeat: words(7n), lastHeardMillis: 9 })])
        const first = kept("a", { announcement: words(5n), heartbeat: words(7n), firstHeardMillis: 40 })
        assert.deepStrictEqual(yield* keep.load(...always), [first])
        yield* keep.write([kept("a", { announcement: words(8n), heartbeat: words(7n), lastHeardMillis: 99 })])
        const last = kept("a", {
          announcement: words(8n),
          heartbeat: words(7n),
          firstHeardMillis: 40,
          lastHeardMillis: 99
        })
        assert.deepStrictEqual(yield* keep.load(...always), [last])
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("R15 keeps the addresses that a server told last, until it tells others", () =>
      Effect.gen(function* () {
        const keep = yield* KeptServers
        const at = (timestamp: bigint, addresses: ReadonlyArray<string>) =>
          kept("a", { heartbeat: { signed: bytes(1), timestamp }, addresses })
        const addresses = Effect.map(keep.load(...always), (servers) => servers.map((server) => server.addresses))
        yield* keep.write([at(1n, ["/ip4/192.0.2.1/tcp/1"])])
        yield* keep.write([at(2n, [])])
        assert.deepStrictEqual(yield* addresses, [["/ip4/192.0.2.1/tcp/1"]])
        yield* keep.write([at(3n, ["/ip4/192.0.2.2/tcp/2"])])
        assert.deepStrictEqual(yield* addresses, [["/ip4/192.0.2.2/tcp/2"]])
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("R8 F01 R14 keeps of two messages of the same moment the one that is believed", () =>
      Effect.gen(function* () {
        const keep = yield* KeptServers
        const [first, last] = [1, 2].map((byte) => ({ signed: bytes(byte), timestamp: 5n }))
        yield* keep.write([kept("a", { announcement: first, heartbeat: first, lastHeardMillis: 1 })])
        yield* keep.write([kept("a", { announcement: first, heartbeat: last, lastHeardMillis: 2 })])
        assert.deepStrictEqual(yield* keep.load(...always), [
          kept("a", { announcement: first, heartbeat: last, lastHeardMillis: 2 })
        ])
        const believed = kept("a", { announcement: last, heartbeat: last, lastHeardMillis: 3 })
        yield* keep.write([believed])
        assert.deepStrictEqual(yield* keep.load(...always), [believed])
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("R7 R14 R19 keeps the timestamps of those that were evicted, until they are heard again", () =>
      Effect.gen(function* () {
        const keep = yield* KeptServers
        const [a, b, c] = ["a", "b", "c"].map((name, at) => kept(name, { lastHeardMillis: 3 - at })) as [
          KeptServer,
          KeptServer,
          KeptServer
        ]
        yield* keep.write([a, b, { ...c, heartbeat: undefined }])
        yield* keep.evict([a.serverId, c.serverId, peerIdOf("nobody")])
        assert.deepStrictEqual(yield* keep.load(...always), [b])
        const timestampsOf = ({ serverId, announcement, heartbeat }: KeptServer) => ({
          serverId,
          announcementTimestamp: announcement?.timestamp,
          heartbeatTimestamp: heartbeat?.timestamp
        })
        assert.deepStrictEqual(yield* keep.loadEvicted(0), [
          timestampsOf(a),
          timestampsOf({ ...c, heartbeat: undefined })
        ])
        assert.deepStrictEqual(yield* keep.loadEvicted(2), [timestampsOf(a)])
        // What is written again as it was is no news; what is new makes it known again, but for no longer than that.
        yield* keep.write([a])
        assert.deepStrictEqual(yield* keep.load(...always), [b])
        const heard = {
          ...a,
          heartbeat: { signed: bytes(9), timestamp: 2n ** 62n },
          firstHeardMillis: 2_000_000_000_000
        }
        yield* keep.write([heard])
        assert.deepStrictEqual(yield* keep.load(...always), [heard, b])
        yield* keep.forgetBefore(3)
        assert.deepStrictEqual([yield* keep.load(...always), yield* keep.loadEvicted(0)], [[heard], []])
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("R19 K05 keeps 65 536 of those that were evicted, those heard last", () => {
      const owner = peerIdOf("owner of many evicted")
      return Effect.gen(function* () {
        const [{ sql }, keep] = [yield* Database, yield* KeptServers]
        yield* sql`
          INSERT INTO discovery_servers (owner, server_id, first_heard_millis, last_heard_millis, evicted)
          SELECT ${owner}, 'server ' || millis, millis, millis, true FROM generate_series(1, 65536) AS millis`
        const [known, last] = [kept("known", { lastHeardMillis: 0 }), kept("last", { lastHeardMillis: 65_537 })]
        yield* keep.write([known, last])
        yield* keep.evict([last.serverId])
        const [left] = yield* sql`
          SELECT count(*)::integer AS count, min(last_heard_millis) AS first FROM discovery_servers
          WHERE owner = ${owner} AND evicted`
        assert.deepStrictEqual(left, { count: 65_536, first: 2 })
        assert.deepStrictEqual(yield* keep.load(...always), [known])
        yield* sql`DELETE FROM discovery_servers WHERE owner = ${owner}`
      }).pipe(Effect.provide(keeping(owner)))
    })

    it.effect("R14 makes its tables again where they have gone, at the next write", () =>
      Effect.gen(function* () {
        const [{ sql }, servers, checks] = [yield* Database, yield* KeptServers, yield* KeptChecks]
        yield* servers.write([kept("a")])
        yield* sql`DROP TABLE discovery_servers, discovery_checks, discovery_migrations`
        assert.isTrue(Exit.isFailure(yield* Effect.exit(servers.write([kept("b")]))))
        yield* servers.write([kept("b")])
        yield* checks.write([check(1)])
        assert.deepStrictEqual(yield* servers.load(...always), [kept("b")])
        assert.deepStrictEqual(yield* checks.load, [check(1)])
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("R14 keeps the servers of two that share it apart", () =>
      Effect.gen(function* () {
        const [left, right] = [keeping(), keeping()]
        const load = Effect.flatMap(KeptServers, (keep) => keep.load(...always))
        const write = (server: KeptServer) => Effect.flatMap(KeptServers, (keep) => keep.write([server]))
        const [ofLeft, ofRight] = [kept("a"), kept("a", { firstHeardMillis: 1, lastHeardMillis: 2 })]
        yield* Effect.provide(write(ofLeft), left)
        yield* Effect.provide(write(ofRight), right)
        yield* Effect.provide(
          Effect.flatMap(KeptChecks, (keep) => keep.write([check(1)])),
          left
        )
        assert.deepStrictEqual(yield* Effect.provide(load, left), [ofLeft])
        assert.deepStrictEqual(yield* Effect.provide(load, right), [ofRight])
        assert.deepStrictEqual(
          yield* Effect.provide(
            Effect.flatMap(KeptChecks, (keep) => keep.load),
            right
          ),
          []
        )
        yield* Effect.provide(
          Effect.flatMap(KeptServers, (keep) => keep.forget([ofLeft.serverId])),
          left
        )
        yield* Effect.provide(
          Effect.flatMap(KeptServers, (keep) => keep.forgetBefore(1)),
          left
        )
        assert.deepStrictEqual(yield* Effect.provide(load, left), [])
        assert.deepStrictEqual(yield* Effect.provide(load, right), [ofRight])
      })
    )

    it.effect("R14 K05 forgets whom it is told to, and who fell silent before a moment", () =>
      Effect.gen(function* () {
        const keep = yield* KeptServers
        const server = (name: string, lastHeardMillis: number) => kept(name, { lastHeardMillis })
        yield* keep.write([server("a", 4), server("b", 3), server("c", 2), server("d", 1)])
        yield* keep.forget([peerIdOf("b"), peerIdOf("nobody")])
        yield* keep.forgetBefore(2)
        assert.deepStrictEqual(yield* keep.load(...always), [server("a", 4), server("c", 2)])
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("I08 R5 keeps whatever bytes were signed, and no text of a stranger breaks a batch", () =>
      Effect.gen(function* () {
        const [servers, checks] = [yield* KeptServers, yield* KeptChecks]
        const timestamp = 1n
        const hostile = [`{"region":"\0"}`, "\ud800", `'); DROP TABLE discovery_servers; --`].map((text, index) =>
          kept(index, { announcement: { signed: new TextEncoder().encode(text), timestamp }, heartbeat: undefined })
        )
        const odd = kept(9, { announcement: { signed: bytes(0, 255, 0xc3, 0x28), timestamp: 2n ** 70n } })
        yield* servers.write([...hostile, odd])
        const loaded = yield* servers.load(...always)
        assert.sameDeepMembers([...loaded], [...hostile, odd])
        yield* checks.write([check(1, { ok: false, errorClass: "mine: \0 \ud800 ' \u202e" }), check(2)])
        assert.deepStrictEqual(yield* checks.load, [
          check(1, { ok: false, errorClass: "mine: \ufffd \ufffd ' \u202e" }),
          check(2)
        ])
      }).pipe(Effect.provide(keeping()))
    )

    it.effect("R14 leaves out rows that cannot be read, and gives the others", () => {
      const owner = peerIdOf("owner of odd rows")
      return Effect.gen(function* () {
        const [{ sql }, servers, checks] = [yield* Database, yield* KeptServers, yield* KeptChecks]
        yield* servers.write([kept("a"), kept("b")])
        yield* checks.write([check(1), check(2)])
        yield* sql`UPDATE discovery_servers SET server_id = 'nobody' WHERE owner = ${owner} AND server_id = ${peerIdOf("b")}`
        yield* sql`
          UPDATE discovery_checks SET duration_millis = 'NaN'
          WHERE owner = ${owner} AND started_millis = ${check(1).startedWallMillis}`
        assert.deepStrictEqual(yield* servers.load(...always), [kept("a")])
        assert.deepStrictEqual(yield* checks.load, [check(2)])
      }).pipe(Effect.provide(keeping(owner)))
    })

    it.effect("R14 S11 keeps the last 288 self-checks, each once, and gives them oldest first", () =>
      Effect.gen(function* () {
        const keep = yield* KeptChecks
        const checks = Array.from({ length: 300 }, (_, number) =>
          check(number, number % 7 === 0 ? { ok: false, errorClass: "postgres: refused" } : {})
        )
        yield* keep.write(checks.slice(0, 200))
        yield* keep.write(checks.slice(150))
        yield* keep.write([])
        assert.deepStrictEqual(yield* keep.load, checks.slice(12))
      }).pipe(Effect.provide(keeping()))
    )

    it.effect(
      "R14 R15 a server that is stopped and started again lists whom it listed, with the score and the addresses it had",
      () =>
        Effect.gen(function* () {
          const self = peerIdOf("a server that restarts")
          const running = WriteBehind.layer.pipe(
            Layer.provideMerge(Restore.layer),
            Layer.provideMerge(keeping(self)),
            Layer.provideMerge(believing(self))
          )
          const [alice, bob] = [peerIdOf("alice"), peerIdOf("bob")]
          const timestamp = yield* Clock.currentTimeNanos
          const words = [
            announced({ serverId: alice, timestamp }),
            announced({ serverId: bob, timestamp }),
            beaten({ serverId: bob, timestamp: timestamp + 1n, uptimeScore: 0.5 })
          ]
          const seen = Effect.gen(function* () {
            const [registry, selfCheck] = [yield* Registry, yield* SelfCheck]
            const { addressBook } = yield* Gossip
            const listed = available(yield* registry.entries, yield* now)
            return {
              listed: listed.map(({ announcement, heartbeat }) => [announcement, heartbeat]),
              score: yield* selfCheck.score,
              addresses: [...(yield* addressBook)]
            }
          })
          const before = yield* Effect.gen(function* () {
            const [gossip, intake, selfCheck] = [yield* Gossip, yield* Intake, yield* SelfCheck]
            yield* gossip.remember([{ peer: alice, addresses: [`/ip4/192.0.2.1/tcp/1/p2p/${alice}`] }])
            yield* selfCheck.run
            for (const { signed } of words) {
              yield* intake.consider({ ...(yield* verified(signed)), neighbour: alice }, { kind: "topic" })
            }
            return yield* seen
          }).pipe(Effect.provide(running))
          assert.deepStrictEqual(before.score, { score: 1, checks: 1 })
          assert.strictEqual(before.listed.length, 2)
          assert.deepStrictEqual(before.addresses, [[alice, [`/ip4/192.0.2.1/tcp/1/p2p/${alice}`]]])
          assert.deepStrictEqual(yield* Effect.provide(seen, running), before)
        })
    )

    it.effect(
      "R14 writes and loads 50 000 servers in reasonable time",
      () =>
        Effect.gen(function* () {
          const keep = yield* KeptServers
          const servers = crowd()
          for (let at = 0; at < servers.length; at += 1_000) yield* keep.write(servers.slice(at, at + 1_000))
          const loaded = yield* keep.load(...always)
          const ids = (list: ReadonlyArray<KeptServer>) => list.map(({ serverId }) => serverId)
          assert.deepStrictEqual(ids(loaded), ids(servers.reverse()))
          assert.deepStrictEqual([loaded.at(0), loaded.at(-1)], [servers.at(0), servers.at(-1)])
          yield* keep.forget(ids(servers.slice(0, 1_000)))
          assert.strictEqual((yield* keep.load(...always)).length, 49_000)
        }).pipe(Effect.provide(keeping())),
      40_000
    )
  })
