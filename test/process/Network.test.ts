/** Servers that meet, over real connections between real processes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "./Eventually.ts"
import { sideBySide, start } from "./ServerProcess.ts"

/** A server whose addresses lead nowhere: others meet it only on connections that it opened itself. */
const unreachable = { RICOCHET_SERVER_EXTERNAL_ADDRESSES: "/ip4/127.0.0.1/tcp/9" }

describe("servers in a line, and an island", sideBySide, () => {
  it.live("S19 S20 R13 E02 find each other through the one between, and lose each other at a planned stop", () =>
    Effect.gen(function* () {
      const middle = yield* start()
      const bootstrap = ["--bootstrap", middle.address]
      const [left, right, island] = yield* Effect.all(
        [start({ args: bootstrap, env: unreachable }), start({ args: bootstrap, env: unreachable }), start()],
        { concurrency: 2 }
      )
      yield* left.lists([middle.peerId, right.peerId])
      yield* middle.lists([left.peerId, right.peerId])
      yield* right.lists([left.peerId, middle.peerId])

      yield* left.says(right.peerId, { listed: true, reason: "available", connected: false })
      yield* left.says(middle.peerId, { listed: true, reason: "available", connected: true })
      yield* left.says(island.peerId, {
        listed: false,
        reason: "never-announced",
        connected: false
      })
      assert.deepStrictEqual((yield* island.services).services, [])

      assert.deepStrictEqual(yield* left.stop(), { code: 0, signal: null })
      yield* right.lists([middle.peerId], "5 seconds")
      yield* right.says(left.peerId, { listed: false, reason: "unhealthy", connected: false })

      assert.deepStrictEqual(yield* middle.stop("SIGKILL"), { code: null, signal: "SIGKILL" })
      yield* eventually(
        "the crashed server is listed, and not connected",
        right.why(middle.peerId),
        ({ connected }) => !connected
      )
      yield* right.lists([middle.peerId])
    })
  )

  it.live("D04 C04 R15 a bootstrap peer that starts later, and again, is met without a restart of the others", () =>
    Effect.gen(function* () {
      const seed = "7e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d"
      const known = { RICOCHET_SEED_HEX: seed }
      const first = yield* start({ env: known })
      const port = /\/tcp\/(\d+)\//.exec(first.address)?.[1] ?? ""
      const address = { RICOCHET_SERVER_LISTEN_ADDRESSES: `/ip4/127.0.0.1/tcp/${port}`, ...known }
      yield* first.stop()

      const other = yield* start({ args: ["--bootstrap", first.address] })
      assert.deepStrictEqual((yield* other.services).services, [])
      const second = yield* start({ env: address })
      yield* other.lists([second.peerId])
      yield* second.lists([other.peerId])

      yield* second.stop("SIGKILL")
      const third = yield* start({ env: address })
      yield* third.lists([other.peerId])
      const before = (yield* second.log("registry started")).time
      yield* eventually(
        "the entry of the server that started again is fresh",
        other.service(third.peerId),
        ({ connected, service }) => connected && (service?.last_heard ?? "") > before
      )
    })
  )
})
