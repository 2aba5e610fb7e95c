import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, type Context, Duration, Effect, Exit, Layer, Logger, Metric, Scope } from "effect"
import * as Telemetry from "../../src/ops/Telemetry.ts"
import { collector } from "../deploy/Collector.ts"

const withVariables = (variables: Readonly<Record<string, string>>) =>
  Telemetry.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(variables))))

/** The services of a context that tell anyone anything. */
const telling = (context: Context.Context<never>) =>
  [...context.mapUnsafe.keys()].filter((key) => /Tracer|Loggers|Otlp/.test(key))

describe("telemetry", () => {
  it.live("sends logs, metrics and traces where the variable says", () =>
    Effect.gen(function* () {
      const { authorizations, posted, url } = yield* collector()
      const scope = yield* Scope.make()
      const context = yield* Layer.build(
        withVariables({
          OTEL_EXPORTER_OTLP_ENDPOINT: url,
          OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=t, authorization=a%20b",
          OTEL_RESOURCE_ATTRIBUTES: "service.instance.id=a%2Fb"
        }).pipe(Layer.provideMerge(Logger.layer([])))
      ).pipe(Scope.provide(scope))
      assert.isAbove(telling(context).length, 0)
      yield* Effect.logInfo("registry started").pipe(
        Effect.andThen(Metric.update(Metric.counter("telemetry_test_total"), 3)),
        Effect.withSpan("Registry.admit"),
        Effect.provideContext(context)
      )
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual([...posted.keys()].sort(), ["/v1/logs", "/v1/metrics", "/v1/traces"])
      for (const [path, told] of [
        ["/v1/logs", "registry started"],
        ["/v1/metrics", "telemetry_test_total"],
        ["/v1/traces", "Registry.admit"]
      ] as const) {
        const text = posted.get(path)?.join() ?? ""
        for (const part of [told, '"ricochet"', '"a/b"']) assert.include(text, part)
      }
      assert.deepStrictEqual([...authorizations], ["a b"])
    }).pipe(Effect.scoped)
  )

  it.live("N03 holds up no stop for a collector that never answers", () =>
    Effect.gen(function* () {
      const { posted, url } = yield* collector("hangs")
      const scope = yield* Scope.make()
      const context = yield* Layer.build(
        withVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: url }).pipe(Layer.provideMerge(Logger.layer([])))
      ).pipe(Scope.provide(scope))
      yield* Effect.logInfo("registry started").pipe(Effect.withSpan("Registry.admit"), Effect.provideContext(context))
      const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.isBelow(Duration.toMillis(took), 4_000)
      assert.isAbove(posted.size, 0)
    }).pipe(Effect.scoped)
  )

  it.live.each([{}, { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, { OTEL_EXPORTER_OTLP_HEADERS: "x-key" }])(
    "is off with %o",
    (variables) =>
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

  it.live("R22 refuses an endpoint with a password in it, and does not tell it", () =>
    Effect.gen(function* () {
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:secret@127.0.0.1:9" }
      const error = yield* Effect.flip(Layer.build(withVariables(variables)))
      assert.deepStrictEqual(
        [error.exitCode, error.message],
        [
          78,
          "OTEL_EXPORTER_OTLP_ENDPOINT has a user name or a password in it, which belong in OTEL_EXPORTER_OTLP_HEADERS"
        ]
      )
    }).pipe(Effect.scoped)
  )

  it.live.each([
    ["OTEL_EXPORTER_OTLP_HEADERS", "x-key=%zz"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "x-key"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%0Ab"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "x key=a"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "x-key=a,"],
    ["OTEL_RESOURCE_ATTRIBUTES", "a=%zz"],
    ["OTEL_RESOURCE_ATTRIBUTES", "a"]
  ] as const)("R22 refuses %s=%s, and does not tell it", ([name, list]) =>
    Effect.gen(function* () {
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", [name]: list }
      const error = yield* Effect.flip(Layer.build(withVariables(variables)))
      assert.deepStrictEqual(
        [error.exitCode, error.message],
        [78, `${name} is no list of names and URI-encoded values, such as api-key=a%20b,tenant=c`]
      )
    }).pipe(Effect.scoped)
  )
})
