/**
 * The libp2p node itself: transports, GossipSub and Kademlia, set up so that servers of this network can live together
 * (each deviation from a default says why). Whom it dials, keeps and believes is decided by its neighbours in here.
 */
import { type GossipSub, type GossipSubComponents, gossipsub, type PublishResult, StrictSign } from "@libp2p/gossipsub"
import type { RPC } from "@libp2p/gossipsub/message"
import { createTopicScoreParams } from "@libp2p/gossipsub/score"
import { type Identify, identify } from "@libp2p/identify"
import type { ConnectionGater, Libp2p, PeerId as Libp2pPeerId, PeerDiscovery, PeerInfo } from "@libp2p/interface"
import { type KadDHT, kadDHT, passthroughMapper } from "@libp2p/kad-dht"
import { type MulticastDNSComponents, mdns } from "@libp2p/mdns"
import { noise } from "@libp2p/noise"
import { type Ping, ping } from "@libp2p/ping"
import { tcp } from "@libp2p/tcp"
import { webSockets } from "@libp2p/websockets"
import { yamux } from "@libp2p/yamux"
import { Context, Effect, FiberSet, Layer, Result, type Scope } from "effect"
import { createLibp2p, type Libp2pOptions } from "libp2p"
import { Settings, type SettingsShape } from "../config/Settings.ts"
import { Identity } from "../identity/Identity.ts"
import { type PeerId, parse as parsePeerId } from "../identity/PeerId.ts"
import { BadAddress } from "./GossipLibp2pAddresses.ts"
import { Bans } from "./GossipLibp2pBans.ts"
import { announced, ListenUnavailable, usable, wanted } from "./GossipLibp2pListeners.ts"
import { fastMessageId, makeNames, messageId } from "./GossipLibp2pMessages.ts"
import { topics } from "./Topic.ts"

/** A transport that an application brings along (UDX, for example), under the name it has in a multiaddr. */
export interface ExtraTransport {
  readonly name: string
  readonly make: NonNullable<Libp2pOptions["transports"]>[number]
}

/** Transports beside TCP and WebSocket. None without a layer. */
export const ExtraTransports: Context.Reference<ReadonlyArray<ExtraTransport>> = Context.Reference<
  ReadonlyArray<ExtraTransport>
>("ricochet-discovery/gossip/ExtraTransports", { defaultValue: () => [] })

/** GossipSub with those of its members that its published type leaves out. */
export interface Mesh extends GossipSub {
  readonly streamsInbound: ReadonlyMap<string, unknown>
  readonly streamsOutbound: Map<string, unknown>
  publish(topic: string, data: Uint8Array): Promise<PublishResult>
  handleReceivedRpc(from: Libp2pPeerId, rpc: RPC): Promise<void>
  dumpPeerScoreStats(): Readonly<
    Record<string, { readonly topics: Readonly<Record<string, { readonly invalidMessageDeliveries: number }>> }>
  >
}

type Services = { identify: Identify; ping: Ping; dht: KadDHT; mesh: Mesh }

/** What dispatches events here: the node, and GossipSub. */
interface Emitter {
  addEventListener(type: string, listener: (event: CustomEvent) => void): void
  removeEventListener(type: string, listener: (event: CustomEvent) => void): void
}

export class Libp2pNode extends Context.Service<
  Libp2pNode,
  {
    readonly self: PeerId
    readonly libp2p: Libp2p<Services>
    readonly mesh: Mesh
    readonly nameOf: (peer: Libp2pPeerId) => PeerId
    /** Peers that announced themselves on the local network, each as often as it does: `peer`. */
    readonly nearby: EventTarget
    /** GossipSub's streams to peers, as they are opened: `opened`, with the peer ID as text. */
    readonly streams: EventTarget
    /**
     * Handles the events of one type until the scope closes. A libp2p listener that throws ends the process; what
     * goes wrong in here is logged.
     */
    listen<Detail>(
      emitter: object,
      type: string,
      handle: (detail: Detail) => Effect.Effect<void>
    ): Effect.Effect<void, never, Scope.Scope>
  }
>()("ricochet-discovery/gossip/Libp2pNode") {
  static readonly layer: Layer.Layer<Libp2pNode, ListenUnavailable | BadAddress, Settings | Identity | Bans> =
    Layer.suspend(() => Layer.effect(Libp2pNode, make))
}

/**
 * Invalid messages are all that counts for or against a peer on these topics: a server speaks once in five minutes,
 * so any reward for delivering, or punishment for delivering little, would score honest quiet servers down. The
 * counter halves in 34 seconds; 7 invalid messages at once cost a peer its gossip, 20 a hearing (-80, graylisted).
 */
const topicScore = createTopicScoreParams({
  topicWeight: 1,
  timeInMeshWeight: 0,
  firstMessageDeliveriesWeight: 0,
  meshMessageDeliveriesWeight: 0,
  meshFailurePenaltyWeight: 0,
  invalidMessageDeliveriesWeight: -0.2,
  invalidMessageDeliveriesDecay: 0.98
})

