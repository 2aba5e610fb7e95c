/** The database this server keeps things in: PostgreSQL, or an embedded one behind the same client. */
import { Context, type Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/**
 * The database answers and refuses, or what is set for it cannot be right: a wrong password, no such database, no
 * right to create tables, a certificate that does not hold, a damaged embedded database. Source: ruling R14.
 */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", {
  /** Where it is, never with a password. */
  location: Schema.String,
  /** In the words of the one who refused. */
  problem: Schema.String
}) {
  get exitCode() {
    return 78 as const
  }
  override get message() {
    return `the database ${this.location} cannot be used: ${this.problem}`
  }
}

/** The database of a server, whichever it is. */
export class Database extends Context.Service<
  Database,
  {
    /** PostgreSQL, or the embedded one, which is PostgreSQL in this process. */
    readonly kind: "postgres" | "embedded"
    /** Where it is, for the log: never a password. */
    readonly location: string
    /** Effect's client for it, on the pool that the server uses. */
    readonly sql: SqlClient
    /**
     * One round trip through the pool that the server uses. Interrupting it ends it at once and discards its
     * connection, so that a hung one never holds a place in the pool (R16, G01).
     */
    readonly ping: Effect.Effect<void, SqlError>
  }
>()("ricochet-discovery/storage/Database") {}
