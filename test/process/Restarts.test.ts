/** Servers that crash and start again: what they remember, and what the others make of it. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Effect } from "effect"
import type { ServiceEntry } from "../../src/ops/ServiceView.ts"
import { random, seed } from "../registry/Random.ts"
import { database, PostgresServer } from "../storage/PostgresServer.ts"
import { eventually } from "./Eventually.ts"
import * as Link from "./Link.ts"
import * as LinkedServers from "./LinkedServers.ts"
import { onPostgres } from "./OnPostgres.ts"
import { launch, type Running, sideBySide, start } from "./ServerProcess.ts"
import { isMissing, named } from "./Tools.ts"

const timeNow = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis).toISOString())

/** Source: case C04. */
const listedAnewWithin = "10 seconds"

/** What a server says of another that it has not heard since it started, if it forgets nothing. */
const remembered = (entry: ServiceEntry | null | undefined) =>
  entry && {
    server_id: entry.server_id,
    capabilities: entry.capabilities,
    max_storage: entry.max_storage,
    retention_policy: entry.retention_policy,
    region: entry.region,
    regions: entry.regions,
    port: entry.port,
    healthy: entry.healthy,
    uptime_score: entry.uptime_score,
    timestamp: entry.timestamp,
    first_heard: entry.first_heard,
    last_heard: entry.last_heard
  }

/** The server is listed there, with words that it said after this moment. */
const listsAnew = (server: Running, peerId: string, since: string) =>
  eventually(
    "the server that crashed is listed with new words",
    server.services,
    ({ services }) => services.some(({ server_id, timestamp }) => server_id === peerId && timestamp > since),
    listedAnewWithin
  )

/** Lets a server list the others and stop: what it knows is kept from then on. */
const once = Effect.fnUntraced(function* (begin: ReturnType<typeof start>, others: ReadonlyArray<string>) {
  const server = yield* begin
  yield* server.lists(others)
  assert.deepStrictEqual(yield* server.stop(), { code: 0, signal: null })
}, Effect.scoped)

/** Lets a server crash at random moments of its start; whatever it manages to say of itself meanwhile goes well. */
const crashWhileItStarts = Effect.fnUntraced(function* (
  begin: ReturnType<typeof launch>,
  longestMillis: number,
  moments: ReturnType<typeof random>
) {
  const server = yield* begin
  const moment = moments.below(longestMillis)
  yield* Effect.sleep(moment)
  yield* server.signal("SIGKILL")
  assert.deepStrictEqual(yield* server.ending, { code: null, signal: "SIGKILL" }, `killed after ${moment} ms`)
  assert.deepStrictEqual(
    server.logs().filter(({ level }) => level === "ERROR" || level === "FATAL"),
    []
  )
}, Effect.scoped)

