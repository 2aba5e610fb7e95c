/**
 * What an application and the libp2p node have to do with each other: what it brings to the node that is made here, and
 * the node itself, to carry its own protocols on.
 */
import type { Libp2p } from "@libp2p/interface"
import { Context } from "effect"
import type { Libp2pOptions, ServiceFactoryMap } from "libp2p"
import type { PeerId } from "../identity/PeerId.ts"

/** A transport that an application brings along (UDX, for example). */
export interface ExtraTransport {
  /** The name it has in a multiaddr, such as `udx`. */
  readonly name: string
  /** What libp2p makes it with. */
  readonly make: NonNullable<Libp2pOptions["transports"]>[number]
}

/** Transports of the node beside TCP and WebSocket. Default: none. */
export const ExtraTransports: Context.Reference<ReadonlyArray<ExtraTransport>> = Context.Reference<
  ReadonlyArray<ExtraTransport>
>("ricochet-discovery/gossip/ExtraTransports", { defaultValue: () => [] })

/**
 * libp2p services of the node beside its own, by name; they start and stop with it. The names `identify`, `ping`, `dht`
 * and `mesh` are taken. Default: none.
 */
export const ExtraServices: Context.Reference<ServiceFactoryMap> = Context.Reference<ServiceFactoryMap>(
  "ricochet-discovery/gossip/ExtraServices",
  { defaultValue: () => ({}) }
)

/** The libp2p node that carries discovery, for an application that carries protocols of its own on it. */
export class GossipNode extends Context.Service<
  GossipNode,
  {
    /** Its peer ID, which is the server's. */
    readonly peerId: PeerId
    /** Started, and stopped by whoever made it. Its GossipSub is not to be configured anew. */
    readonly libp2p: Libp2p
  }
>()("ricochet-discovery/gossip/GossipNode") {}
