/**
 * GossipSub as this network speaks it, with the libp2p services that stand beside it on every node: on the one that is
 * made here, and on one that an application brings along.
 */
import {
  type GossipSub,
  type GossipSubComponents,
  type GossipsubOpts,
  gossipsub,
  type PublishResult,
  StrictSign
} from "@libp2p/gossipsub"
import type { RPC } from "@libp2p/gossipsub/message"
import { createTopicScoreParams } from "@libp2p/gossipsub/score"
import { type Identify, identify } from "@libp2p/identify"
import type { PeerId as Libp2pPeerId } from "@libp2p/interface"
import { type KadDHT, kadDHT, passthroughMapper } from "@libp2p/kad-dht"
import { type Ping, ping } from "@libp2p/ping"
import type { ServiceFactoryMap } from "libp2p"
import { allowedRefusals } from "./GossipLibp2pBans.ts"
import { fastMessageId, messageId } from "./GossipLibp2pMessages.ts"
import { topics } from "./Topic.ts"

/** Marks GossipSub made here, and holds its streams to peers as they are opened. */
const opened: unique symbol = Symbol("ricochet-discovery/gossip/opened")

/** GossipSub made here, with those of its members that its published type leaves out. */
export interface Mesh extends GossipSub {
  /** Its streams from peers, by peer ID. */
  readonly streamsInbound: ReadonlyMap<string, unknown>
  /** Its streams to peers, by peer ID. */
  readonly streamsOutbound: Map<string, unknown>
  /** Its streams to peers, as they are opened: `opened`, with the peer ID as text. */
  readonly [opened]: EventTarget
  publish(topic: string, data: Uint8Array): Promise<PublishResult>
  /** Takes a frame of GossipSub's from a peer. */
  handleReceivedRpc(from: Libp2pPeerId, rpc: RPC): Promise<void>
  /** What each peer's score is made of. */
  dumpPeerScoreStats(): Readonly<
    Record<string, { readonly topics: Readonly<Record<string, { readonly invalidMessageDeliveries: number }>> }>
  >
}

/** What a node of this network runs, by the names that it has there. */
export type DiscoveryServices = { identify: Identify; ping: Ping; dht: KadDHT; mesh: Mesh }

/** Below this score no gossip is exchanged with a peer. GossipSub's own default. */
const gossipThreshold = -10

/**
 * Invalid messages are all that counts for or against a peer on these topics. A server speaks once in five minutes on
 * one and once an hour on the other, so any reward for delivering, or punishment for delivering little, would score
 * honest quiet servers down: among five servers a neighbour delivers one message a minute, and rightly.
 *
 * One invalid message makes a score negative, which puts its peer out of the mesh. The counter halves in 34 seconds, so
 * one is forgotten in two minutes and twenty in five. What a peer may forward before it is banned leaves it above the
 * threshold of gossip, so that what honest servers say behind it still arrives, a second later: relays with rules other
 * than ours forward in good faith what we refuse, and nobody shall silence them with a handful of messages.
 */
const topicScore = createTopicScoreParams({
  topicWeight: 1,
  timeInMeshWeight: 0,
  firstMessageDeliveriesWeight: 0,
  meshMessageDeliveriesWeight: 0,
  meshFailurePenaltyWeight: 0,
  invalidMessageDeliveriesWeight: gossipThreshold / allowedRefusals ** 2,
  invalidMessageDeliveriesDecay: 0.98
})

const meshOptions: Partial<GossipsubOpts> = {
  globalSignaturePolicy: StrictSign,
  allowedTopics: [...topics],
  fallbackToFloodsub: false,
  msgIdFn: messageId,
  fastMsgIdFn: fastMessageId,
  // A peer that takes nothing must not fill our memory; the stream that breaks is opened anew.
  maxOutboundBufferSize: 8 * 1024 * 1024,
  scoreThresholds: { gossipThreshold },
  scoreParams: {
    topics: Object.fromEntries(topics.map((topic) => [topic, topicScore])),
    // Many servers behind one address are normal: a rack, a NAT, a test.
    IPColocationFactorWeight: 0,
    // A server that was frozen for a while breaks a few promises without meaning harm.
    behaviourPenaltyThreshold: 6,
    // A score is reset when its peer comes back, so that keeping it meanwhile only costs memory.
    retainScore: 0
  }
}

/**
 * GossipSub tells nobody when it has opened its stream to a peer, so the map that it keeps them in is made to, in the
 * turn in which our subscriptions go out.
 */
const tellOfStreams = (outbound: Map<string, unknown>): EventTarget => {
  const streams = new EventTarget()
  const set = outbound.set.bind(outbound)
  outbound.set = (peer, stream) => {
    queueMicrotask(() => streams.dispatchEvent(new CustomEvent("opened", { detail: peer })))
    return set(peer, stream)
  }
  return streams
}

/** GossipSub for both topics, and for those that an application has beside them. */
export const makeMesh =
  (options: Partial<GossipsubOpts> = {}, otherTopics: ReadonlyArray<string> = []) =>
  (components: GossipSubComponents): Mesh => {
    const make = gossipsub({ ...meshOptions, allowedTopics: [...topics, ...otherTopics], ...options })
    const mesh = make(components) as GossipSub & Omit<Mesh, typeof opened>
    return Object.assign(mesh, { [opened]: tellOfStreams(mesh.streamsOutbound) })
  }

export const isMesh = (service: unknown): service is Mesh =>
  typeof service === "object" && service !== null && opened in service

export const openedStreams = (mesh: Mesh): EventTarget => mesh[opened]

/** The services of a node, GossipSub as given. */
export const servicesWith = (
  mesh: (components: GossipSubComponents) => Mesh
): ServiceFactoryMap<DiscoveryServices> => ({
  identify: identify(),
  ping: ping(),
  // Servers of a private network find each other at private addresses.
  dht: kadDHT({ protocol: "/ipfs/kad/1.0.0", clientMode: false, peerInfoMapper: passthroughMapper }),
  mesh
})
