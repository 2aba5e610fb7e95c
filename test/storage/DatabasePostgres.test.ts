import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Layer, Redacted } from "effect"
import { fromValues } from "../../src/config/Configuration.ts"
import { Database, DatabaseRefused } from "../../src/storage/Database.ts"
import { eventually } from "../process/Eventually.ts"
import { isMissing, named } from "../process/Tools.ts"
import { capture, databaseLayer, type Line } from "./Fixtures.ts"
import { freePort, make, PostgresServer, password, type Server } from "./PostgresServer.ts"
import * as StallingProxy from "./StallingProxy.ts"

/** Real servers know nothing of a test clock. */
const live = { excludeTestServices: true, concurrent: true } as const

type Settings = Server["settings"]

/** Builds the layer in the test's scope, and gives the database, how long that took, and what was logged. */
const open = Effect.fnUntraced(function* (settings: Settings) {
  const lines: Array<Line> = []
  const build = Layer.build(databaseLayer(settings).pipe(Layer.provideMerge(capture(lines))))
  const [took, context] = yield* Effect.timed(build)
  return { database: Context.get(context, Database), tookMillis: Duration.toMillis(took), lines }
})

const refusal = (settings: Settings) => Effect.flip(open(settings))

const refused = (settings: Settings, problem: string) =>
  new DatabaseRefused({
    location: `postgres://${settings.username}@${settings.host}:${settings.port}/${settings.name}`,
    problem
  })

const away = (error: string) => (lines: ReadonlyArray<Line>) =>
  lines
    .map(({ level, message, annotations }) => [level, message, annotations.error])
    .at(-1)
    ?.join(" ") === `Warn database away ${error}`

const migrations = [{ name: "keep" }, { name: "addresses" }, { name: "evicted" }]

