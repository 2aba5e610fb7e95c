/**
 * From what is known of a server to what a reader is told: pure. Lists of thousands are rendered again each second, so
 * the text of all that lasts as long as the entry is made once.
 */

import { stringify } from "../logging/InertText.ts"
import type { Moment as HeardAt, Known } from "../registry/Known.ts"
import { ageMillis, overdueHeartbeats, standingOf, standingSinceMillis, verdictInForce } from "../registry/Query.ts"
import * as Timestamp from "../time/Timestamp.ts"
import type { ServiceEntry, ServiceState, StateCounts } from "./ServiceView.ts"
import { type Moment, reachOf } from "./Surroundings.ts"

/** RFC 3339 in UTC. */
export const timeText = (wallMillis: number): string => Timestamp.format(Timestamp.fromMillis(wallMillis))

const seconds = (millis: number) => Math.round(millis) / 1000

export const stateOf = (known: Known, { now }: Moment): ServiceState => standingOf(known, now)

export const countStates = (entries: ReadonlyArray<Known>, at: Moment): StateCounts => {
  const counts = { available: 0, unhealthy: 0, stopped: 0, silent: 0, unannounced: 0 }
  for (const known of entries) {
    const state = stateOf(known, at)
    counts[state] += 1
    if (state === "unhealthy" && known.saidGoodbye) counts.stopped += 1
  }
  return counts
}

const verdictMarks = (recent: Known["recent"]) => recent.map(({ healthy }) => (healthy ? "+" : "-")).join("")

type Announced = NonNullable<Known["announcement"]>["message"]

/** What stays as it is until the server is heard again. */
const lasting = (known: Known, said: Announced) => {
  const { healthy, timestamp, uptimeScore } = verdictInForce(known)
  const heard = (at: HeardAt) => timeText(at.wallMillis)
  return {
    server_id: known.serverId,
    capabilities: said.capabilities,
    max_storage: said.maxStorage,
    retention_policy: said.retentionPolicy,
    region: said.region,
    regions: said.regions,
    uptime_score: uptimeScore,
    healthy,
    stopped: known.saidGoodbye,
    timestamp: Timestamp.format(timestamp),
    port: said.port,
    last_heard: heard(known.lastHeard),
    first_heard: heard(known.firstHeard),
    skew_seconds: known.skewMillis === undefined ? null : seconds(known.skewMillis),
    beat_seconds: known.beatMillis === undefined ? null : seconds(known.beatMillis),
    verdict_changes: known.verdictChanges,
    recent_verdicts: verdictMarks(known.recent),
    restored: known.restored
  }
}

/** What changes with time and with what this node knows of the network. */
const passing = (known: Known, at: Moment) => {
  const state = stateOf(known, at)
  return {
    state,
    since: timeText(standingSinceMillis(known, state)),
    overdue_heartbeats: overdueHeartbeats(known, at.now) ?? null,
    ...reachOf(known.serverId, at)
  }
}

/** Whole seconds since the server was last heard. */
const ageSeconds = (known: Known, at: Moment) => Math.floor(ageMillis(known, at.now) / 1000)

/** The entry as a reader is told it; undefined of a server that has not announced. */
export const entryOf = (known: Known, at: Moment): ServiceEntry | undefined =>
  known.announcement && {
    ...lasting(known, known.announcement.message),
    ...passing(known, at),
    age_seconds: ageSeconds(known, at)
  }

const texts = new WeakMap<Known, string>()

const lastingText = (known: Known, said: Announced): string => {
  const made = texts.get(known)
  if (made !== undefined) return made
  const text = stringify(lasting(known, said)).slice(0, -1)
  texts.set(known, text)
  return text
}

export interface Rendered {
  /** The entry as JSON. */
  readonly text: string
  /** All of it but its age: when this is equal, nothing worth telling has changed. */
  readonly substance: string
}

/** `entryOf` as JSON text. */
export const render = (known: Known, at: Moment): Rendered | undefined => {
  if (known.announcement === undefined) return undefined
  const substance = `${lastingText(known, known.announcement.message)},${stringify(passing(known, at)).slice(1, -1)}`
  return { substance, text: `${substance},"age_seconds":${ageSeconds(known, at)}}` }
}
