/**
 * Gossip over real libp2p: the promise of Gossip kept by a node with GossipSub. What the node is made of is
 * GossipLibp2pNode's, whom it stays connected to GossipLibp2pConnections'.
 */
import { type Message, TopicValidatorResult } from "@libp2p/gossipsub"
import type { PeerId as Libp2pPeerId } from "@libp2p/interface"
import { Cause, Effect, Exit, Layer } from "effect"
import type { Settings } from "../config/Settings.ts"
import { Identity } from "../identity/Identity.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { Connectivity, make as makeConnectivity } from "./Connectivity.ts"
import { Gossip, type Judge, PublishRefused, type Verdict } from "./Gossip.ts"
import type { BadAddress } from "./GossipLibp2pAddresses.ts"
import { watchAppearances } from "./GossipLibp2pAppearances.ts"
import { GossipNode } from "./GossipLibp2pApplication.ts"
import { Bans } from "./GossipLibp2pBans.ts"
import {
  type BroughtNode,
  layerIdentity as layerBroughtIdentity,
  layer as layerBroughtNode,
  type UnsuitableNode
} from "./GossipLibp2pBrought.ts"
import { Connections } from "./GossipLibp2pConnections.ts"
import { layer as layerLimit } from "./GossipLibp2pLimit.ts"
import type { ListenUnavailable } from "./GossipLibp2pListeners.ts"
import { read, seal, sign, verify } from "./GossipLibp2pMessages.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"
import { layerSearch, Remembered } from "./GossipLibp2pRemembered.ts"
import { layer as layerStreams } from "./GossipLibp2pStreams.ts"
import { layer as layerWatchdog } from "./GossipLibp2pWatchdog.ts"
import type { Streams } from "./Streams.ts"
import { type Topic, topics } from "./Topic.ts"

const verdicts: Record<Verdict, TopicValidatorResult> = {
  accept: TopicValidatorResult.Accept,
  ignore: TopicValidatorResult.Ignore,
  reject: TopicValidatorResult.Reject
}

/** With the peer ID at its end, as an address is written down. */
const addressed = (address: string, peer: PeerId) => (address.includes("/p2p/") ? address : `${address}/p2p/${peer}`)

