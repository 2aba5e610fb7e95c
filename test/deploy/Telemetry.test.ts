/** Servers, with and without an OpenTelemetry collector. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { launch, start } from "../process/ServerProcess.ts"
import { collector } from "./Collector.ts"

/** A stop that nothing holds up takes well under a second. */
const grace = Duration.seconds(4)

const stopInTime = (server: { readonly stop: () => Effect.Effect<unknown> }) =>
  Effect.map(Effect.timed(server.stop()), ([took, ending]) => {
    assert.isTrue(Duration.isLessThan(took, grace), Duration.format(took))
    return ending
  })

describe("a server with a collector", () => {
  it.live("sends its log, its metrics and its traces there, to the last line", () =>
    Effect.gen(function* () {
      const { posted, url } = yield* collector("answers")
      const server = yield* start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } })
      assert.deepStrictEqual(yield* stopInTime(server), { code: 0, signal: null })
      assert.deepStrictEqual([...posted.keys()].sort(), ["/v1/logs", "/v1/metrics", "/v1/traces"])
      const text = (path: string) => posted.get(path)?.join("\n") ?? ""
      for (const line of ["configuration loaded", "registry started", server.peerId, "server stopped"]) {
        assert.include(text("/v1/logs"), line)
      }
      for (const metric of ["ricochet_publishes_total", "ricochet_self_checks_total"]) {
        assert.include(text("/v1/metrics"), `"${metric}"`)
      }
      assert.include(text("/v1/traces"), '"SelfCheck.run"')
      for (const path of posted.keys()) assert.include(text(path), '"ricochet"')
    })
  )

  it.live("N03 runs and stops as ever with one that never answers", () =>
    Effect.gen(function* () {
      const { posted, url } = yield* collector("hangs")
      const server = yield* start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } })
      assert.strictEqual((yield* server.readiness).status, 200)
      assert.deepStrictEqual(yield* stopInTime(server), { code: 0, signal: null })
      assert.isAbove(posted.size, 0)
      assert.deepStrictEqual(server.stderr, [])
    })
  )

  it.live("runs and stops as ever with one that is not there", () =>
    Effect.gen(function* () {
      const server = yield* start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } })
      assert.strictEqual((yield* server.readiness).status, 200)
      assert.deepStrictEqual(yield* stopInTime(server), { code: 0, signal: null })
      assert.deepStrictEqual(server.stderr, [])
    })
  )

  it.live("R22 does not start when the variables hold what they cannot", () =>
    Effect.gen(function* () {
      const server = yield* launch({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: "collector" }, withoutData: true })
      assert.deepStrictEqual(yield* server.ending, { code: 78, signal: null })
      assert.deepStrictEqual(server.stderr, [
        "ricochet: OTEL_EXPORTER_OTLP_ENDPOINT is no URL of http or https, such as http://127.0.0.1:4318"
      ])
    })
  )
})
