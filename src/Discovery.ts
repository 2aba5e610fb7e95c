/**
 * The whole server as one layer, out of the rooms. The order in which it is built is the order of a start: nothing is
 * announced before everything is up (R23), and what speaks last is the first to fall silent (R13).
 */
import { Effect, Layer } from "effect"
import { believing, keeping, listening, speaking } from "./Composition.ts"
import { Gossip } from "./gossip/Gossip.ts"
import * as GossipLibp2p from "./gossip/GossipLibp2p.ts"
import * as DatabaseCheck from "./health/DatabaseCheck.ts"
import * as ReadinessChecks from "./health/ReadinessChecks.ts"
import { Identity } from "./identity/Identity.ts"
import { OpsServer } from "./ops/OpsServer.ts"
import * as DatabaseLive from "./storage/DatabaseLive.ts"
import { DataDirectory } from "./storage/DataDirectory.ts"
import * as KeptChecksSql from "./storage/KeptChecksSql.ts"
import * as KeptServersSql from "./storage/KeptServersSql.ts"
import { Tables } from "./storage/Migrations.ts"
import * as SteadyClock from "./time/SteadyClock.ts"

/** What is kept, and where (R14). */
const kept = keeping.pipe(
  Layer.provide(Layer.mergeAll(KeptChecksSql.layer, KeptServersSql.layer)),
  Layer.provide(Tables.layer)
)

const ground = DatabaseCheck.layer.pipe(
  Layer.provideMerge(ReadinessChecks.layer),
  Layer.provideMerge(GossipLibp2p.layer),
  Layer.provideMerge(DatabaseLive.layer),
  Layer.provideMerge(Identity.layer),
  Layer.provideMerge(DataDirectory.layer),
  Layer.provide(SteadyClock.layerLive)
)

/** What whoever starts a server looks for first: where others reach it, and where its list is. */
const whereabouts = Layer.effectDiscard(
  Effect.gen(function* () {
    const [gossip, { url }] = [yield* Gossip, yield* OpsServer]
    yield* Effect.logInfo("server is up").pipe(
      Effect.annotateLogs({
        server_id: gossip.self,
        addresses: yield* gossip.addresses,
        list: url === undefined ? "off" : `${url}/services`
      })
    )
  })
)

/** A live server, from the settings alone. */
export const layer = whereabouts.pipe(
  Layer.provideMerge(speaking),
  Layer.provideMerge(OpsServer.layer),
  Layer.provideMerge(listening),
  Layer.provideMerge(kept),
  Layer.provideMerge(believing),
  Layer.provideMerge(ground),
  Layer.provide(SteadyClock.layerLive)
)
