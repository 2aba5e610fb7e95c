import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import {
  AuthenticationError,
  ConnectionError,
  SqlError,
  StatementTimeoutError,
  UnknownError
} from "effect/sql/SqlError"
import * as DatabaseCheck from "../../src/health/DatabaseCheck.ts"
import { Readiness } from "../../src/health/Readiness.ts"
import * as ReadinessChecks from "../../src/health/ReadinessChecks.ts"
import { Database } from "../../src/storage/Database.ts"

const layerWith = (ping: Effect.Effect<void, SqlError>) =>
  DatabaseCheck.layer.pipe(
    Layer.provideMerge(ReadinessChecks.layer),
    Layer.provide(Layer.mock(Database, { kind: "postgres", location: "127.0.0.1:5432/ricochet", ping }))
  )

const report = Effect.flatMap(Readiness, (readiness) => readiness.report(Duration.seconds(2)))

const nodeError = (message: string, code: string) => Object.assign(new Error(message), { code })
const connecting = (cause: unknown) => new ConnectionError({ cause, message: "PgConnection: Failed to connect" })

describe("the database check", () => {
  it.effect("S9 is called postgres and passes with the ping", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* report).checks, { postgres: { ok: true } })
    }).pipe(Effect.provide(layerWith(Effect.void)))
  )

  it.effect.each([
    {
      outside: "refused",
      reason: connecting(nodeError("connect ECONNREFUSED 10.0.0.7:5432", "ECONNREFUSED")),
      log: "postgres: refused: PgConnection: Failed to connect: connect ECONNREFUSED 10.0.0.7:5432"
    },
    {
      outside: "refused",
      reason: connecting(Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" })),
      log: "postgres: refused: PgConnection: Failed to connect: ECONNREFUSED"
    },
    {
      outside: "unreachable",
      reason: connecting(nodeError("getaddrinfo ENOTFOUND db.internal", "ENOTFOUND")),
      log: "postgres: unreachable: PgConnection: Failed to connect: getaddrinfo ENOTFOUND db.internal"
    },
    {
      outside: "timed out",
      reason: connecting(nodeError("connect ETIMEDOUT 10.0.0.7:5432", "ETIMEDOUT")),
      log: "postgres: timed out: PgConnection: Failed to connect: connect ETIMEDOUT 10.0.0.7:5432"
    },
    {
      outside: "timed out",
      reason: new ConnectionError({ cause: undefined, message: "Connection timed out" }),
      log: "postgres: timed out: Connection timed out"
    },
    {
      outside: "timed out",
      reason: new StatementTimeoutError({ cause: new Error("canceling statement due to statement timeout") }),
      log: "postgres: timed out: StatementTimeoutError: canceling statement due to statement timeout"
    },
    {
      outside: "access denied",
      reason: new AuthenticationError({ cause: new Error('password authentication failed for user "ricochet"') }),
      log: 'postgres: access denied: AuthenticationError: password authentication failed for user "ricochet"'
    },
    {
      outside: "failed",
      reason: new UnknownError({ cause: new Error("SELECT 1: out of memory") }),
      log: "postgres: failed: UnknownError: SELECT 1: out of memory"
    }
  ])("G10 S12 says `$outside` outside and all of it inside: $log", ({ log, outside, reason }) =>
    Effect.gen(function* () {
      const { checks, failures } = yield* report
      assert.deepStrictEqual(checks, { postgres: { ok: false, error: outside } })
      assert.deepStrictEqual(
        failures.map(({ message }) => message),
        [log]
      )
    }).pipe(Effect.provide(layerWith(Effect.fail(new SqlError({ reason })))))
  )
})