const makeMesh = gossipsub({
  globalSignaturePolicy: StrictSign,
  allowedTopics: [...topics],
  fallbackToFloodsub: false,
  msgIdFn: messageId,
  fastMsgIdFn: fastMessageId,
  // A peer that takes nothing must not fill our memory; the stream that breaks is opened anew.
  maxOutboundBufferSize: 8 * 1024 * 1024,
  scoreParams: {
    topics: Object.fromEntries(topics.map((topic) => [topic, topicScore])),
    // Many servers behind one address are normal: a rack, a NAT, a test.
    IPColocationFactorWeight: 0,
    // A server that was frozen for a while breaks a few promises without meaning harm.
    behaviourPenaltyThreshold: 6,
    // A score is reset when its peer comes back, so that keeping it meanwhile only costs memory.
    retainScore: 0
  }
}) as unknown as (components: GossipSubComponents) => Mesh

const gater = (settings: SettingsShape, trusted: ReadonlySet<PeerId>, isBanned: (peer: PeerId) => boolean) => {
  const isKeptOut = (peer: Libp2pPeerId) => {
    const name = peer.toString() as PeerId
    return isBanned(name) || (settings.features.enableAuthentication && !trusted.has(name))
  }
  return {
    denyDialPeer: isKeptOut,
    denyInboundEncryptedConnection: isKeptOut,
    denyOutboundEncryptedConnection: isKeptOut
  } satisfies ConnectionGater
}

const trustedPeers = Effect.fnUntraced(function* (settings: SettingsShape) {
  const trusted = new Set<PeerId>()
  const problems: Array<string> = []
  settings.security.trustedPeers.forEach((text, index) => {
    const peer = parsePeerId(text)
    if (Result.isSuccess(peer)) trusted.add(peer.success)
    else
      problems.push(`security.trusted_peers[${index}] ${JSON.stringify(text.slice(0, 200))}: ${peer.failure.problem}`)
  })
  return problems.length > 0 ? yield* new BadAddress({ problems }) : trusted
})

/** Multicast DNS, with its findings told apart from those of Kademlia. */
const makeNearby =
  (nearby: EventTarget) =>
  (components: MulticastDNSComponents): PeerDiscovery => {
    const discovery = mdns()(components)
    discovery.addEventListener("peer", (event) => {
      nearby.dispatchEvent(new CustomEvent<PeerInfo>("peer", { detail: event.detail }))
    })
    return discovery
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

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const identity = yield* Identity
  const bans = yield* Bans
  const extras = yield* ExtraTransports
  const extraNames = new Set(extras.map(({ name }) => name))
  const trusted = yield* trustedPeers(settings)
  const announce = yield* announced(settings.server, extraNames)
  const listen = (yield* usable(settings.server, extraNames)).map(String)
  const nearby = new EventTarget()

  const libp2p = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const node = await createLibp2p<Services>({
          start: false,
          privateKey: identity.privateKey,
          addresses: { listen, announce },
          transports: [tcp(), webSockets(), ...extras.map((extra) => extra.make)],
          connectionEncrypters: [noise()],
          // One stream of a stranger holds so much of our memory at most.
          streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 1024 * 1024 } })],
          peerDiscovery: settings.discovery.mdns ? [makeNearby(nearby)] : [],
          connectionGater: gater(settings, trusted, bans.isBanned),
          // By default an address is forgotten after an hour, even of a peer that is connected.
          peerStore: { maxAddressAge: Infinity, maxPeerAge: Infinity },
          connectionManager: {
            maxConnections: settings.performance.maxConcurrentConnections,
            // Many servers start at once on one host, or come back at once after an outage.
            inboundConnectionThreshold: 200,
            maxIncomingPendingConnections: 200,
            maxParallelDials: 32,
            // Reconnecting is Connections' task: the node's own gives up after half a minute.
            reconnectRetries: 0
          },
          // A peer whose event loop stands still for some seconds is not gone. The interval is longer than the timeout,
          // or one ping would stand in the way of the next.
          connectionMonitor: { pingInterval: 30_000, pingTimeout: { minTimeout: 20_000, maxTimeout: 25_000 } },
          services: {
            identify: identify(),
            ping: ping(),
            // Servers of a private network find each other at private addresses.
            dht: kadDHT({ protocol: "/ipfs/kad/1.0.0", clientMode: false, peerInfoMapper: passthroughMapper }),
            mesh: makeMesh
          }
        })
        await node.start()
        return node
      },
      catch: (cause) =>
        new ListenUnavailable({
          listener: wanted(settings.server).join(", "),
          reason: cause instanceof Error ? cause.message.replace(/\s+/g, " ").slice(0, 500) : String(cause)
        })
    }),
    (node) =>
      Effect.tryPromise(async () => node.stop()).pipe(
        Effect.timeout("3 seconds"),
        Effect.catchCause((cause) => Effect.logWarning("libp2p did not stop in time", cause))
      )
  )

  const run = yield* FiberSet.makeRuntime<never, void, never>()
  return Libp2pNode.of({
    self: identity.peerId,
    libp2p,
    mesh: libp2p.services.mesh,
    nameOf: makeNames(4_096),
    nearby,
    streams: tellOfStreams(libp2p.services.mesh.streamsOutbound),
    listen: <Detail>(emitter: object, type: string, handle: (detail: Detail) => Effect.Effect<void>) => {
      const source = emitter as Emitter
      const listener = (event: CustomEvent<Detail>) => {
        const handled = Effect.suspend(() => handle(event.detail)).pipe(
          Effect.catchCause((cause) => Effect.logError(`listener of ${type} failed`, cause))
        )
        run(handled)
      }
      return Effect.acquireRelease(
        Effect.sync(() => source.addEventListener(type, listener)),
        () => Effect.sync(() => source.removeEventListener(type, listener))
      )
    }
  })
})
