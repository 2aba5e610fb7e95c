import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import {
  AuthenticationError,
  ConnectionError,
  SqlError,
  type SqlErrorReason,
  StatementTimeoutError,
  UnknownError
} from "effect/sql/SqlError"
import { locationOf, refusalOf } from "../../src/storage/Postgres.ts"

const settings = {
  kind: "postgres",
  host: "db.example",
  port: 5432,
  name: "ricochet",
  username: "operator",
  password: Redacted.make("secret"),
  sslmode: "require",
  poolSize: 25
} as const

const error = (reason: SqlErrorReason) => new SqlError({ reason })
/** An error that the server reported, as the client makes it. */
const reported = (code: string, message: string) =>
  error(new UnknownError({ cause: Object.assign(new Error(message), { code }), message: "Query failed" }))
const broken = (cause: unknown) => error(new ConnectionError({ cause, message: "Failed to connect" }))

describe("the location of a PostgreSQL", () => {
  it("G10 names all that is needed to find a mistake, and no password", () => {
    assert.strictEqual(locationOf(settings), "postgres://operator@db.example:5432/ricochet")
    assert.strictEqual(locationOf({ ...settings, host: "::1" }), "postgres://operator@[::1]:5432/ricochet")
  })
})

describe("an error of a PostgreSQL", () => {
  it.each([
    ["28P01", "password authentication failed"],
    ["28000", "no pg_hba.conf entry for host"],
    ["3D000", 'database "x" does not exist'],
    ["42501", "permission denied for schema public"],
    ["3F000", "no schema has been selected to create in"],
    ["25006", "cannot execute CREATE TABLE in a read-only transaction"],
    ["42601", "syntax error"]
  ])("R14 is a refusal when it answers with %s", (code, message) => {
    assert.strictEqual(refusalOf(reported(code, message)), message)
  })

  it.each([
    ["57P03", "the database system is starting up"],
    ["57P01", "terminating connection due to administrator command"],
    ["53300", "sorry, too many clients already"],
    ["53100", "could not extend file: No space left on device"],
    ["55P03", "canceling statement due to lock timeout"],
    ["40P01", "deadlock detected"],
    ["08006", "connection failure"],
    ["58030", "could not write to file"]
  ])("R14 says that it cannot answer now when it answers with %s", (code, message) => {
    assert.strictEqual(refusalOf(reported(code, message)), undefined)
  })

  it("R14 says that it cannot be reached when the connection breaks or times out", () => {
    const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED" })
    for (const cause of [refused, new AggregateError([refused]), new Error("Connection timed out"), "odd"]) {
      assert.strictEqual(refusalOf(broken(cause)), undefined)
    }
    assert.strictEqual(refusalOf(error(new StatementTimeoutError({ cause: new Error("canceled") }))), undefined)
  })

  it.each([
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "Hostname/IP does not match certificate's altnames"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate"],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unable to get local issuer certificate"],
    ["CERT_HAS_EXPIRED", "certificate has expired"]
  ])("R14 is a refusal when its certificate does not hold: %s", (code, message) => {
    const cause = Object.assign(new Error(message), { code })
    assert.strictEqual(refusalOf(broken(cause)), `its certificate: ${message}`)
  })

  it("R14 is a refusal when no way to log in is left", () => {
    const cause = new Error("Authentication method GSSAPI is not supported")
    assert.strictEqual(refusalOf(error(new AuthenticationError({ cause, message: "x" }))), cause.message)
  })
})
