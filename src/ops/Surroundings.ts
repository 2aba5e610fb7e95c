/**
 * What a server's entry is shown against: the time, who this node is connected to, and where others can be dialled. The
 * network is asked at most once a second, however many readers there are.
 */
import { Context, Effect, Layer } from "effect"
import { mostAddresses } from "../gossip/AddressBook.ts"
import { type Connection, Gossip } from "../gossip/Gossip.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { type Now, now } from "../time/Now.ts"

export interface Network {
  /** The peers that this node has a connection to. */
  readonly neighbours: ReadonlySet<PeerId>
  /** Where each peer can be dialled as far as this node knows, connected or not. */
  readonly addresses: ReadonlyMap<PeerId, ReadonlyArray<string>>
}

export interface Moment extends Network {
  readonly now: Now
}

/** How a peer is reached, as a reader is told. */
export const reachOf = (peer: PeerId, { addresses, neighbours }: Network) => ({
  connected: neighbours.has(peer),
  addresses: addresses.get(peer) ?? []
})

/** What an address was dialled at comes before what its peer says of itself. */
const networkOf = (
  connections: ReadonlyArray<Connection>,
  addressBook: ReadonlyMap<PeerId, ReadonlyArray<string>>
): Network => {
  const addresses = new Map(addressBook)
  for (const { address, peer } of connections) {
    if (address === undefined) continue
    addresses.set(peer, [...new Set([address, ...(addresses.get(peer) ?? [])])].slice(0, mostAddresses))
  }
  return { neighbours: new Set(connections.map(({ peer }) => peer)), addresses }
}

export class Surroundings extends Context.Service<Surroundings, { readonly read: Effect.Effect<Moment> }>()(
  "ricochet-discovery/ops/Surroundings"
) {
  static readonly layer: Layer.Layer<Surroundings, never, Gossip> = Layer.effect(
    Surroundings,
    Effect.gen(function* () {
      const gossip = yield* Gossip
      const network = yield* Effect.zipWith(gossip.connections, gossip.addressBook, networkOf).pipe(
        Effect.cachedWithTTL("1 second")
      )
      return Surroundings.of({ read: Effect.zipWith(now, network, (now, network) => ({ now, ...network })) })
    })
  )
}
