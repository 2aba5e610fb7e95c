/**
 * A libp2p node that an application has made and discovery is to live on. It is looked at, never configured: what it
 * listens on, whom it lets in and when it ends is the application's affair.
 */
import type { Connection, Libp2p, PrivateKey } from "@libp2p/interface"
import { peerIdFromPrivateKey } from "@libp2p/peer-id"
import { Effect, Layer, Schema } from "effect"
import type { ServiceFactoryMap } from "libp2p"
import type { Settings } from "../config/Settings.ts"
import { Identity } from "../identity/Identity.ts"
import { fromCanonical } from "../identity/PeerId.ts"
import type { BadAddress } from "./GossipLibp2pAddresses.ts"
import type { Bans } from "./GossipLibp2pBans.ts"
import { type DiscoveryServices, isMesh, makeMesh, servicesWith } from "./GossipLibp2pMesh.ts"
import { keptOut, Libp2pNode, nodeOf } from "./GossipLibp2pNode.ts"

/** A node to live on, with the key that it was made with. */
export interface BroughtNode {
  /** The node, started, with the services of `discoveryServices()` among its own. */
  readonly libp2p: Libp2p<Pick<DiscoveryServices, "identify" | "mesh">>
  /** The key of its peer ID, Ed25519: the server signs with it. */
  readonly privateKey: PrivateKey
}

/** The libp2p node that an application has brought cannot carry discovery. */
export class UnsuitableNode extends Schema.TaggedError<UnsuitableNode>()("UnsuitableNode", { problem: Schema.String }) {
  get exitCode() {
    return 78 as const
  }
  override get message() {
    return `discovery cannot live on this libp2p node: ${this.problem}`
  }
}

/**
 * The libp2p services that discovery lives on, for a node of the application's own: spread them among its services. An
 * application that has topics beside the two of discovery names them here, for a node has one GossipSub.
 */
export const discoveryServices = (
  options: { readonly otherTopics?: ReadonlyArray<string> } = {}
): ServiceFactoryMap<DiscoveryServices> => servicesWith(makeMesh({}, options.otherTopics))

const look = ({ libp2p, privateKey }: BroughtNode): Effect.Effect<void, UnsuitableNode> => {
  const refuse = (problem: string) => new UnsuitableNode({ problem })
  if (libp2p.status !== "started") return refuse(`it is ${libp2p.status}, not started`)
  const services: Readonly<Record<string, unknown>> = libp2p.services
  if (!isMesh(services.mesh)) return refuse("its service `mesh` is not that of discoveryServices()")
  if (services.identify === undefined) return refuse("it has no service `identify`")
  const peerId = peerIdFromPrivateKey(privateKey)
  return libp2p.peerId.equals(peerId) ? Effect.void : refuse(`it is ${libp2p.peerId}, and the key is that of ${peerId}`)
}

/** The identity that the node has already. */
export const layerIdentity = (brought: BroughtNode): Layer.Layer<Identity, UnsuitableNode> =>
  Layer.effect(
    Identity,
    Effect.map(look(brought), () =>
      Identity.of({
        peerId: fromCanonical(brought.libp2p.peerId.toString()),
        privateKey: brought.privateKey,
        origin: "the application's libp2p node"
      })
    )
  )

/** The node. Whom discovery keeps out is hung up on, for its connection gater is the application's. */
export const layer = ({ libp2p }: BroughtNode): Layer.Layer<Libp2pNode, BadAddress, Settings | Identity | Bans> =>
  Layer.effect(
    Libp2pNode,
    Effect.gen(function* () {
      const { peerId } = yield* Identity
      const isKeptOut = yield* keptOut
      const node = yield* nodeOf({ self: peerId, libp2p, nearby: new EventTarget(), isBrought: true })
      const look = (connection: Connection) => {
        if (isKeptOut(connection.remotePeer)) connection.abort(new Error("kept out by discovery"))
      }
      yield* node.listen<Connection>(libp2p, "connection:open", (connection) => Effect.sync(() => look(connection)))
      libp2p.getConnections().forEach(look)
      return node
    })
  )