const make = Effect.gen(function* () {
  const { self, libp2p, mesh, nameOf } = yield* Libp2pNode
  const { privateKey } = yield* Identity
  const bans = yield* Bans
  const book = yield* Remembered
  const appearances = yield* watchAppearances

  const join = Effect.fn("Gossip.join")(function* (topic: Topic, judge: Judge) {
    const context = yield* Effect.context<never>()
    const runSync = Effect.runSyncExitWith(context)

    const cut = (relay: Libp2pPeerId) => Effect.promise(() => libp2p.hangUp(relay).catch(() => undefined))
    const decide = Effect.fnUntraced(function* (relay: Libp2pPeerId, message: Message) {
      if (message.type !== "signed") return "ignore"
      const neighbour = nameOf(relay)
      const signer = nameOf(message.from)
      const verdict = yield* judge({ topic, data: message.data, signer, neighbour, signed: () => seal(message) })
      if (verdict === "reject" && (yield* bans.noteRefused(neighbour))) {
        Effect.runForkWith(context)(cut(relay))
      }
      return verdict
    })
    const validate = (relay: Libp2pPeerId, message: Message): TopicValidatorResult => {
      const exit = runSync(decide(relay, message))
      if (Exit.isSuccess(exit)) return verdicts[exit.value]
      runSync(Effect.logError("a message could not be judged", exit.cause).pipe(Effect.annotateLogs({ topic })))
      return TopicValidatorResult.Ignore
    }

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        mesh.topicValidators.set(topic, validate)
        mesh.subscribe(topic)
      }),
      () =>
        Effect.sync(() => {
          mesh.unsubscribe(topic)
          mesh.topicValidators.delete(topic)
        }).pipe(Effect.catchCause((cause) => Effect.logDebug("left a topic of a stopped node", Cause.squash(cause))))
    )
  })

  const lastData = new Map<Topic, Uint8Array>()
  const said = Effect.forEach(
    topics,
    Effect.fnUntraced(function* (topic) {
      const data = lastData.get(topic)
      if (data === undefined) return []
      const signed = yield* Effect.promise(() => sign(privateKey, topic, data))
      return [{ topic, data, signer: self, signed: () => signed }]
    })
  )

  const publish = Effect.fn("Gossip.publish")(function* (topic: Topic, data: Uint8Array) {
    lastData.set(topic, data)
    const { recipients } = yield* Effect.tryPromise({
      try: () => mesh.publish(topic, data),
      catch: (cause) =>
        new PublishRefused({
          topic,
          reason:
            cause instanceof Error && cause.message === "PublishError.NoPeersSubscribedToTopic"
              ? "no-topic-peers"
              : "failed",
          cause
        })
    })
    if (recipients.length === 0) {
      return yield* new PublishRefused({ topic, reason: "no-topic-peers", cause: "no stream took the message" })
    }
    return { recipients: recipients.length }
  })

  return Gossip.of({
    self,
    addresses: Effect.sync(() => libp2p.getMultiaddrs().map(String)),
    join,
    publish,
    topicPeers: (topic) =>
      Effect.sync(() =>
        mesh
          .getSubscribers(topic)
          .map(nameOf)
          .filter((peer) => mesh.streamsOutbound.has(peer))
      ),
    appearances,
    connections: Effect.sync(() =>
      libp2p.getConnections().map(({ remotePeer, remoteAddr, direction }) => ({
        peer: nameOf(remotePeer),
        address: direction === "outbound" ? addressed(remoteAddr.toString(), nameOf(remotePeer)) : undefined,
        direction
      }))
    ),
    addressBook: Effect.sync(() => book.nodes),
    remember: (earlier) => Effect.sync(() => book.remember(earlier)),
    verify,
    read,
    said: Effect.map(said, (words) => words.flat())
  })
})

const connectivity = Layer.effect(
  Connectivity,
  Effect.flatMap(Connections, ({ bootstrap }) => makeConnectivity(bootstrap))
)

/** Gossip on a node that is there, and all that keeps it connected. */
const onNode = Layer.mergeAll(connectivity, layerStreams, layerWatchdog, layerLimit, layerSearch).pipe(
  Layer.provideMerge(Layer.effect(Gossip, make)),
  Layer.provide([Connections.layer, Remembered.layer])
)

/** The node as an application sees it. */
const shown = Layer.effect(
  GossipNode,
  Effect.map(Libp2pNode, ({ self, libp2p }) => ({ peerId: self, libp2p }))
)

/** What a network is to the rest of the server. */
export type Network = Gossip | Connectivity | Streams | GossipNode

/** A live node and all that keeps it connected, with the node itself laid open: for tests and measurements. */
export const layerWithNode: Layer.Layer<Network | Libp2pNode, ListenUnavailable | BadAddress, Settings | Identity> =
  Layer.merge(onNode, shown).pipe(Layer.provideMerge(Libp2pNode.layer), Layer.provide(Bans.layer))

/** A live node and all that keeps it connected. */
export const layer: Layer.Layer<Network, ListenUnavailable | BadAddress, Settings | Identity> = layerWithNode

/**
 * The same on a libp2p node that an application has made, with the services of `discoveryServices` among its own, and
 * started. It stays the application's to stop. Fails with UnsuitableNode when it is not such a node.
 */
export const layerBrought = (
  brought: BroughtNode
): Layer.Layer<Network | Identity, UnsuitableNode | BadAddress, Settings> =>
  Layer.merge(onNode, shown).pipe(
    Layer.provide(layerBroughtNode(brought)),
    Layer.provideMerge(layerBroughtIdentity(brought)),
    Layer.provide(Bans.layer)
  )
