/**
 * Traces, metrics and logs to an OpenTelemetry collector, where `OTEL_EXPORTER_OTLP_ENDPOINT` names one. Without it
 * nothing is sent anywhere. A collector that does not answer costs nothing but what it misses.
 */
import { Config, Effect, Layer, Option, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { version } from "./Version.ts"

/** The variables hold something that they cannot. Exit code 78 (R22). What they hold may be secret, and is not told. */
export class TelemetryMisconfigured extends Schema.TaggedError<TelemetryMisconfigured>()("TelemetryMisconfigured", {
  problem: Schema.String
}) {
  get exitCode() {
    return 78
  }
  override get message() {
    return this.problem
  }
}

const endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"
const attributesVariable = "OTEL_RESOURCE_ATTRIBUTES"

/** An empty variable is unset. */
const variable = (name: string) =>
  Config.String(name).pipe(Config.option, Config.map(Option.filter((text) => text !== "")), Effect.orDie)

/** What is wrong with the base URL of a collector. */
const problemOf = (endpoint: string): string | undefined => {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return `${endpointVariable} is no URL of http or https, such as http://127.0.0.1:4318`
  }
  return `${url.username}${url.password}` === ""
    ? undefined
    : `${endpointVariable} has a user name or a password in it, which belong in ${headersVariable}`
}

/** Throws where it is no pair. */
const pairIn = (text: string): [name: string, value: string] => {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text.trim()) ?? []
  if (name === undefined || value === undefined) throw new Error("there is no = between a name and a value")
  return [decodeURIComponent(name), decodeURIComponent(value)]
}

/** The list in a variable as `use` takes it. What cannot be used is refused here: later, it would be quoted in the log. */
const listIn = <A>(name: string, use: (pairs: Array<[name: string, value: string]>) => A) =>
  Effect.flatMap(variable(name), (list) =>
    Effect.try({
      try: () => use(Option.match(list, { onNone: () => [], onSome: (text) => text.split(",").map(pairIn) })),
      catch: () => {
        const problem = `${name} is no list of names and URI-encoded values, such as api-key=a%20b,tenant=c`
        return new TelemetryMisconfigured({ problem })
      }
    })
  )

/** A request that takes longer has failed, so that what waits for a silent collector does not pile up. */
const longestRequestMillis = 5_000

/** What still waits at the stop is given so long. */
const stopGrace = "1 second"

const fetchInTime: typeof fetch = (input, init) => {
  const signals = [AbortSignal.timeout(longestRequestMillis), ...(init?.signal == null ? [] : [init.signal])]
  return fetch(input, { ...init, signal: AbortSignal.any(signals) })
}

export const layer: Layer.Layer<never, TelemetryMisconfigured> = Layer.unwrap(
  Effect.gen(function* () {
    const endpoint = yield* variable(endpointVariable)
    if (Option.isNone(endpoint)) return Layer.empty
    const problem = problemOf(endpoint.value)
    if (problem !== undefined) return yield* new TelemetryMisconfigured({ problem })
    const headers = yield* listIn(headersVariable, (pairs) => Object.fromEntries(new Headers(pairs)))
    const attributes = yield* listIn(attributesVariable, Object.fromEntries)
    return Otlp.layerJson({
      baseUrl: endpoint.value,
      headers,
      resource: { serviceName: "ricochet", serviceVersion: version, attributes },
      loggerMergeWithExisting: true,
      shutdownTimeout: stopGrace
    }).pipe(Layer.provide(FetchHttpClient.layer), Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetchInTime)))
  })
)
