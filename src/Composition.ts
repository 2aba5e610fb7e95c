/**
 * The middle of every server, live or virtual, on a network, a database and readiness checks that are given. The parts
 * are built in the order in which they stand here.
 */
import { Layer } from "effect"
import { Announcer } from "./announcing/Announcer.ts"
import { DirectorySync } from "./directory/DirectorySync.ts"
import { SelfCheck } from "./health/SelfCheck.ts"
import { Servers } from "./library/Servers.ts"
import { Surroundings } from "./ops/Surroundings.ts"
import { Intake } from "./registry/Intake.ts"
import { OwnWords } from "./registry/OwnWords.ts"
import * as RegistryMemory from "./registry/RegistryMemory.ts"
import { Tally } from "./registry/Tally.ts"
import * as Restore from "./storage/Restore.ts"
import { WriteBehind } from "./storage/WriteBehind.ts"

/** What is believed and what is measured. */
export const believing = Intake.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(RegistryMemory.layer, OwnWords.layer, Tally.layer, SelfCheck.layer))
)

/** What applications are told of what is believed. */
export const telling = Servers.layer.pipe(Layer.provide(Surroundings.layer))

/** What is kept is brought back first, then written behind (R14). */
export const keeping = WriteBehind.layer.pipe(Layer.provide(Restore.layer))

/** The network's way in: the topics, and what neighbours know already (R12). */
export const listening = DirectorySync.layer.pipe(Layer.provide(Intake.layerTopics))

/** The first words, which come last, and everything that must be up before them (R23). */
export const speaking = Announcer.layer
