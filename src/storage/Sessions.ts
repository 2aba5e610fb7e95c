/**
 * A pool of PostgreSQL sessions in which an interrupted statement costs its session, at once: a hung one never holds a
 * place in the pool (R16, G01). It speaks to whatever stands behind the Duplex it is given.
 */
import { Duplex } from "node:stream"
import { PgClient } from "@effect/sql-pg"
import { type Duration, Effect, Pool, type Scope } from "effect"
import type { Reactivity } from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** How one session is opened: the client's settings, and a fresh way to the server. */
export interface Endpoint {
  readonly config: PgClient.PgClientConfig
  readonly connect: () => Duplex
}

export interface Session {
  readonly client: PgClient.PgClient
  readonly socket: Duplex
}

const closedStream = (): Duplex => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }).destroy()

/**
 * Opens a session. The client dials a second time only to ask the server to cancel a statement that was interrupted and
 * is not done 10 ms later. Such a request goes unheard on a dead network, and waiting for it would hold the session for
 * 5 seconds; so the session is cut instead, which ends the statement's fiber and makes room in the pool.
 */
export const openSession = (endpoint: Endpoint): Effect.Effect<Session, SqlError, Scope.Scope | Reactivity> =>
  Effect.suspend(() => {
    let socket: Duplex | undefined
    const stream = () => {
      if (socket === undefined) {
        socket = endpoint.connect()
        return socket
      }
      socket.destroy()
      return closedStream()
    }
    return Effect.map(PgClient.makeClient({ ...endpoint.config, stream }), (client) => ({
      client,
      socket: socket ?? closedStream()
    }))
  })

/** A client over at most `maxSessions` sessions, opened when they are needed, and closed after `idleTimeout` without use. */
export const make = Effect.fnUntraced(function* (options: {
  readonly open: Effect.Effect<Session, SqlError, Scope.Scope | Reactivity>
  readonly maxSessions: number
  readonly idleTimeout: Duration.Input
  readonly attributes: ReadonlyArray<readonly [string, unknown]>
}): Effect.fn.Return<SqlClient.SqlClient, never, Scope.Scope | Reactivity> {
  const reactivity = yield* Effect.context<Reactivity>()
  const runFork = Effect.runForkWith(yield* Effect.context())

  // A session that ends while nobody uses it leaves the pool now, and is not found dead by the next statement.
  const pool: Pool.Pool<Session, SqlError> = yield* Pool.makeWithTTL({
    acquire: Effect.tap(Effect.provideContext(options.open, reactivity), (session) =>
      Effect.sync(() => session.socket.once("close", () => runFork(Pool.invalidate(pool, session))))
    ),
    min: 0,
    max: options.maxSessions,
    timeToLive: options.idleTimeout
  })

  const session: Effect.Effect<Session, SqlError, Scope.Scope> = Effect.flatMap(Pool.get(pool), (found) =>
    found.socket.destroyed ? Effect.andThen(Pool.invalidate(pool, found), session) : Effect.succeed(found)
  )

  return yield* SqlClient.make({
    acquirer: Effect.flatMap(session, ({ client }) => client.reserve),
    compiler: PgClient.makeCompiler(),
    driver: "pg",
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"], ...options.attributes]
  })
})
