/** Two processes that share one key file, as a copied machine does: who is told, over real connections. */
import { randomBytes } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { announceTopic, heartbeatTopic } from "../../../src/gossip/Topic.ts"
import * as LinkedServers from "../../process/LinkedServers.ts"
import { start, temporaryDirectory } from "../../process/ServerProcess.ts"

/** An announcement and a heartbeat every 2 seconds. */
const env = { RICOCHET_INTERVALS_SERVICE_ANNOUNCEMENT_MIN: "0.034", RICOCHET_INTERVALS_HEALTH_CHECK_MIN: "0.034" }

describe("two servers that share one key file", () => {
  it.live("R18 H03 are told so by their own logs, and by those of the servers between them", () =>
    Effect.gen(function* () {
      const key = join(yield* temporaryDirectory, "shared.key")
      yield* Effect.promise(() => writeFile(key, randomBytes(32), { mode: 0o600 }))
      const linked = yield* LinkedServers.make(2, { env })
      /** One that is found on the connection it opens itself: a peer ID that is in two places cannot be dialled. */
      const twin = (region: string, neighbour: number) =>
        start({
          args: ["--region", region],
          env: {
            ...env,
            RICOCHET_SERVER_IDENTITY_FILE: key,
            RICOCHET_SERVER_EXTERNAL_ADDRESSES: "/ip4/127.0.0.1/tcp/9",
            RICOCHET_SERVER_BOOTSTRAP_PEERS: `/ip4/127.0.0.1/tcp/${linked.ports[neighbour]}/p2p/${linked.peerIds[neighbour]}`
          }
        })
      const [left, right, ...observers] = yield* Effect.all(
        [twin("eu-west", 0), twin("us-east", 1), start(linked.options(0)), start(linked.options(1))],
        { concurrency: "unbounded" }
      )
      const { peerId } = left
      assert.strictEqual(right.peerId, peerId)

      for (const server of [left, right]) {
        for (const topic of [announceTopic, heartbeatTopic]) {
          const told = yield* server.log("another server is publishing as this one", (line) => line.topic === topic)
          assert.deepInclude(told, { level: "WARN", sender: peerId })
        }
        // Neither of them lists the other, and so itself.
        yield* server.lists(linked.peerIds)
      }
      for (const observer of observers) {
        const told = yield* observer.log("two servers seem to publish as one")
        assert.deepInclude(told, { level: "WARN", sender: peerId })
      }
    })
  )
})
