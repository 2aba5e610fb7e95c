import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type BootstrapStatus, Connectivity, make } from "../../src/gossip/Connectivity.ts"
import { Gossip } from "../../src/gossip/Gossip.ts"
import * as GossipMemory from "../../src/gossip/GossipMemory.ts"
import { topics } from "../../src/gossip/Topic.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"

const bootstrap: ReadonlyArray<BootstrapStatus> = [
  { address: "/a", peer: peerIdOf("a"), isConnected: false, lastError: "refused", nextTryInMillis: 5 },
  { address: "/b", peer: peerIdOf("b"), isConnected: false, lastError: "no transport", nextTryInMillis: undefined }
]

/** A server that is up on the topics, watched for company, and another that it can be linked to. */
const start = Effect.fnUntraced(function* (log: CapturedLog.CapturedLog) {
  const network = yield* GossipMemory.make()
  const node = Effect.fnUntraced(function* (name: string) {
    const gossip = Context.get(yield* Layer.build(network.node(peerIdOf(name))), Gossip)
    for (const topic of topics) {
      yield* gossip.join(topic, () => Effect.succeed("accept"))
    }
    return gossip
  })
  const gossip = yield* node("server")
  yield* node("other")
  const connectivity = yield* make(Effect.succeed(bootstrap)).pipe(
    Effect.provideService(Gossip, gossip),
    Effect.provide(log.layer)
  )
  const messages = () => log.lines.map(({ level, message, facts }) => ({ level, message, facts }))
  return { network, connectivity, messages }
})

const noPeers = { level: "Info", message: "no peers yet", facts: {} }
const alone = (alone_for: string) => ({
  level: "Warn",
  message: "no peer on either topic",
  facts: { alone_for, bootstrap_addresses: 2, tried: 1 }
})

describe("a server that is alone", () => {
  it.effect("C02 D03 R15 says so once, warns after a minute, and from then on every ten minutes", () =>
    Effect.gen(function* () {
      const { messages } = yield* start(CapturedLog.make())
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(messages(), [])
      yield* TestClock.adjust("55 seconds")
      assert.deepStrictEqual(messages(), [noPeers])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(messages(), [noPeers, alone("1m")])
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(messages(), [noPeers, alone("1m"), alone("11m"), alone("21m"), alone("31m")])
    })
  )

  it.effect("D03 R15 shows since when, and that it is over", () =>
    Effect.gen(function* () {
      const { connectivity, messages, network } = yield* start(CapturedLog.make())
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(yield* connectivity.status, { topicPeers: 0, aloneSinceMillis: 0, bootstrap })
      yield* network.connect(peerIdOf("server"), peerIdOf("other"))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* connectivity.status, { topicPeers: 1, aloneSinceMillis: undefined, bootstrap })
      yield* network.disconnect(peerIdOf("server"), peerIdOf("other"))
      assert.deepStrictEqual(yield* connectivity.status, { topicPeers: 0, aloneSinceMillis: 71_000, bootstrap })
      yield* TestClock.adjust("59 seconds")
      const before = [noPeers, alone("1m"), { level: "Info", message: "no longer alone", facts: { topic_peers: 1 } }]
      assert.deepStrictEqual(messages(), before)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(messages(), [...before, alone("1m 1s")])
    })
  )

  it.effect("is no matter of the log where company comes within a minute", () =>
    Effect.gen(function* () {
      const { messages, network } = yield* start(CapturedLog.make())
      yield* TestClock.adjust("59 seconds")
      yield* network.connect(peerIdOf("server"), peerIdOf("other"))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(messages(), [noPeers])
    })
  )

  it.effect("has a layer for networks without addresses", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const context = yield* Layer.build(Connectivity.layer.pipe(Layer.provide(network.node(peerIdOf("server")))))
      assert.deepStrictEqual(yield* Context.get(context, Connectivity).status, {
        topicPeers: 0,
        aloneSinceMillis: 0,
        bootstrap: []
      })
    })
  )
})
