/**
 * Who newly appears on a topic, told once for each time that a peer is on it. It publishes nothing; it only waits to
 * tell until the peer can be reached, so that first words are not lost.
 */
import type { SubscriptionChangeData } from "@libp2p/gossipsub"
import type { PeerId as Libp2pPeerId } from "@libp2p/interface"
import { peerIdFromString } from "@libp2p/peer-id"
import { Effect, Queue, type Scope } from "effect"
import { fromCanonical, type PeerId } from "../identity/PeerId.ts"
import type { Appearance } from "./Gossip.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"
import { topics } from "./Topic.ts"

/** Appearances kept for a slow reader. */
const kept = 256

/** A peer on a topic: the stream on which it said so, and whether that was told. Another stream is another time. */
interface Presence {
  readonly stream: unknown
  readonly isTold: boolean
}

/** Watches until the scope closes; the effect that it makes is `Gossip.appearances`. */
export const watchAppearances: Effect.Effect<
  Effect.Effect<Queue.Dequeue<Appearance>, never, Scope.Scope>,
  never,
  Libp2pNode | Scope.Scope
> = Effect.gen(function* () {
  const { libp2p, mesh, nameOf, listen, streams } = yield* Libp2pNode
  const readers = new Set<Queue.Queue<Appearance>>()
  const present = topics.map((topic) => ({ topic, peers: new Map<PeerId, Presence>() }))

  const tell = (peer: PeerId) => {
    if (!mesh.streamsOutbound.has(peer)) return
    for (const { topic, peers } of present) {
      const presence = peers.get(peer)
      if (presence === undefined || presence.isTold) continue
      peers.set(peer, { ...presence, isTold: true })
      for (const reader of readers) Queue.offerUnsafe(reader, { topic, peer })
    }
  }

  yield* listen<SubscriptionChangeData>(mesh, "subscription-change", ({ peerId, subscriptions }) =>
    Effect.sync(() => {
      const peer = nameOf(peerId)
      const stream = mesh.streamsInbound.get(peer)
      for (const { topic, peers } of present) {
        const change = subscriptions.findLast((one) => one.topic === topic)
        if (change?.subscribe === false) peers.delete(peer)
        if (change?.subscribe === true && peers.get(peer)?.stream !== stream) peers.set(peer, { stream, isTold: false })
      }
      tell(peer)
    })
  )

  /**
   * A peer's stream to us may be there before ours to it. Then GossipSub has not taken the peer into its mesh, and
   * would not before its next heartbeat; what a peer written in Go says meanwhile goes to its mesh alone, not to us.
   * Hearing of the subscriptions once more, it does so now.
   */
  yield* listen<string>(streams, "opened", (name) =>
    Effect.promise(async () => {
      const peer = fromCanonical(name)
      const on = present.filter(({ peers }) => peers.has(peer))
      if (on.length === 0) return
      const subscriptions = on.map(({ topic }) => ({ topic, subscribe: true }))
      await mesh.handleReceivedRpc(peerIdFromString(peer), { subscriptions, messages: [] })
      tell(peer)
    })
  )

  yield* listen<Libp2pPeerId>(libp2p, "peer:disconnect", (peerId) =>
    Effect.sync(() => {
      for (const { peers } of present) peers.delete(nameOf(peerId))
    })
  )

  return Effect.acquireRelease(
    Effect.gen(function* () {
      const reader = yield* Queue.sliding<Appearance>(kept)
      readers.add(reader)
      return reader
    }),
    (reader) =>
      Effect.suspend(() => {
        readers.delete(reader)
        return Queue.shutdown(reader)
      })
  )
})
