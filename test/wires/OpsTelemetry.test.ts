import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, type Context, Effect, Exit, Layer, Logger, Metric, Scope } from "effect"
import * as Telemetry from "../../src/ops/Telemetry.ts"

const withVariables = (variables: Readonly<Record<string, string>>) =>
  Telemetry.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(variables))))

/** The services of a context that tell anyone anything. */
const telling = (context: Context.Context<never>) =>
  [...context.mapUnsafe.keys()].filter((key) => /Tracer|Loggers|Otlp/.test(key))

/** Keeps what is posted to it, by path. */
const collector = Effect.acquireRelease(
  Effect.callback<{ url: string; posted: Map<string, string>; keys: Set<unknown>; close: () => void }>((resume) => {
    const posted = new Map<string, string>()
    const keys = new Set<unknown>()
    const server = createServer((request, response) => {
      let text = ""
      request.on("data", (data) => {
        text += data
      })
      request.on("end", () => {
        posted.set(request.url ?? "", (posted.get(request.url ?? "") ?? "") + text)
        keys.add(request.headers["x-key"])
        response.end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const close = () => void server.close().closeAllConnections()
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, posted, keys, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe("telemetry", () => {
  it.live("sends logs, metrics and traces where the variable says", () =>
    Effect.gen(function* () {
      const { keys, posted, url } = yield* collector
      const scope = yield* Scope.make()
      const context = yield* Layer.build(
        withVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b" }).pipe(
          Layer.provideMerge(Logger.layer([]))
        )
      ).pipe(Scope.provide(scope))
      assert.isAbove(telling(context).length, 0)
      yield* Effect.logInfo("registry started").pipe(
        Effect.andThen(Metric.update(Metric.counter("telemetry_test_total"), 3)),
        Effect.withSpan("Registry.admit"),
        Effect.provideContext(context)
      )
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual([...posted.keys()].sort(), ["/v1/logs", "/v1/metrics", "/v1/traces"])
      assert.include(posted.get("/v1/logs"), "registry started")
      assert.include(posted.get("/v1/metrics"), "telemetry_test_total")
      assert.include(posted.get("/v1/traces"), "Registry.admit")
      assert.deepStrictEqual([...keys], ["a b"])
    }).pipe(Effect.scoped)
  )

  it.live.each([{}, { OTEL_EXPORTER_OTLP_ENDPOINT: "" }])("is off with %o", (variables) =>
    Effect.gen(function* () {
      const context = yield* Layer.build(withVariables(variables))
      assert.deepStrictEqual(telling(context), [])
    }).pipe(Effect.scoped)
  )

  it.live.each(["collector:4318", "ftp://x", "127.0.0.1"])("R22 refuses %s", (text) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(withVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: text })))
      assert.deepStrictEqual(
        [error.exitCode, error.message],
        [78, "OTEL_EXPORTER_OTLP_ENDPOINT is no URL of http or https, such as http://127.0.0.1:4318"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("R22 refuses headers that are not encoded", () =>
    Effect.gen(function* () {
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_HEADERS: "x-key=%zz" }
      const error = yield* Effect.flip(Layer.build(withVariables(variables)))
      assert.deepStrictEqual(
        [error.exitCode, error.message],
        [78, "OTEL_EXPORTER_OTLP_HEADERS is no list of names and URI-encoded values, such as api-key=a%20b,tenant=c"]
      )
    }).pipe(Effect.scoped)
  )
})
