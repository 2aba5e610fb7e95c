/**
 * The libp2p node itself: transports, GossipSub and Kademlia, set up so that servers of this network can live together
 * (each deviation from a default says why). Whom it dials, keeps and believes is decided by its neighbours in here.
 */
import type { Libp2p, PeerId as Libp2pPeerId, PeerDiscovery, PeerInfo } from "@libp2p/interface"
import { type MulticastDNSComponents, mdns } from "@libp2p/mdns"
import { noise } from "@libp2p/noise"
import { tcp } from "@libp2p/tcp"
import { webSockets } from "@libp2p/websockets"
import { yamux } from "@libp2p/yamux"
import { Context, Effect, FiberSet, Layer, Result, type Scope } from "effect"
import { createLibp2p } from "libp2p"
import { Settings, type SettingsShape } from "../config/Settings.ts"
import { Identity } from "../identity/Identity.ts"
import { fromCanonical, type PeerId, parse as parsePeerId } from "../identity/PeerId.ts"
import { BadAddress } from "./GossipLibp2pAddresses.ts"
import { ExtraServices, ExtraTransports } from "./GossipLibp2pApplication.ts"
import { Bans } from "./GossipLibp2pBans.ts"
import { announced, ListenUnavailable, usable, wanted } from "./GossipLibp2pListeners.ts"
import { type DiscoveryServices, type Mesh, makeMesh, openedStreams, servicesWith } from "./GossipLibp2pMesh.ts"
import { makeNames } from "./GossipLibp2pMessages.ts"
import { make as makeMeters } from "./GossipLibp2pMeters.ts"

/** What dispatches events here: the node, and GossipSub. */
interface Emitter {
  addEventListener(type: string, listener: (event: CustomEvent) => void): void
  removeEventListener(type: string, listener: (event: CustomEvent) => void): void
}

export class Libp2pNode extends Context.Service<
  Libp2pNode,
  {
    readonly self: PeerId
    readonly libp2p: Libp2p<Pick<DiscoveryServices, "identify" | "mesh">>
    readonly mesh: Mesh
    /** An application made it and stops it, and what it remembers of peers is not for us to forget. */
    readonly isBrought: boolean
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

/** How it is noticed that a peer is gone whose connection was never ended. All in milliseconds. */
export const Liveness: Context.Reference<{
  readonly pingInterval: number
  readonly pingTimeout: { readonly minTimeout: number; readonly maxTimeout: number }
  /** A connection that carries nothing for so long is closed: longer than a ping, for between beats there is no more. */
  readonly idleTimeout: number
}> = Context.Reference("ricochet-discovery/gossip/Liveness", {
  // A peer whose event loop stands still for some seconds is not gone. The interval is longer than the timeout, or one
  // ping would stand in the way of the next.
  defaultValue: () => ({
    pingInterval: 30_000,
    pingTimeout: { minTimeout: 20_000, maxTimeout: 25_000 },
    idleTimeout: 120_000
  })
})

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

/** Whom this node has no connection with: neighbours that are banned, and strangers where peers are to be trusted. */
export const keptOut: Effect.Effect<(peer: Libp2pPeerId) => boolean, BadAddress, Settings | Bans> = Effect.gen(
  function* () {
    const settings = yield* Settings
    const bans = yield* Bans
    const trusted = yield* trustedPeers(settings)
    return (peer) => {
      const name = fromCanonical(peer.toString())
      return bans.isBanned(name) || (settings.features.enableAuthentication && !trusted.has(name))
    }
  }
)

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

/** The service that a started node makes. */
export const nodeOf = Effect.fnUntraced(function* (
  node: Pick<Libp2pNode["Service"], "self" | "libp2p" | "nearby" | "isBrought">
): Effect.fn.Return<Libp2pNode["Service"], never, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  const { mesh } = node.libp2p.services
  return Libp2pNode.of({
    ...node,
    mesh,
    nameOf: makeNames(4_096),
    streams: openedStreams(mesh),
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

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const identity = yield* Identity
  const isKeptOut = yield* keptOut
  const { pingInterval, pingTimeout, idleTimeout } = yield* Liveness
  const extras = yield* ExtraTransports
  const extraServices = yield* ExtraServices
  const extraNames = new Set(extras.map(({ name }) => name))
  const announce = yield* announced(settings.server, extraNames)
  const listen = (yield* usable(settings.server, extraNames)).map(String)
  const nearby = new EventTarget()
  const meters = yield* makeMeters

  const libp2p = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const node = await createLibp2p<DiscoveryServices>({
          start: false,
          ...meters?.libp2p,
          privateKey: identity.privateKey,
          addresses: { listen, announce },
          transports: [
            tcp({ inboundSocketInactivityTimeout: idleTimeout, outboundSocketInactivityTimeout: idleTimeout }),
            webSockets(),
            ...extras.map((extra) => extra.make)
          ],
          connectionEncrypters: [noise()],
          // One stream of a stranger holds so much of our memory at most.
          streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 1024 * 1024 } })],
          peerDiscovery: settings.discovery.mdns ? [makeNearby(nearby)] : [],
          connectionGater: {
            denyDialPeer: isKeptOut,
            denyInboundEncryptedConnection: isKeptOut,
            denyOutboundEncryptedConnection: isKeptOut
          },
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
          connectionMonitor: { pingInterval, pingTimeout },
          services: { ...extraServices, ...servicesWith(makeMesh(meters?.gossipSub)) }
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

  return yield* nodeOf({ self: identity.peerId, libp2p, nearby, isBrought: false })
})
