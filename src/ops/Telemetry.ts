/**
 * Traces, metrics and logs to an OpenTelemetry collector, where `OTEL_EXPORTER_OTLP_ENDPOINT` names one. Without it
 * nothing is sent anywhere. A collector that does not answer costs nothing but what it misses.
 */
import { Config, Effect, Layer, Option, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { version } from "./Version.ts"

/** The variables hold something that they cannot. Exit code 78 (R22). */
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

/** The base URL of the collector, such as `http://127.0.0.1:4318`; an empty variable is unset. */
const endpoint = Config.String(endpointVariable).pipe(Config.option, Config.map(Option.filter((text) => text !== "")))

const headers = Config.Record(Schema.String, Schema.StringFromUriComponent, headersVariable).pipe(
  Config.withDefault({})
)

const isHttpUrl = (text: string) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

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
    const found = yield* Effect.orDie(endpoint)
    if (Option.isNone(found)) return Layer.empty
    if (!isHttpUrl(found.value)) {
      const problem = `${endpointVariable} is no URL of http or https, such as http://127.0.0.1:4318`
      return yield* new TelemetryMisconfigured({ problem })
    }
    return Otlp.layerJson({
      baseUrl: found.value,
      headers: yield* Effect.mapError(headers, () => {
        const problem = `${headersVariable} is no list of names and URI-encoded values, such as api-key=a%20b,tenant=c`
        return new TelemetryMisconfigured({ problem })
      }),
      resource: { serviceName: "ricochet", serviceVersion: version },
      loggerMergeWithExisting: true,
      shutdownTimeout: stopGrace
    }).pipe(Layer.provide(FetchHttpClient.layer), Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetchInTime)))
  })
)
