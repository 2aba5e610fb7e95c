import { it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gossip } from "../../src/gossip/Gossip.ts"
import * as GossipMemory from "../../src/gossip/GossipMemory.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { type ContractNetwork, gossipContract } from "./GossipContract.ts"

const makeNetwork = Effect.gen(function* () {
  const network = yield* GossipMemory.make()
  let nodes = 0
  const settle = TestClock.adjust("1 minute")
  return {
    node: Effect.suspend(() =>
      Effect.map(Layer.build(network.node(peerIdOf(nodes++))), (context) => Context.get(context, Gossip))
    ),
    connect: (a, b) => network.connect(a.self, b.self),
    until: Effect.fnUntraced(function* (condition) {
      yield* settle
      if (!(yield* condition)) yield* Effect.die(new Error("it never came to that"))
    }),
    settle
  } satisfies ContractNetwork
})

gossipContract("Gossip in memory", it.effect, makeNetwork)
