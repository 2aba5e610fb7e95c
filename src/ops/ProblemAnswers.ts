/** Says what is wrong with a request that the API's definition does not allow: which parameter, what it held, what it may hold. */
import { Effect, SchemaIssue } from "effect"
import { HttpServerRequest } from "effect/http"
import { type HttpApiError, HttpApiMiddleware } from "effect/http-api"
import { quoted } from "./HttpDoor.ts"
import { allowedInQuery, Problems } from "./OpsApi.ts"
import { type BadParameter, InternalFailure, InvalidParameter } from "./Problem.ts"

const allowed = new Map(Object.entries(allowedInQuery))
const knownParameters = [...allowed.keys()].join(", ")

/** Parameters that one answer complains about at most. */
const longestList = 16

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

type Found = Readonly<Record<string, string | ReadonlyArray<string>>>

const badParameters = (error: HttpApiError.HttpApiSchemaError, found: Found): ReadonlyArray<BadParameter> => {
  const { issues } = issuesOf(error.cause.issue)
  const messages = new Map(issues.map(({ message, path }) => [String(path?.[0] ?? ""), message]))
  return [...messages].slice(0, longestList).map(([name, message]) => {
    const value = found[name]
    return {
      parameter: quoted(name),
      found: quoted(value === undefined ? "" : typeof value === "string" ? value : value.join(", ")),
      allowed: error.kind === "Query" ? (allowed.get(name) ?? `one of the parameters ${knownParameters}`) : message
    }
  })
}

export const layer = HttpApiMiddleware.layerSchemaErrorTransform(
  Problems,
  Effect.fnUntraced(function* (error) {
    if (error.kind === "Query" || error.kind === "Headers" || error.kind === "Params") {
      const request = yield* HttpServerRequest.HttpServerRequest
      const query = yield* HttpServerRequest.ParsedSearchParams
      return yield* InvalidParameter.of(badParameters(error, error.kind === "Headers" ? request.headers : query))
    }
    yield* Effect.logError("answer does not fit the API", error.cause)
    return yield* new InternalFailure({ detail: "this server could not answer; its log says why" })
  })
)
