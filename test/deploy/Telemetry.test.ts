/** Servers, with and without an OpenTelemetry collector. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { launch, type Running, start } from "../process/ServerProcess.ts"
import { collector } from "./Collector.ts"

/** A stop that nothing holds up takes well under a second. */
const grace = Duration.seconds(4)

/** What a collector asks for, and nobody else is to see. */
const secret = { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20open-sesame" }

const hasKeptIt = ({ stderr, stdout }: Running) =>
  assert.notMatch([...stdout, ...stderr].join("\n"), /sesame|authorization/i)

const stopInTime = (server: { readonly stop: () => Effect.Effect<unknown> }) =>
  Effect.map(Effect.timed(server.stop()), ([took, ending]) => {
    assert.isTrue(Duration.isLessThan(took, grace), Duration.format(took))
    return ending
  })

describe("a server with a collector", () => {
  it.live("sends its log, its metrics and its traces there, to the last line", () =>
    Effect.gen(function* () {
      const { authorizations, posted, url } = yield* collector()
      const server = yield* start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...secret } })
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
      assert.deepStrictEqual([...authorizations], ["Bearer open-sesame"])
      hasKeptIt(server)
      for (const path of posted.keys()) {
        assert.include(text(path), '"ricochet"')
        assert.notInclude(text(path), "sesame")
      }
    })
  )

  it.live("runs and stops as ever with one that is not there, and has little to say about it", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(collector())
      const server = yield* start({
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...secret, RICOCHET_LOGGING_LEVEL: "debug" }
      })
      const telling = server.log("Disabling exporter for 60 seconds", ({ module }) => module === "OtlpLogger")
      assert.include(String((yield* telling).cause), "/v1/logs")
      assert.strictEqual((yield* server.readiness).status, 200)
      assert.deepStrictEqual(yield* stopInTime(server), { code: 0, signal: null })
      assert.deepStrictEqual(server.stderr, [])
      const told = server.logs().filter(({ msg }) => msg.startsWith("Disabling exporter"))
      assert.deepStrictEqual([...new Set(told.map(({ level }) => level))], ["DEBUG"])
      assert.isAtMost(told.length, 3)
      hasKeptIt(server)
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
