/** One reading of everything that metrics tell of: taken together, from the rooms that know. */
import { Effect, Option } from "effect"
import { Settings } from "../config/Settings.ts"
import { type DirectoryCounts, DirectorySync } from "../directory/DirectorySync.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { announceTopic, heartbeatTopic, type Topic } from "../gossip/Topic.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import { Intake } from "../registry/Intake.ts"
import type { Known } from "../registry/Known.ts"
import type { ClockVerdict } from "../registry/OwnClock.ts"
import { Registry } from "../registry/Registry.ts"
import { type Count, Tally } from "../registry/Tally.ts"
import { WriteBehind, type WriteBehindStatus } from "../storage/WriteBehind.ts"
import * as Process from "./ProcessReading.ts"
import { countStates, stateOf } from "./ServiceRendering.ts"
import type { ServiceState } from "./ServiceView.ts"
import { type Moment, Surroundings } from "./Surroundings.ts"
import { Watch } from "./Watch.ts"

export interface MetricsReading {
  readonly messages: ReadonlyArray<Count>
  readonly servers: Readonly<Record<ServiceState, number>>
  readonly maxServers: number
  /** The uptime score, 0 to 1. */
  readonly score: number
  /** Self-checks behind the score. */
  readonly checks: number
  readonly healthy: boolean
  readonly topicPeers: Readonly<Record<Topic, number>>
  readonly connections: number
  readonly clockOffsetSeconds: number
  readonly maxSkewSeconds: number
  readonly database: WriteBehindStatus
  readonly directory: DirectoryCounts
  readonly watchers: number
  readonly process: Process.ProcessReading
}

/** Signed: ahead is positive. */
const offsetSeconds = ({ byMillis, state }: ClockVerdict) => (state === "behind" ? -byMillis : byMillis) / 1000

const maxSkewMillis = (entries: ReadonlyArray<Known>, at: Moment): number => {
  let max = 0
  for (const known of entries) {
    const isHeard = stateOf(known, at) !== "silent"
    if (isHeard) max = Math.max(max, Math.abs(known.skewMillis ?? 0))
  }
  return max
}

/** What takes a reading, as long as the scope is open. */
export const make = Effect.gen(function* () {
  const { maxServers } = (yield* Settings).discovery
  const [gossip, intake, registry, selfCheck] = [yield* Gossip, yield* Intake, yield* Registry, yield* SelfCheck]
  const [surroundings, tally, watch, writeBehind] = [
    yield* Surroundings,
    yield* Tally,
    yield* Watch,
    yield* WriteBehind
  ]
  const directory = yield* DirectorySync
  const process = yield* Process.make

  return Effect.gen(function* () {
    const at = yield* surroundings.read
    const entries = yield* registry.entries
    const { checks, score } = yield* selfCheck.score
    const reading: MetricsReading = {
      messages: yield* tally.read,
      servers: countStates(entries, at),
      maxServers,
      score,
      checks,
      healthy: Option.exists(yield* selfCheck.latest, ({ healthy }) => healthy),
      topicPeers: {
        [announceTopic]: (yield* gossip.topicPeers(announceTopic)).length,
        [heartbeatTopic]: (yield* gossip.topicPeers(heartbeatTopic)).length
      },
      connections: (yield* gossip.connections).length,
      clockOffsetSeconds: offsetSeconds(yield* intake.ownClock),
      maxSkewSeconds: maxSkewMillis(entries, at) / 1000,
      database: yield* writeBehind.status,
      directory: yield* directory.counts,
      watchers: yield* watch.watchers,
      process: yield* process
    }
    return reading
  })
})
