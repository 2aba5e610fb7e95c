/** This server's own entry: what it would announce now, told by the room that announces. */
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Offer } from "../announcing/Capabilities.ts"
import { compose } from "../announcing/OwnAnnouncement.ts"
import { Settings } from "../config/Settings.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import * as Timestamp from "../time/Timestamp.ts"
import type { SelfEntry } from "./ServiceView.ts"

export class OwnEntry extends Context.Service<OwnEntry, { readonly read: Effect.Effect<SelfEntry> }>()(
  "ricochet-discovery/ops/OwnEntry"
) {
  static readonly layer: Layer.Layer<OwnEntry, never, Gossip | SelfCheck | Settings> = Layer.effect(
    OwnEntry,
    Effect.gen(function* () {
      const settings = yield* Settings
      const gossip = yield* Gossip
      const selfCheck = yield* SelfCheck
      const offer = yield* Offer
      const startedMillis = yield* Clock.currentTimeMillis

      const read = Effect.gen(function* () {
        const latest = Option.getOrUndefined(yield* selfCheck.latest)
        const { checks, score } = yield* selfCheck.score
        const addresses = yield* gossip.addresses
        // The verdict's own time, for nothing else in an entry moves: a reader that has it need not be sent it again.
        const timestamp = Timestamp.fromMillis(latest?.record.startedWallMillis ?? startedMillis)
        const said = compose(settings, {
          serverId: gossip.self,
          capabilities: yield* offer.current,
          addresses,
          healthy: latest?.healthy ?? false,
          uptimeScore: score,
          timestamp
        })
        return {
          server_id: said.serverId,
          capabilities: said.capabilities,
          max_storage: said.maxStorage,
          retention_policy: said.retentionPolicy,
          region: said.region,
          regions: said.regions,
          uptime_score: said.uptimeScore,
          healthy: said.healthy,
          timestamp: Timestamp.format(said.timestamp),
          port: said.port,
          checks,
          addresses
        }
      })
      return OwnEntry.of({ read })
    })
  ).pipe(Layer.provide(Offer.layer))
}
