/** The last words of a server: when they come, who hears them, and what may hang meanwhile. */
import { assert, describe, layer } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { random, seed } from "../registry/Random.ts"
import { PostgresServer } from "../storage/PostgresServer.ts"
import { eventually } from "./Eventually.ts"
import * as Link from "./Link.ts"
import * as LinkedServers from "./LinkedServers.ts"
import { onPostgres } from "./OnPostgres.ts"
import { launch, sideBySide, start } from "./ServerProcess.ts"
import { isMissing, named } from "./Tools.ts"

describe.skipIf(isMissing("postgres"))(named("with PostgreSQL", "postgres"), () => {
  layer(PostgresServer.layer(), { excludeTestServices: true, concurrent: true })("a planned stop", (it) => {
    it.effect(
      "R13 is told to nobody before the drain delay has passed, and to all before the process ends",
      () =>
        Effect.gen(function* () {
          const linked = yield* LinkedServers.make(2, onPostgres(yield* PostgresServer))
          const env = { RICOCHET_OPS_DRAIN_DELAY: "3s", RICOCHET_INTERVALS_HEALTH_CHECK_MIN: "5" }
          const [server, observer] = yield* Effect.all([start(linked.options(0, { env })), start(linked.options(1))], {
            concurrency: 2
          })
          yield* observer.lists([server.peerId])
          yield* observer.says(server.peerId, { listed: true, reason: "available", connected: true })
          const toldMillis = yield* Clock.currentTimeMillis
          yield* server.signal("SIGTERM")
          yield* eventually("/readyz says 503", server.readiness, ({ status }) => status === 503, "2 seconds")
          // It is still there for those who have not noticed.
          yield* observer.says(server.peerId, { listed: true, reason: "available", connected: true }, "1500 millis")
          yield* observer.lists([], "5 seconds")
          const goneMillis = yield* Clock.currentTimeMillis
          assert.isAtLeast(goneMillis - toldMillis, 2_900)
          const { service } = yield* observer.service(server.peerId)
          assert.deepInclude(service, {
            state: "unhealthy",
            healthy: false,
            stopped: true,
            uptime_score: 1,
            verdict_changes: 1
          })
          assert.deepStrictEqual(yield* server.ending.pipe(Effect.timeout("3 seconds")), { code: 0, signal: null })
        }),
      sideBySide.timeout
    )

    it.effect(
      "N01 R13 ends in time beside a peer that stands still and a database that says nothing",
      () =>
        Effect.gen(function* () {
          const postgres = yield* PostgresServer
          const database = yield* Link.make(postgres.port)
          const linked = yield* LinkedServers.make(3, onPostgres(postgres))
          const [server, observer, still] = yield* Effect.all(
            [
              start(linked.options(0, onPostgres(postgres, database.port))),
              start(linked.options(1)),
              start(linked.options(2))
            ],
            { concurrency: 2 }
          )
          yield* server.lists([observer.peerId, still.peerId])
          yield* observer.lists([server.peerId, still.peerId])
          yield* still.signal("SIGSTOP")
          yield* database.become("silent")
          yield* server.signal("SIGTERM")
          yield* observer.lists([still.peerId], "5 seconds")
          // Source: `ops.shutdown_timeout`, 5 seconds, and one for the machine.
          assert.deepStrictEqual(yield* server.ending.pipe(Effect.timeout("6 seconds")), { code: 0, signal: null })
          const { service } = yield* observer.service(server.peerId)
          assert.deepInclude(service, { state: "unhealthy", uptime_score: 1 })
          yield* still.signal("SIGCONT")
          yield* still.lists([observer.peerId])
        }),
      sideBySide.timeout
    )

    it.effect(
      "N03 R23 R13 may come at any moment of a start: it ends with 0, and nobody is left with a ghost",
      () =>
        Effect.gen(function* () {
          const linked = yield* LinkedServers.make(2, onPostgres(yield* PostgresServer))
          const observer = yield* start(linked.options(1))
          const moments = random(seed)
          for (let life = 1; life <= 6; life++) {
            yield* Effect.gen(function* () {
              const server = yield* launch(linked.options(0))
              // Before this the process is Node's, which ends without a word.
              yield* server.log("configuration loaded")
              const moment = moments.below(1_500)
              yield* Effect.sleep(moment)
              yield* server.signal(moments.of(["SIGTERM", "SIGINT"]))
              const ending = yield* server.ending.pipe(Effect.timeout("6 seconds"))
              assert.deepStrictEqual(ending, { code: 0, signal: null }, `told after ${moment} ms, seed ${seed}`)
              assert.deepStrictEqual(server.stderr, [])
              yield* observer.lists([], "5 seconds")
            }).pipe(Effect.scoped)
          }
        }),
      sideBySide.timeout
    )
  })
})