describe.skipIf(isMissing("postgres"))(named("with PostgreSQL", "postgres"), { concurrent: true }, () => {
  layer(PostgresServer.layer({ auth: "scram-sha-256", socket: true }), live)(
    "a PostgreSQL that asks for a password",
    (it) => {
      it.effect("is reached, has the tables, and the log says which database it is", () =>
        Effect.gen(function* () {
          const { settings } = yield* PostgresServer
          const { database, lines } = yield* open(settings)
          const location = `postgres://ricochet@127.0.0.1:${settings.port}/ricochet`
          yield* database.ping
          assert.strictEqual(database.kind, "postgres")
          assert.strictEqual(database.location, location)
          assert.deepStrictEqual(lines, [
            { level: "Info", message: "database", annotations: { kind: "postgres", location } }
          ])
          assert.deepStrictEqual(yield* database.sql`SELECT name FROM discovery_migrations`, migrations)
        })
      )

      it.effect("R14 G10 a wrong password is bad configuration, and is not said", () =>
        Effect.gen(function* () {
          const { settings } = yield* PostgresServer
          const wrong = { ...settings, password: Redacted.make("not-the-password") }
          const error = yield* refusal(wrong)
          assert.deepStrictEqual(error, refused(wrong, 'password authentication failed for user "ricochet"'))
          assert.strictEqual(error.exitCode, 78)
          assert.strictEqual(
            error.message,
            `the database postgres://ricochet@127.0.0.1:${settings.port}/ricochet cannot be used: password authentication failed for user "ricochet"`
          )
          assert.notInclude(JSON.stringify(error), "not-the-password")
        })
      )

      it.effect("R14 no password where one is asked for is bad configuration", () =>
        Effect.gen(function* () {
          const settings = { ...(yield* PostgresServer).settings, password: undefined }
          assert.deepStrictEqual(
            yield* refusal(settings),
            refused(settings, "The server requested password authentication")
          )
        })
      )

      it.effect("R14 a database that is not there is bad configuration", () =>
        Effect.gen(function* () {
          const settings = { ...(yield* PostgresServer).settings, name: "nowhere" }
          assert.deepStrictEqual(yield* refusal(settings), refused(settings, 'database "nowhere" does not exist'))
        })
      )

      it.effect("R14 servers that start on an empty database at the same moment make its tables once", () =>
        Effect.gen(function* () {
          const server = yield* PostgresServer
          for (const name of ["shared_1", "shared_2", "shared_3"]) {
            yield* server.execute(`CREATE DATABASE ${name} OWNER ricochet`)
            const settings = { ...server.settings, name }
            const starting = Effect.scoped(
              Effect.flatMap(open(settings), ({ database, lines }) =>
                Effect.map(database.sql`SELECT name FROM discovery_migrations`, (rows) => ({
                  rows,
                  lines: lines.length
                }))
              )
            )
            const expected = Array.from({ length: 5 }, () => ({ rows: migrations, lines: 1 }))
            assert.deepStrictEqual(yield* Effect.replicateEffect(starting, 5, { concurrency: 5 }), expected)
          }
        })
      )

      it.effect("R14 no right to create tables is bad configuration", () =>
        Effect.gen(function* () {
          const server = yield* PostgresServer
          yield* server.execute("CREATE DATABASE foreign_owned")
          const settings = { ...server.settings, name: "foreign_owned" }
          assert.deepStrictEqual(yield* refusal(settings), refused(settings, "permission denied for schema public"))
        })
      )

      it.effect("R14 tables that are there need no right to create them", () =>
        Effect.gen(function* () {
          const server = yield* PostgresServer
          yield* Effect.scoped(open(server.settings))
          yield* server.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
          yield* server.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO reader",
            "ricochet"
          )
          const { database } = yield* open({
            ...server.settings,
            username: "reader",
            password: Redacted.make("reader")
          })
          yield* database.ping
        })
      )

      it.effect("R14 a server that has no connection to spare is away, not wrong", () =>
        Effect.gen(function* () {
          const server = yield* PostgresServer
          yield* server.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0 PASSWORD 'crowded'")
          const { lines } = yield* open({ ...server.settings, username: "crowded", password: Redacted.make("crowded") })
          assert.isTrue(away('too many connections for role "crowded"')(lines), JSON.stringify(lines))
        })
      )

      it.effect("that does not speak TLS is refused where TLS is required, and used where it is preferred", () =>
        Effect.gen(function* () {
          const { settings } = yield* PostgresServer
          const required: Settings = { ...settings, sslmode: "require" }
          const problem = "the server does not speak TLS, set database.sslmode to disable if that is meant"
          assert.deepStrictEqual(yield* refusal(required), refused(required, problem))
          const { database } = yield* open({ ...settings, sslmode: "prefer" })
          assert.deepStrictEqual(yield* database.sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`, [
            { ssl: false }
          ])
        })
      )

      it.effect("R16 an interrupted statement costs its connection, at once, and nobody else's", () =>
        Effect.gen(function* () {
          const { settings } = yield* PostgresServer
          const { database } = yield* open({ ...settings, poolSize: 2 })
          const [took] = yield* Effect.timed(database.sql`SELECT pg_sleep(30)`.pipe(Effect.timeoutOption("100 millis")))
          assert.isBelow(Duration.toMillis(took), 2_000)
          yield* Effect.all([database.ping, database.ping], { concurrency: 2 })
        })
      )

      it.effect("is reached through its Unix socket when database.host is a directory, whatever is set of TLS", () =>
        Effect.gen(function* () {
          const server = yield* PostgresServer
          const { database: settings } = yield* Effect.fromResult(
            fromValues({
              "database.host": server.socketDirectory,
              "database.port": server.port,
              "database.name": server.settings.name,
              "database.username": server.settings.username,
              "database.password": password,
              "database.sslmode": "verify-full"
            })
          )
          assert(settings.kind === "postgres")
          const { database } = yield* open(settings)
          assert.strictEqual(database.location, `postgres://ricochet@${server.socketDirectory}:${server.port}/ricochet`)
          assert.deepStrictEqual(yield* database.sql`SELECT inet_client_addr() AS address`, [{ address: null }])
        })
      )

      describe("behind a network that fails", () => {
        it.effect("G01 pings through a pool of two leave it whole, and the first one after a stall passes", () =>
          Effect.gen(function* () {
            const { settings } = yield* PostgresServer
            const proxy = yield* StallingProxy.make(settings.port)
            const { database } = yield* open({ ...settings, port: proxy.port, poolSize: 2 })
            yield* Effect.all([database.ping, database.ping], { concurrency: 2 })
            yield* proxy.stall
            const bounded = Effect.timed(Effect.timeoutOption(database.ping, "100 millis"))
            const checks = Effect.replicateEffect(bounded, 10)
            const probes = Effect.replicateEffect(bounded, 20, { concurrency: 20 })
            const [ofChecks, ofProbes] = yield* Effect.all([checks, probes], { concurrency: 2 })
            for (const [took, answer] of [...ofChecks, ...ofProbes]) {
              assert.strictEqual(answer._tag, "None")
              assert.isBelow(Duration.toMillis(took), 2_000)
            }
            yield* proxy.flow
            yield* database.ping.pipe(Effect.timeout("3 seconds"))
            yield* Effect.all([database.ping, database.ping, database.ping], { concurrency: 3 })
            assert.deepStrictEqual(proxy.connections(), { open: 2, most: 2 })
          })
        )

        it.effect(
          "G02 R14 that answers nothing at the start delays it by 3 seconds at most, and is used when it is back",
          () =>
            Effect.gen(function* () {
              const { settings } = yield* PostgresServer
              const proxy = yield* StallingProxy.make(settings.port)
              yield* proxy.stall
              const { database, tookMillis } = yield* open({ ...settings, port: proxy.port })
              assert.isBelow(tookMillis, 5_000)
              yield* proxy.flow
              yield* database.ping
            })
        )

        it.effect("G01 a connection that is cut while idle costs no ping", () =>
          Effect.gen(function* () {
            const { settings } = yield* PostgresServer
            const proxy = yield* StallingProxy.make(settings.port)
            const { database } = yield* open({ ...settings, port: proxy.port })
            for (let round = 0; round < 5; round++) {
              yield* proxy.refuse
              yield* proxy.accept
              yield* database.ping
            }
          })
        )
      })
    }
  )

  layer(PostgresServer.layer({ auth: "scram-sha-256", tls: true }), live)("a PostgreSQL that speaks TLS", (it) => {
    const isEncrypted = (settings: Settings) =>
      Effect.flatMap(
        open(settings),
        ({ database }) => database.sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`
      )

    it.effect.each(["prefer", "require"] as const)("is spoken to in TLS where it is set to %s", (sslmode) =>
      Effect.gen(function* () {
        const { settings } = yield* PostgresServer
        assert.deepStrictEqual(yield* isEncrypted({ ...settings, sslmode }), [{ ssl: true }])
      })
    )

    it.effect.each(["verify-ca", "verify-full"] as const)(
      "R14 whose certificate nobody vouches for is refused where it is set to %s",
      (sslmode) =>
        Effect.gen(function* () {
          const settings: Settings = { ...(yield* PostgresServer).settings, sslmode }
          const error = yield* refusal(settings)
          assert.instanceOf(error, DatabaseRefused)
          assert.match(error.problem, /^its certificate: self-signed certificate/)
        })
    )

    it.effect("R16 an interrupted statement costs its connection under TLS too", () =>
      Effect.gen(function* () {
        const { settings } = yield* PostgresServer
        const { database } = yield* open({ ...settings, sslmode: "require", poolSize: 1 })
        const [took] = yield* Effect.timed(database.sql`SELECT pg_sleep(30)`.pipe(Effect.timeoutOption("100 millis")))
        assert.isBelow(Duration.toMillis(took), 2_000)
        yield* database.ping
      })
    )

    it.effect("G02 that stalls in the middle of its handshake holds nobody longer than their bound", () =>
      Effect.gen(function* () {
        const { settings } = yield* PostgresServer
        const proxy = yield* StallingProxy.make(settings.port)
        yield* proxy.stall
        const { database, tookMillis, lines } = yield* open({ ...settings, port: proxy.port, sslmode: "require" })
        assert.isBelow(tookMillis, 5_000)
        assert.isTrue(away("no answer within 3s")(lines) || away("Connection timed out")(lines), JSON.stringify(lines))
        const [took] = yield* Effect.timed(Effect.timeoutOption(database.ping, "200 millis"))
        assert.isBelow(Duration.toMillis(took), 2_000)
        yield* proxy.flow
        yield* database.ping
      })
    )
  })

  describe("a PostgreSQL", () => {
    it.live("R14 may go away while a server that starts is in the middle of making its tables", () =>
      Effect.gen(function* () {
        const server = yield* make()
        const way = yield* StallingProxy.make(server.port)
        yield* Effect.scoped(open(server.settings))
        const hold = "BEGIN; LOCK TABLE discovery_migrations; SELECT pg_sleep(20)"
        yield* Effect.forkChild(server.execute(hold, server.settings.name), { startImmediately: true })
        const waiting = "SELECT count(*) FROM pg_locks WHERE relation IS NOT NULL AND"
        const isHeld = server.execute(`${waiting} mode = 'AccessExclusiveLock' AND granted`, server.settings.name)
        yield* eventually("the table is held", isHeld, (count) => count === "1")
        const opening = yield* Effect.forkChild(open({ ...server.settings, port: way.port }), {
          startImmediately: true
        })
        const isWaiting = server.execute(`${waiting} NOT granted`, server.settings.name)
        yield* eventually("a server waits for it", isWaiting, (count) => count === "1")
        yield* way.refuse
        const { lines } = yield* Fiber.join(opening)
        assert.isTrue(away("Connection closed")(lines), JSON.stringify(lines))
      })
    )

    it.live("may be stopped and started under a running pool, and the first ping after that passes", () =>
      Effect.gen(function* () {
        const server = yield* make()
        const { database } = yield* open({ ...server.settings, poolSize: 2 })
        yield* Effect.all([database.ping, database.ping], { concurrency: 2 })
        yield* server.stop
        assert.strictEqual((yield* Effect.flip(database.ping)).reason._tag, "ConnectionError")
        yield* server.start
        yield* database.ping
        yield* server.pause
        const paused = yield* Effect.timeoutOption(database.ping, "200 millis")
        assert.strictEqual(paused._tag, "None")
        yield* server.resume
        yield* database.ping
      })
    )
  })
})

describe("a PostgreSQL that is not there", () => {
  it.live("R14 G10 may be absent at the start: the ping fails until it is there, in words without a password", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const settings: Settings = {
        kind: "postgres",
        host: "127.0.0.1",
        port,
        name: "ricochet",
        username: "ricochet",
        password: Redacted.make(password),
        sslmode: "disable",
        poolSize: 2
      }
      const { database, lines, tookMillis } = yield* open(settings)
      assert.isBelow(tookMillis, 2_000)
      assert.isTrue(away(`connect ECONNREFUSED 127.0.0.1:${port}`)(lines), JSON.stringify(lines))
      const error = yield* Effect.flip(database.ping)
      assert.strictEqual(error.reason._tag, "ConnectionError")
      assert.notInclude(JSON.stringify([lines, error]), password)
    })
  )
})
