/** The check named `postgres`: one round trip to the database through the pool that the server uses (S9). */
import { Effect, Layer } from "effect"
import { causeChain, textOf } from "../logging/FactText.ts"
import { Database } from "../storage/Database.ts"
import { CheckFailed, Readiness } from "./Readiness.ts"

/** The specification's own word for this check, whichever database stands behind it. */
export const databaseCheckName = "postgres"

const has =
  (key: "_tag" | "code", ...values: ReadonlyArray<string>) =>
  (error: unknown) =>
    typeof error === "object" && error !== null && key in error && values.includes(String(Reflect.get(error, key)))

/** What strangers may read of a database error: a word from a closed set, never a host, a user or SQL (G10). */
export const outsideText = (error: unknown): "refused" | "timed out" | "access denied" | "unreachable" | "failed" => {
  const chain = causeChain(error)
  if (chain.some(has("code", "ECONNREFUSED"))) return "refused"
  if (chain.some(has("code", "ETIMEDOUT")) || chain.some(has("_tag", "StatementTimeoutError", "LockTimeoutError"))) {
    return "timed out"
  }
  if (chain.some(has("_tag", "AuthenticationError", "AuthorizationError"))) return "access denied"
  if (/tim(ed|e) ?out/i.test(textOf(error))) return "timed out"
  return chain.some(has("_tag", "ConnectionError")) ? "unreachable" : "failed"
}

export const layer: Layer.Layer<never, never, Database | Readiness> = Layer.effectDiscard(
  Effect.gen(function* () {
    const database = yield* Database
    const readiness = yield* Readiness
    yield* readiness.register(
      databaseCheckName,
      Effect.mapError(
        database.ping,
        (cause) => new CheckFailed({ check: databaseCheckName, outside: outsideText(cause), cause })
      )
    )
  })
)
