/**
 * What a server's entry is shown against: the time, and who this node is connected to. Connections are asked for at
 * most once a second, however many readers there are.
 */
import { Context, Effect, Layer } from "effect"
import { Gossip } from "../gossip/Gossip.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { type Now, now } from "../time/Now.ts"

/** The addresses that each connected peer is reached at. */
export type Neighbours = ReadonlyMap<PeerId, ReadonlyArray<string>>

export interface Moment {
  readonly now: Now
  readonly neighbours: Neighbours
}

export class Surroundings extends Context.Service<Surroundings, { readonly read: Effect.Effect<Moment> }>()(
  "ricochet-discovery/ops/Surroundings"
) {
  static readonly layer: Layer.Layer<Surroundings, never, Gossip> = Layer.effect(
    Surroundings,
    Effect.gen(function* () {
      const gossip = yield* Gossip
      const neighbours = yield* Effect.map(gossip.connections, (connections): Neighbours => {
        const found = new Map<PeerId, Array<string>>()
        for (const { address, peer } of connections) {
          const addresses = found.get(peer)
          if (addresses === undefined) found.set(peer, [address])
          else if (!addresses.includes(address)) addresses.push(address)
        }
        return found
      }).pipe(Effect.cachedWithTTL("1 second"))
      return Surroundings.of({ read: Effect.all({ now, neighbours }) })
    })
  )
}
