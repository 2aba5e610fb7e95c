/** A server that stops: when it is asked to, when it is asked twice, and while it is still starting. */
import { type AddressInfo, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { eventually } from "./Eventually.ts"
import { launch, sideBySide, start } from "./ServerProcess.ts"

/** A port that takes connections and never says a word. */
const blackHole = Effect.gen(function* () {
  const connected = yield* Deferred.make<void>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}))
    Deferred.doneUnsafe(connected, Effect.void)
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () =>
      Effect.callback<void>((resume) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resume(Effect.void))
      })
  )
  return { port, connected: Deferred.await(connected) }
})

describe("a server that is asked to stop", sideBySide, () => {
  it.live("R13 R23 turns unready, waits the drain delay, and ends with 0", () =>
    Effect.gen(function* () {
      const server = yield* start({ env: { RICOCHET_OPS_DRAIN_DELAY: "2s" } })
      const { ready, status } = yield* server.readiness
      assert.deepStrictEqual({ ready, status }, { ready: true, status: 200 })
      yield* server.signal("SIGINT")
      const { checks, draining } = yield* eventually(
        "/readyz says 503",
        server.readiness,
        ({ status }) => status === 503,
        "1500 millis"
      )
      assert.deepStrictEqual({ checks, draining }, { checks: { postgres: { ok: true } }, draining: true })
      assert.deepStrictEqual(yield* server.ending, { code: 0, signal: null })
      assert.deepStrictEqual(server.stderr, [])
    })
  )

  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143]
  ] as const) {
    it.live(`N03 R23 twice ends at once: ${signal} with ${code}`, () =>
      Effect.gen(function* () {
        const server = yield* start({ env: { RICOCHET_OPS_DRAIN_DELAY: "30s", RICOCHET_OPS_SHUTDOWN_TIMEOUT: "40s" } })
        yield* server.signal(signal)
        yield* eventually("/readyz says 503", server.readiness, ({ status }) => status === 503)
        yield* server.signal(signal)
        const ending = yield* server.ending.pipe(Effect.timeout("3 seconds"))
        assert.deepStrictEqual(ending, { code, signal: null })
      })
    )
  }

  it.live("N03 while it waits for a silent database at its start, ends soon, with nothing published", () =>
    Effect.gen(function* () {
      const { connected, port } = yield* blackHole
      const args = ["--pg-host", "127.0.0.1", "--pg-port", String(port), "--pg-sslmode", "disable"]
      const server = yield* launch({ args: [...args, "--log-level", "debug"] })
      yield* connected
      yield* server.signal("SIGTERM")
      const ending = yield* server.ending.pipe(Effect.timeout("6 seconds"))
      assert.deepStrictEqual(ending, { code: 0, signal: null })
      assert.deepStrictEqual(
        server.logs().filter(({ msg }) => msg.includes("publish")),
        []
      )
    })
  )
})
