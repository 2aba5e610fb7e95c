/** Opens the database that the settings name, tries it once within a bound, and says in the log which one it is. */
import { join } from "node:path"
import { Duration, Effect, Layer, Option, type Scope } from "effect"
import { make as makeReactivity, Reactivity } from "effect/reactivity/Reactivity"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Settings } from "../config/Settings.ts"
import { textOf } from "../logging/FactText.ts"
import { Database, DatabaseRefused } from "./Database.ts"
import { DataDirectory } from "./DataDirectory.ts"
import * as Embedded from "./Embedded.ts"
import { migrate } from "./Migrations.ts"
import * as Postgres from "./Postgres.ts"
import * as Sessions from "./Sessions.ts"

/** Longest time a start waits for the database. */
const startBound = Duration.seconds(3)
const longestErrorText = 200

/**
 * A connection that was lost, or being made, before this ping began says nothing of the database now: it is tried once
 * more on a new one.
 */
const ping = (sql: SqlClient): Effect.Effect<void, SqlError> =>
  sql`SELECT 1`.pipe(
    Effect.retry({ times: 1, while: (error) => error.reason._tag === "ConnectionError" }),
    Effect.asVoid
  )

/**
 * Reaches the database and brings its tables up to date. One that is away, or slow, is left to the self-check and to
 * whoever needs the tables first; one that refuses stops the start (R14).
 */
const tryOnce = Effect.fn("Database.tryOnce")(function* (location: string, sql: SqlClient) {
  const outcome = yield* migrate(sql).pipe(
    Effect.as(undefined),
    Effect.catchTag("SqlError", (error) => {
      const problem = Postgres.refusalOf(error)
      return problem === undefined
        ? Effect.succeed(error.reason.cause)
        : Effect.fail(new DatabaseRefused({ location, problem }))
    }),
    Effect.catchTag("MigrationError", (error) =>
      Effect.fail(new DatabaseRefused({ location, problem: error.message }))
    ),
    Effect.timeoutOption(startBound)
  )
  const away = Option.getOrElse(outcome, () => `no answer within ${Duration.format(startBound)}`)
  if (away !== undefined) {
    const error = textOf(away).slice(0, longestErrorText)
    yield* Effect.annotateLogs(Effect.logWarning("database away"), { location, error })
  }
})

type Service = Database["Service"]

const openPostgres = Effect.fnUntraced(function* (
  settings: Parameters<typeof Postgres.open>[0]
): Effect.fn.Return<Service, never, Scope.Scope | Reactivity> {
  const sql = yield* Sessions.make({
    open: Postgres.open(settings),
    maxSessions: settings.poolSize,
    idleTimeout: "1 minute",
    attributes: [
      ["server.address", settings.host],
      ["server.port", settings.port],
      ["db.namespace", settings.name]
    ]
  })
  return { kind: "postgres", location: Postgres.locationOf(settings), sql, ping: ping(sql) }
})

const openEmbedded = Effect.fnUntraced(function* (
  directory: string
): Effect.fn.Return<Service, DatabaseRefused, Scope.Scope | Reactivity> {
  const sql = yield* Sessions.make({
    open: yield* Embedded.open(directory),
    maxSessions: 1,
    idleTimeout: Duration.infinity,
    attributes: [["db.namespace", directory]]
  })
  return { kind: "embedded", location: directory, sql, ping: ping(sql) }
})

/**
 * The database of the settings: PostgreSQL, or the embedded one in `<data directory>/pglite`. Fails with
 * `DatabaseRefused` (exit code 78) when it answers and refuses; one that cannot be reached fails nothing (R14).
 */
export const layer: Layer.Layer<Database, DatabaseRefused, Settings | DataDirectory> = Layer.effect(
  Database,
  Effect.gen(function* () {
    const { database } = yield* Settings
    const directory = yield* DataDirectory
    const service = yield* (
      database.kind === "postgres" ? openPostgres(database) : openEmbedded(join(directory.path, "pglite"))
    ).pipe(Effect.provideServiceEffect(Reactivity, makeReactivity))
    yield* Effect.annotateLogs(Effect.logInfo("database"), { kind: service.kind, location: service.location })
    yield* tryOnce(service.location, service.sql)
    return service
  })
)

/**
 * The database behind a `SqlClient` that an application has: PostgreSQL, through `@effect/sql-pg`. The tables of
 * discovery, whose names begin with `discovery_`, are made in it. Fails with `DatabaseRefused` (exit code 78) when it
 * answers and refuses, or is no PostgreSQL.
 */
export const layerGiven: Layer.Layer<Database, DatabaseRefused, SqlClient> = Layer.effect(
  Database,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const location = "of this application"
    const isPostgres = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
    if (!isPostgres) return yield* new DatabaseRefused({ location, problem: "it is not PostgreSQL" })
    yield* tryOnce(location, sql)
    return Database.of({ kind: "postgres", location, sql, ping: ping(sql) })
  })
)
