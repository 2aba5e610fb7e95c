/** A server and its PostgreSQL: there, away, back, absent at the start, and refusing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as PostgresServer from "../storage/PostgresServer.ts"
import { eventually } from "./Eventually.ts"
import { launch, type ServerOptions, sideBySide, start } from "./ServerProcess.ts"
import { isMissing, named } from "./Tools.ts"

/** A server on that database that checks itself every second. */
const on = (postgres: PostgresServer.Server, password: string = PostgresServer.password): ServerOptions => ({
  args: ["--pg-host", "127.0.0.1", "--pg-port", String(postgres.port), "--pg-sslmode", "disable"],
  env: { RICOCHET_PG_PASSWORD: password, RICOCHET_INTERVALS_HEALTH_CHECK_MIN: "0.02" }
})

describe.skipIf(isMissing("postgres"))(named("a server with PostgreSQL", "postgres"), sideBySide, () => {
  it.live("S9 S12 S14 S25 leaves the lists while its database is away, and is back with it", () =>
    Effect.gen(function* () {
      const postgres = yield* PostgresServer.make({ auth: "scram-sha-256" })
      const server = yield* start(on(postgres))
      const observer = yield* start({ args: ["--bootstrap", server.address] })
      assert.include(yield* server.log("database"), { kind: "postgres" })
      const { checks, status } = yield* server.readiness
      assert.deepStrictEqual({ checks, status }, { checks: { postgres: { ok: true } }, status: 200 })
      yield* observer.lists([server.peerId])

      yield* postgres.stop
      const away = yield* eventually("/readyz says 503", server.readiness, ({ status }) => status === 503)
      assert.strictEqual(away.ready, false)
      assert.strictEqual(away.checks.postgres?.ok, false)
      const failed = yield* server.log("self-check failed")
      assert.strictEqual(failed.level, "WARN")
      assert.match(String(failed.error), /postgres/)
      yield* observer.lists([])
      yield* observer.says(server.peerId, { listed: false, reason: "unhealthy", connected: true })

      yield* postgres.start
      yield* eventually("/readyz says 200", server.readiness, ({ status }) => status === 200)
      yield* observer.lists([server.peerId])
      const { service } = yield* observer.service(server.peerId)
      assert.isBelow(service?.uptime_score ?? 1, 1)
    })
  )

  it.live("R14 starts without its database, says so to the others, and is listed once it is there", () =>
    Effect.gen(function* () {
      const postgres = yield* PostgresServer.make()
      yield* postgres.stop
      const server = yield* start(on(postgres))
      assert.include(yield* server.log("registry started"), { first_check_passed: false })
      assert.strictEqual((yield* server.readiness).status, 503)
      const observer = yield* start({ args: ["--bootstrap", server.address] })
      yield* eventually(
        "the server is known as unhealthy",
        observer.service(server.peerId),
        ({ reason }) => reason === "unhealthy"
      )
      assert.deepStrictEqual((yield* observer.services).services, [])
      yield* postgres.start
      yield* observer.lists([server.peerId])
    })
  )

  it.live("R14 R23 G10 a wrong password and a database that does not exist stop the start with 78", () =>
    Effect.gen(function* () {
      const postgres = yield* PostgresServer.make({ auth: "scram-sha-256" })
      const refused = Effect.fnUntraced(function* (options: ServerOptions) {
        const server = yield* launch(options)
        const { code } = yield* server.ending
        return { code, output: [...server.stdout, ...server.stderr].join("\n") }
      })
      const wrongPassword = yield* refused(on(postgres, "not-the-password"))
      assert.strictEqual(wrongPassword.code, 78)
      assert.include(wrongPassword.output, "password authentication failed")
      assert.notInclude(wrongPassword.output, "not-the-password")
      assert.notInclude(wrongPassword.output, "registry started")

      const { args = [], env = {} } = on(postgres)
      const noDatabase = yield* refused({ args: [...args, "--pg-database", "nowhere"], env })
      assert.strictEqual(noDatabase.code, 78)
      assert.include(noDatabase.output, "nowhere")
    })
  )
})
