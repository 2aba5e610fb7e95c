/** Signed bytes caught on the wire and sent again to a process that has started anew, and knows none of GossipSub's IDs. */
import { assert, describe, it } from "@effect/vitest"
import { peerIdFromPrivateKey } from "@libp2p/peer-id"
import { Effect } from "effect"
import { announceTopic, heartbeatTopic, topics } from "../../../src/gossip/Topic.ts"
import { type Running, start, temporaryDirectory } from "../../process/ServerProcess.ts"
import { anyKey, inject, rawGossip, rawMessage } from "../../wires/RawGossip.ts"

/** A stranger beside a server, on both topics with it. */
const beside = Effect.fnUntraced(function* (server: Running) {
  const stranger = yield* rawGossip
  yield* stranger.connect(server.address)
  yield* Effect.forEach(topics, stranger.join)
  return stranger
})

describe("a message caught on the wire", () => {
  it.live("R7 R14 A03 A04 refreshes and heals nobody when it is sent again after a restart", () =>
    Effect.gen(function* () {
      const key = yield* Effect.promise(anyKey)
      const victim = peerIdFromPrivateKey(key).toString()
      const said = Date.now()
      const words = (healthy: boolean, afterMillis: number) =>
        JSON.stringify({
          server_id: victim,
          healthy,
          uptime_score: 0.5,
          timestamp: new Date(said + afterMillis).toISOString()
        })
      const caught = yield* Effect.promise(() =>
        Promise.all([
          rawMessage(key, { topic: announceTopic, text: words(true, 0) }),
          rawMessage(key, { topic: heartbeatTopic, text: words(true, 1) }),
          rawMessage(key, { topic: heartbeatTopic, text: words(false, 2) })
        ])
      )
      const directory = yield* temporaryDirectory
      const begin = start({ directory, env: { RICOCHET_LOGGING_LEVEL: "debug" } })
      const ill = { listed: false, reason: "unhealthy", connected: false }

      const first = yield* begin
      yield* inject(yield* beside(first), caught)
      yield* first.says(victim, ill)
      const before = (yield* first.service(victim)).service?.last_heard
      assert.deepStrictEqual(yield* first.stop(), { code: 0, signal: null })

      const again = yield* begin
      yield* again.says(victim, ill)
      yield* inject(yield* beside(again), caught.toReversed())
      for (const topic of topics) {
        const refused = yield* again.log("ignored message", (line) => line.topic === topic && line.sender === victim)
        assert.strictEqual(refused.reason, "repeated")
      }
      yield* again.says(victim, ill)
      assert.strictEqual((yield* again.service(victim)).service?.last_heard, before)
    })
  )
})
