/**
 * Neighbours that are kept out for a while because they keep forwarding messages that every reader refuses (R19). A
 * GossipSub score is forgotten when its peer reconnects; this is not.
 *
 * A relay that validates never forwards such a message, so an innocent one is not counted here; and a ban is short,
 * so that a mistaken one heals.
 */
import { Context, Effect, FiberMap, Layer } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { SteadyClock } from "../time/SteadyClock.ts"

/** Refused messages of one neighbour within `windowMillis` that are borne. The next one bans it. */
export const allowedRefusals = 20
export const windowMillis = 60_000
const banLength = "10 minutes"

/** Neighbours counted, and neighbours kept out, at most; the oldest go first. */
const maxNeighbours = 1_000

export class Bans extends Context.Service<
  Bans,
  {
    /** For the connection gater, which cannot wait. */
    isBanned(peer: PeerId): boolean
    /** Counts a refused message against the neighbour that forwarded it. True when that bans it. */
    noteRefused(neighbour: PeerId): Effect.Effect<boolean>
    /** Keeps a neighbour out from now on. */
    ban(neighbour: PeerId, reason: string): Effect.Effect<void>
  }
>()("ricochet-discovery/gossip/Bans") {
  static readonly layer: Layer.Layer<Bans> = Layer.effect(
    Bans,
    Effect.gen(function* () {
      const clock = yield* SteadyClock
      const counts = new Map<PeerId, { readonly sinceMillis: number; readonly count: number }>()
      /** A ban is a fiber that sleeps it out. */
      const bans = yield* FiberMap.make<PeerId>()

      const ban = Effect.fnUntraced(function* (neighbour: PeerId, reason: string) {
        const oldest = (yield* FiberMap.size(bans)) >= maxNeighbours ? [...bans][0]?.[0] : undefined
        if (oldest !== undefined) yield* FiberMap.remove(bans, oldest)
        yield* FiberMap.run(bans, neighbour, Effect.sleep(banLength))
        yield* Effect.logWarning("neighbour kept out").pipe(
          Effect.annotateLogs({ peer: neighbour, reason, for: banLength })
        )
      })

      const noteRefused = Effect.fnUntraced(function* (neighbour: PeerId) {
        const nowMillis = yield* clock.nowMillis
        const known = counts.get(neighbour)
        const window = known !== undefined && nowMillis - known.sinceMillis < windowMillis ? known : undefined
        const count = (window?.count ?? 0) + 1
        counts.delete(neighbour)
        if (count > allowedRefusals) {
          if (FiberMap.hasUnsafe(bans, neighbour)) return false
          yield* ban(neighbour, `forwarded ${count} messages within a minute that every server refuses`)
          return true
        }
        counts.set(neighbour, { sinceMillis: window?.sinceMillis ?? nowMillis, count })
        const oldest = counts.size > maxNeighbours ? counts.keys().next().value : undefined
        if (oldest !== undefined) counts.delete(oldest)
        return false
      })

      return Bans.of({ isBanned: (peer) => FiberMap.hasUnsafe(bans, peer), noteRefused, ban })
    })
  )
}
