/**
 * What every request meets before its handler and every response after it: the guard, the headers, and problem details
 * for whatever went wrong. It knows no path.
 */
import { Cause, Effect } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse, ProblemDetails } from "effect/http"
import { inert, stringify } from "../logging/InertText.ts"
import { allowedMethods, isOwnHost, isReading } from "./RequestGuard.ts"

const titles = {
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  421: "Misdirected Request",
  500: "Internal Server Error"
} as const

export const problem = (status: keyof typeof titles, detail: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(stringify({ type: ProblemDetails.blankType, title: titles[status], status, detail }), {
    status,
    contentType: ProblemDetails.contentType
  })

/** Text found in a request, for the answer to it: inert (R5), and no longer than it takes to recognise it. */
export const quoted = (text: string): string => inert(text, 64)

const defaultHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store"
}

/** A header that a handler has set itself stays as it is. */
const withDefaultHeaders = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setHeaders(response, { ...defaultHeaders, ...response.headers })

const pathOf = (url: string) => quoted(url.split("?", 1)[0] ?? "")

const ofError = (error: unknown): HttpServerResponse.HttpServerResponse | undefined => {
  if (!HttpServerError.isHttpServerError(error)) return undefined
  if (error.reason._tag === "RouteNotFound") return problem(404, `nothing is at ${pathOf(error.request.url)}`)
  return error.reason._tag === "RequestParseError" ? problem(400, "the request cannot be read") : undefined
}

/** What the client is told of a failure that no handler knows: nothing of this server's insides (G10). */
const ofCause = <E>(cause: Cause.Cause<E>): Effect.Effect<HttpServerResponse.HttpServerResponse, E> => {
  // Whoever asked has gone, or this server is going: there is no one to answer.
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
  const known = ofError(Cause.squash(cause))
  if (known !== undefined) return Effect.succeed(known)
  return Effect.as(
    Effect.logError("request failed", cause),
    problem(500, "this server could not answer; its log says why")
  )
}

/** The application behind the guard. `hostNames`: those that are this server's besides IP addresses and localhost. */
export const guarded = <E, R>(
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  hostNames: ReadonlyArray<string>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const { headers, method } = yield* HttpServerRequest.HttpServerRequest
    if (!isReading(method)) {
      return HttpServerResponse.setHeader(problem(405, `only ${allowedMethods} are served`), "allow", allowedMethods)
    }
    // HTTP/1.0 has no Host header, and no browser speaks it.
    if (headers.host !== undefined && !isOwnHost(headers.host, hostNames)) {
      return problem(421, `${quoted(headers.host)} is no name of this server; ops.allowed_hosts lists further ones`)
    }
    return yield* app
  }).pipe(Effect.catchCause(ofCause), Effect.map(withDefaultHeaders))
