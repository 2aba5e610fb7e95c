/** How a PostgreSQL server is reached as it is set, and what its answers mean. It runs no query. */
import { connect } from "node:net"
import type { ConnectionOptions } from "node:tls"
import { Duration, Effect, type Scope } from "effect"
import type { Reactivity } from "effect/reactivity/Reactivity"
import { ConnectionError, type SqlError } from "effect/sql/SqlError"
import type { DatabaseSettings } from "../config/Settings.ts"
import { addressOf, isSocketDirectory } from "./PostgresAddress.ts"
import { type Endpoint, openSession, type Session } from "./Sessions.ts"

type PostgresSettings = Extract<DatabaseSettings, { readonly kind: "postgres" }>

/** Longest time for one connection to be made: name, TCP, TLS, password. */
const connectTimeout = Duration.seconds(3)

/** Host, port, database and user, for logs and errors: whatever is needed to find the mistake, never the password. */
export const locationOf = (settings: PostgresSettings): string => {
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host
  return `postgres://${settings.username}@${host}:${settings.port}/${settings.name}`
}

/** What `sslmode` asks of the certificate; libpq gives the names their meaning. A Unix socket is never encrypted. */
const tlsOf = (settings: PostgresSettings): false | ConnectionOptions => {
  if (isSocketDirectory(settings)) return false
  switch (settings.sslmode) {
    case "disable":
      return false
    case "prefer":
    case "require":
      return { rejectUnauthorized: false }
    case "verify-ca":
      return { checkServerIdentity: () => undefined }
    case "verify-full":
      return {}
  }
}

const endpointOf = (settings: PostgresSettings, ssl: false | ConnectionOptions): Endpoint => ({
  config: {
    host: settings.host,
    port: settings.port,
    database: settings.name,
    username: settings.username,
    password: settings.password,
    ssl,
    connectTimeout,
    applicationName: "ricochet-discovery"
  },
  connect: () =>
    connect({
      ...addressOf(settings),
      noDelay: true,
      // A server that vanished without a word is noticed on an idle connection in about 40 seconds.
      keepAlive: true,
      keepAliveInitialDelay: 30_000
    })
})

/** What the client says when the server will not speak TLS; it gives it no code. */
const tlsRefused = "The server does not support TLS"

const isTlsRefused = (error: SqlError): boolean =>
  error.reason.cause instanceof Error && error.reason.cause.message === tlsRefused

/** Opens a session. `prefer` goes without TLS only where the server says that it speaks none. */
export const open = (settings: PostgresSettings): Effect.Effect<Session, SqlError, Scope.Scope | Reactivity> => {
  const session = openSession(endpointOf(settings, tlsOf(settings)))
  return settings.sslmode === "prefer"
    ? Effect.catchIf(session, isTlsRefused, () => openSession(endpointOf(settings, false)))
    : session
}

/** SQLSTATE classes of a server that cannot answer now: connection, conflict, resources, in use, operator, system. */
const passing = ["08", "40", "53", "55", "57", "58"]

/** Codes of Node's TLS for a certificate that was looked at and does not hold. */
const certificateProblem = /CERT|SIGNATURE|ISSUER|CA_|_CRL/

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""

/**
 * Why the server will not have us, in its own words, when it answered and refused; nothing when it cannot be reached or
 * cannot answer now, which a self-check tells better than a failed start (R14).
 */
export const refusalOf = (error: SqlError): string | undefined => {
  const { reason } = error
  const cause: unknown = reason.cause
  const text = cause instanceof Error ? cause.message : String(cause)
  if (isTlsRefused(error)) return "the server does not speak TLS, set database.sslmode to disable if that is meant"
  const code = codeOf(cause)
  if (reason instanceof ConnectionError) return certificateProblem.test(code) ? `its certificate: ${text}` : undefined
  if (reason._tag === "AuthenticationError") return text
  return /^[0-9A-Z]{5}$/.test(code) && !passing.includes(code.slice(0, 2)) ? text : undefined
}
