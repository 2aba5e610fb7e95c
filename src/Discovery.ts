/**
 * The whole server as one layer, out of the rooms. The order in which it is built is the order of a start: nothing is
 * announced before everything is up (R23), and what speaks last is the first to fall silent (R13).
 */
import { Layer } from "effect"
import { Announcer } from "./announcing/Announcer.ts"
import { DirectorySync } from "./directory/DirectorySync.ts"
import * as GossipLibp2p from "./gossip/GossipLibp2p.ts"
import * as DatabaseCheck from "./health/DatabaseCheck.ts"
import * as ReadinessChecks from "./health/ReadinessChecks.ts"
import { SelfCheck } from "./health/SelfCheck.ts"
import { Identity } from "./identity/Identity.ts"
import { OpsServer } from "./ops/OpsServer.ts"
import { Surroundings } from "./ops/Surroundings.ts"
import { Watch } from "./ops/Watch.ts"
import { Intake } from "./registry/Intake.ts"
import { OwnWords } from "./registry/OwnWords.ts"
import * as RegistryMemory from "./registry/RegistryMemory.ts"
import { Tally } from "./registry/Tally.ts"
import * as DatabaseLive from "./storage/DatabaseLive.ts"
import { DataDirectory } from "./storage/DataDirectory.ts"
import { KeptChecks } from "./storage/KeptChecks.ts"
import { KeptServers } from "./storage/KeptServers.ts"
import { Tables } from "./storage/Migrations.ts"
import * as Restore from "./storage/Restore.ts"
import { WriteBehind } from "./storage/WriteBehind.ts"
import * as SteadyClock from "./time/SteadyClock.ts"

/** What is believed and what is measured, on a network and readiness checks that are given. */
export const core = Intake.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(RegistryMemory.layer, OwnWords.layer, Tally.layer, SelfCheck.layer))
)

/** What is kept across restarts: brought back first, then written behind (R14). */
const kept = WriteBehind.layer.pipe(
  Layer.provideMerge(Restore.layer),
  Layer.provideMerge(Layer.mergeAll(KeptChecks.layer, KeptServers.layer)),
  Layer.provide(Tables.layer)
)

/** The network's way in: the topics, and what neighbours know already (R12). */
export const company = DirectorySync.layer.pipe(Layer.provideMerge(Intake.layerTopics))

/** The listeners, and the message's way in. All of it is up before the first word is said. */
const doors = OpsServer.layer.pipe(
  Layer.provideMerge(Watch.layer),
  Layer.provideMerge(Surroundings.layer),
  Layer.provideMerge(company)
)

const ground = DatabaseCheck.layer.pipe(
  Layer.provideMerge(ReadinessChecks.layer),
  Layer.provideMerge(GossipLibp2p.layer),
  Layer.provideMerge(DatabaseLive.layer),
  Layer.provideMerge(Identity.layer),
  Layer.provideMerge(DataDirectory.layer),
  Layer.provide(SteadyClock.layerLive)
)

/** A live server, from the settings alone. */
export const layer = Announcer.layer.pipe(
  Layer.provideMerge(doors),
  Layer.provideMerge(kept),
  Layer.provideMerge(core),
  Layer.provideMerge(ground),
  Layer.provide(SteadyClock.layerLive)
)
