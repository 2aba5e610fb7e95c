/**
 * The live server as one layer, out of the rooms; what it stands on is library/Layers'. The order in which it is built
 * is the order of a start: nothing is announced before everything is up (R23), and what speaks last is the first to fall
 * silent (R13).
 */
import { Effect, Layer } from "effect"
import { believing, keeping, listening, speaking, telling } from "./Composition.ts"
import { Gossip } from "./gossip/Gossip.ts"
import { OpsServer } from "./ops/OpsServer.ts"
import * as SteadyClock from "./time/SteadyClock.ts"

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

/** A live server, on settings, a network, a storage and readiness checks that are given. */
export const layer = whereabouts.pipe(
  Layer.provideMerge(speaking),
  Layer.provideMerge(OpsServer.layer),
  Layer.provideMerge(listening),
  Layer.provideMerge(keeping),
  Layer.provideMerge(telling),
  Layer.provideMerge(believing),
  Layer.provide(SteadyClock.layerLive)
)
