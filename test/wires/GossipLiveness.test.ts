import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Liveness } from "../../src/gossip/GossipLibp2pNode.ts"
import * as Link from "../process/Link.ts"
import { addressAhead, anySeed, type OnTopic, onTopic, until, untilTheyHear } from "./LiveNodes.ts"

/** Pings thirty times as often as outside: whoever is deaf is noticed in seconds. */
const quick = Layer.succeed(Liveness, {
  pingInterval: 900,
  pingTimeout: { minTimeout: 700, maxTimeout: 700 },
  idleTimeout: 120_000
})
const connectionIds = ({ node }: OnTopic) => node.libp2p.getConnections().map(({ id }) => id)
const isAlone = ({ node }: OnTopic) =>
  Effect.map(node.connectivity.status, ({ aloneSinceMillis, topicPeers }) => [
    topicPeers,
    aloneSinceMillis !== undefined
  ])

describe("a connection", () => {
  it.effect("C07 R15 carries a ping at least twice in the time after which an idle one is closed", () =>
    Effect.gen(function* () {
      const { idleTimeout, pingInterval, pingTimeout } = yield* Liveness
      assert.isAtMost(pingInterval + pingTimeout.maxTimeout, idleTimeout / 2)
      assert.isAbove(pingInterval, pingTimeout.maxTimeout)
    })
  )

  it.live("E06 R15 whose peer hears nothing of this server is given up within two pings, and the server knows it", () =>
    Effect.gen(function* () {
      const seedHex = anySeed()
      const { port, listen, address } = yield* addressAhead(seedHex)
      const link = yield* Link.make(port)
      const b = yield* onTopic({ seedHex, listen: [listen], externalAddresses: ["/ip4/127.0.0.1/tcp/9"] })
      const a = yield* onTopic({ bootstrapPeers: [address.replace(`/${port}/`, `/${link.port}/`)] })
      yield* untilTheyHear(a, b, 30_000)
      assert.deepStrictEqual(yield* isAlone(a), [1, false])
      const before = connectionIds(a)
      yield* link.become("deaf")
      yield* until(
        Effect.sync(() => connectionIds(a).every((id) => !before.includes(id))),
        20_000
      )
      yield* until(
        Effect.map(isAlone(a), ([peers, alone]) => peers === 0 && alone === true),
        20_000
      )
      const [bootstrap] = (yield* a.node.connectivity.status).bootstrap
      assert.isFalse(bootstrap?.isConnected)
      yield* link.become("open")
      yield* untilTheyHear(a, b, 40_000)
      assert.deepStrictEqual(yield* isAlone(a), [1, false])
    }).pipe(Effect.provide(quick))
  )
})
