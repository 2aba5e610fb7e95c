/**
 * What a virtual server is made of: the rooms of a real one, in the same order, on a network, a clock and a self-check
 * that are given.
 */
import { Clock, Context, Effect, Layer, Random } from "effect"
import type { Announcer } from "../announcing/Announcer.ts"
import { Capabilities } from "../announcing/Capabilities.ts"
import { believing, keeping, listening, speaking, telling } from "../Composition.ts"
import { Settings, type SettingsShape } from "../config/Settings.ts"
import type { DirectorySync } from "../directory/DirectorySync.ts"
import type { Gossip } from "../gossip/Gossip.ts"
import type { Streams } from "../gossip/Streams.ts"
import { databaseCheckName } from "../health/DatabaseCheck.ts"
import { Readiness } from "../health/Readiness.ts"
import * as ReadinessChecks from "../health/ReadinessChecks.ts"
import type { SelfCheck } from "../health/SelfCheck.ts"
import type { Servers } from "../library/Servers.ts"
import type { Intake } from "../registry/Intake.ts"
import type { OwnWords } from "../registry/OwnWords.ts"
import type { Registry } from "../registry/Registry.ts"
import type { Tally } from "../registry/Tally.ts"
import type { KeptChecks } from "../storage/KeptChecks.ts"
import type { KeptServers } from "../storage/KeptServers.ts"
import * as VirtualLog from "./VirtualLog.ts"

/** What a virtual server offers to `run`: the services of the composition. */
export type VirtualServices =
  | Announcer
  | DirectorySync
  | Gossip
  | Intake
  | OwnWords
  | Readiness
  | Registry
  | SelfCheck
  | Servers
  | Settings
  | Streams
  | Tally

export interface Given {
  readonly settings: SettingsShape
  /** What it announces that it offers. */
  readonly capabilities: ReadonlyArray<string> | undefined
  /** What each self-check does, in place of the ping of a database. */
  readonly check: Effect.Effect<void, unknown>
  /** Where it keeps what a restart must not forget; absent, it keeps nothing. */
  readonly kept: Layer.Layer<KeptServers | KeptChecks> | undefined
  readonly keepLine: (line: VirtualLog.LogLine) => void
  readonly nowMillis: () => number
  readonly clock: Clock.Clock
  readonly random: Random.Random
}

const readiness = (check: Effect.Effect<void, unknown>) =>
  Layer.effectDiscard(Effect.flatMap(Readiness, ({ register }) => register(databaseCheckName, check))).pipe(
    Layer.provideMerge(ReadinessChecks.layer)
  )

export const layer = (given: Given) =>
  speaking.pipe(
    Layer.provideMerge(listening),
    Layer.provide(given.kept === undefined ? Layer.empty : keeping.pipe(Layer.provide(given.kept))),
    Layer.provideMerge(telling),
    Layer.provideMerge(believing),
    Layer.provideMerge(readiness(given.check)),
    Layer.provideMerge(Layer.succeed(Settings, given.settings)),
    Layer.provide(given.capabilities === undefined ? Layer.empty : Layer.succeed(Capabilities, given.capabilities)),
    Layer.provide(VirtualLog.layer(given.nowMillis, given.keepLine)),
    Layer.provide(
      Layer.succeedContext(Context.make(Clock.Clock, given.clock).pipe(Context.add(Random.Random, given.random)))
    )
  )