describe.skipIf(isMissing("postgres"))(named("with PostgreSQL", "postgres"), sideBySide, () => {
  layer(PostgresServer.layer(), { excludeTestServices: true, concurrent: true })("servers that crash", (it) => {
    it.effect(
      "C04 E01 R14 list at once whom they listed, and are listed anew within seconds, twenty times over",
      () =>
        Effect.gen(function* () {
          const linked = yield* LinkedServers.make(3, onPostgres(yield* PostgresServer))
          const [b, c] = yield* Effect.all([start(linked.options(1)), start(linked.options(2))], { concurrency: 2 })
          const others = [b.peerId, c.peerId]
          const peerId = linked.peerIds[0] ?? ""
          const moments = random(seed)

          yield* once(start(linked.options(0)), others)
          for (let life = 1; life <= 10; life++) {
            yield* crashWhileItStarts(launch(linked.options(0)), 1_500, moments)
            yield* Effect.gen(function* () {
              const since = yield* timeNow
              const a = yield* start(linked.options(0))
              const listed = (yield* a.services).services.map(({ server_id }) => server_id)
              assert.sameMembers(listed, others, `at once in life ${life} of seed ${seed}`)
              yield* listsAnew(b, peerId, since)
              yield* listsAnew(c, peerId, since)
              yield* a.lists(others)
            }).pipe(Effect.scoped)
          }
        }),
      240_000
    )

    it.effect(
      "R14 E01 S11 remember what they heard and when, and what they measured, each its own in a database they share",
      () =>
        Effect.gen(function* () {
          const postgres = yield* PostgresServer
          const count = (sql: string) => Effect.map(postgres.execute(sql, database), Number)
          const way = yield* Link.make(postgres.port)
          // Two islands of two, and one database for all.
          const [one, other] = [
            yield* LinkedServers.make(2, onPostgres(postgres)),
            yield* LinkedServers.make(2, onPostgres(postgres, way.port))
          ]
          const [a, x, b, y] = yield* Effect.all(
            [start(one.options(0)), start(one.options(1)), start(other.options(0)), start(other.options(1))],
            { concurrency: 2 }
          )
          yield* a.lists([x.peerId])
          yield* b.lists([y.peerId])

          // What the database's own absence made fail is written when it is back.
          yield* way.become("cut")
          const isFailed = ({ ok }: { readonly ok: boolean }) => !ok
          yield* eventually("two self-checks failed", b.self, (self) => self.self_checks.filter(isFailed).length >= 2)
          yield* way.become("open")
          yield* b.lists([y.peerId])
          const failedThere = `SELECT count(*) FROM discovery_checks WHERE NOT ok AND owner = '${b.peerId}'`
          const failed = (yield* b.self).self_checks.filter(isFailed)
          yield* eventually("they are kept", count(failedThere), (kept) => kept === failed.length)
          const failedOfA = `SELECT count(*) FROM discovery_checks WHERE NOT ok AND owner = '${a.peerId}'`
          assert.strictEqual(yield* count(failedOfA), 0)

          // The last words that they ever hear of the others.
          yield* x.stop("SIGKILL")
          yield* y.stop("SIGKILL")
          const lastWordsOf = (server: Running, dead: string) =>
            Effect.gen(function* () {
              const { service } = yield* server.service(dead)
              const heardMillis = Date.parse(service?.last_heard ?? "")
              const kept = `SELECT count(*) FROM discovery_servers
                WHERE owner = '${server.peerId}' AND server_id = '${dead}' AND last_heard_millis::bigint = ${heardMillis}`
              return { service, isKept: (yield* count(kept)) === 1 }
            })
          const keptOf = (server: Running, dead: string) =>
            Effect.map(
              eventually("the last words are kept", lastWordsOf(server, dead), ({ isKept }) => isKept),
              ({ service }) => service
            )
          const [ofX, ofY] = [yield* keptOf(a, x.peerId), yield* keptOf(b, y.peerId)]
          yield* a.stop("SIGKILL")
          yield* b.stop("SIGKILL")
          // B has been there for longer than it has.
          yield* postgres.execute(
            `INSERT INTO discovery_checks
              SELECT owner, started_millis - 1000 * n, 1, true, NULL FROM generate_series(1, 300) AS n,
                (SELECT owner, min(started_millis) AS started_millis FROM discovery_checks
                  WHERE owner = '${b.peerId}' GROUP BY owner) AS first`,
            database
          )

          const alone = { RICOCHET_SERVER_BOOTSTRAP_PEERS: "" }
          for (const [linked, expected] of [
            [one, ofX],
            [other, ofY]
          ] as const) {
            const again = yield* start(linked.options(0, { env: { ...alone } }))
            const { services } = yield* again.services
            assert.deepStrictEqual(services.map(remembered), [remembered(expected)])
            assert.deepStrictEqual(
              services.map(({ restored, skew_seconds, state }) => ({ restored, skew_seconds, state })),
              [{ restored: true, skew_seconds: null, state: "available" }]
            )
            const { announcement, self_checks } = yield* again.self
            const isOfB = again.peerId === b.peerId
            assert.strictEqual(self_checks.filter(isFailed).length, isOfB ? failed.length : 0)
            if (!isOfB) continue
            assert.strictEqual(announcement.checks, 288)
            assert.strictEqual(announcement.uptime_score, (288 - failed.length) / 288)
          }
        }),
      240_000
    )
  })
})

describe("a server with the embedded database", sideBySide, () => {
  it.live(
    "R14 E09 that crashes at any moment starts again, and lists whom it listed",
    () =>
      Effect.gen(function* () {
        const linked = yield* LinkedServers.make(2, { env: { RICOCHET_INTERVALS_HEALTH_CHECK_MIN: "0.04" } })
        const other = yield* start(linked.options(1))
        const moments = random(seed)
        yield* once(start(linked.options(0)), [other.peerId])
        for (let life = 1; life <= 4; life++) {
          yield* crashWhileItStarts(launch(linked.options(0)), 4_000, moments)
          yield* Effect.gen(function* () {
            const since = yield* timeNow
            const a = yield* start(linked.options(0))
            assert.deepStrictEqual(
              (yield* a.services).services.map(({ server_id }) => server_id),
              [other.peerId],
              `at once in life ${life} of seed ${seed}`
            )
            yield* listsAnew(other, linked.peerIds[0] ?? "", since)
          }).pipe(Effect.scoped)
        }
      }),
    240_000
  )
})
