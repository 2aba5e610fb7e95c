import { it } from "@effect/vitest"
import { Effect } from "effect"
import { type ContractNetwork, gossipContract } from "../gossip/GossipContract.ts"
import { anySeed, dial, type LiveNode, liveNode, peerIdOfSeed, until } from "./LiveNodes.ts"

const makeNetwork = Effect.gen(function* () {
  const nodes = new Map<string, LiveNode>()
  const seeds = Array.from({ length: 4 }, anySeed)
  const peers = yield* Effect.forEach(seeds, peerIdOfSeed)
  return {
    // Each trusts those made just before and after it, so that Kademlia makes no shortcuts.
    node: Effect.suspend(() => {
      const at = nodes.size
      const trustedPeers = peers.filter((_, index) => Math.abs(index - at) === 1)
      return Effect.tap(liveNode({ seedHex: seeds[at] ?? anySeed(), trustedPeers }), (node) =>
        Effect.sync(() => nodes.set(node.self, node))
      )
    }),
    connect: (a, b) =>
      Effect.suspend(() => {
        const [from, to] = [nodes.get(a.self), nodes.get(b.self)]
        return from === undefined || to === undefined ? Effect.die(new Error("not a node of this")) : dial(from, to)
      }),
    until: (condition) => until(condition),
    // Loopback carries a message through three nodes in a few milliseconds.
    settle: Effect.sleep("500 millis")
  } satisfies ContractNetwork
})

gossipContract("Gossip over libp2p", it.live, makeNetwork)
