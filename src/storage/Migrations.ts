/**
 * The tables this server keeps, and how an older database comes to have them. They stand beside those of the rest of
 * Ricochet in one database, so every name begins with `discovery_`.
 */
import { Context, Effect, Layer, References } from "effect"
import { fromRecord, type MigrationError, make } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { SqlError } from "effect/sql/SqlError"
import { Database } from "./Database.ts"

/** Every row has an owner, the peer ID of the server that wrote it: servers that share a database do not mix (R14). */
const keep = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`
    CREATE TABLE discovery_servers (
      owner text NOT NULL,
      server_id text NOT NULL,
      announcement bytea,
      announcement_nanos numeric,
      heartbeat bytea,
      heartbeat_nanos numeric,
      first_heard_millis double precision NOT NULL,
      last_heard_millis double precision NOT NULL,
      PRIMARY KEY (owner, server_id)
    )`
  yield* sql`
    CREATE TABLE discovery_checks (
      owner text NOT NULL,
      started_millis double precision NOT NULL,
      duration_millis double precision NOT NULL,
      ok boolean NOT NULL,
      error_class text,
      PRIMARY KEY (owner, started_millis)
    )`
})

/** Where a server can be dialled, one address a line, for whoever is alone after a restart (R15). */
const addresses = Effect.flatMap(SqlClient, (sql) => sql`ALTER TABLE discovery_servers ADD COLUMN addresses text`)

/**
 * Servers that were pushed out of a full registry keep their row, so that no old copy of their words counts after a
 * restart (R7). The index is for finding the oldest of them.
 */
const evicted = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE discovery_servers ADD COLUMN evicted boolean NOT NULL DEFAULT false`
  yield* sql`CREATE INDEX discovery_servers_evicted ON discovery_servers (owner, last_heard_millis) WHERE evicted`
})

const run = make({})({
  loader: fromRecord({ "1_keep": keep, "2_addresses": addresses, "3_evicted": evicted }),
  table: "discovery_migrations"
})

const isSqlError = (cause: unknown): cause is SqlError => cause instanceof SqlError

/**
 * Brings the tables up to date, in one transaction under a lock on the table of migrations: servers that start on one
 * database at the same time wait for each other, and a start that is killed in between leaves nothing half done.
 */
export const migrate = (sql: SqlClient): Effect.Effect<void, SqlError | MigrationError> =>
  run.pipe(
    Effect.catchTag("MigrationError", (error) => Effect.fail(isSqlError(error.cause) ? error.cause : error)),
    // A connection that is lost in the middle cannot be rolled back either, which the library takes for a bug.
    Effect.catchDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
    Effect.provideService(SqlClient, sql),
    // Its lines are the library's, not this server's.
    Effect.provideService(References.MinimumLogLevel, "Warn"),
    Effect.asVoid
  )

/** The client for whoever needs the tables: a database that was away at the start gets them when it is first needed. */
export class Tables extends Context.Service<
  Tables,
  {
    readonly sql: Effect.Effect<SqlClient, SqlError | MigrationError>
    /** A write has failed: whoever needs the tables next looks again whether they are there, for they may have gone. */
    readonly doubt: Effect.Effect<void>
  }
>()("ricochet-discovery/storage/Tables") {
  static readonly layer: Layer.Layer<Tables, never, Database> = Layer.effect(
    Tables,
    Effect.gen(function* () {
      const { sql } = yield* Database
      let isMigrated = false
      return {
        sql: Effect.gen(function* () {
          if (!isMigrated) yield* migrate(sql)
          isMigrated = true
          return sql
        }),
        doubt: Effect.sync(() => {
          isMigrated = false
        })
      }
    })
  )
}
