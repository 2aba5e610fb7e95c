/**
 * The questions asked of what is known: who is available, in what order, who takes this piece of work, and why a server
 * is not listed. Functions of entries and a moment; they change nothing and fetch nothing.
 */
import { Option } from "effect"
import type { Now } from "../time/Reading.ts"
import type { Known } from "./Known.ts"
import { silentAfterMillis } from "./Limits.ts"
import type { EvictionRecord, RefusalRecord } from "./Registry.ts"
import * as Rendezvous from "./Rendezvous.ts"

/** What a server last said of itself, whichever topic it said it on. */
export interface Verdict {
  readonly healthy: boolean
  /** 0 to 1. */
  readonly uptimeScore: number
  /** By the sender's clock, in nanoseconds since the Unix epoch. */
  readonly timestamp: bigint
}

/** Nothing was ever heard: what an entry without messages would say. Judge makes none. */
const nothingSaid: Verdict = { healthy: false, uptimeScore: 0, timestamp: 0n }

/**
 * The verdict in force: the newer of announcement and heartbeat. On equal timestamps unhealthy wins, then the lower
 * score, so that the order of arrival decides nothing. Source: R8.
 */
export const verdictInForce = (known: Pick<Known, "announcement" | "heartbeat">): Verdict => {
  const said = known.announcement?.message
  const beat = known.heartbeat?.message
  if (said === undefined || beat === undefined) return said ?? beat ?? nothingSaid
  if (said.timestamp !== beat.timestamp) return said.timestamp > beat.timestamp ? said : beat
  if (said.healthy !== beat.healthy) return said.healthy ? beat : said
  return said.uptimeScore <= beat.uptimeScore ? said : beat
}

/** Time since the last accepted message was received here, on the steady clock (R6). */
export const ageMillis = (known: Known, now: Now): number => now.steadyMillis - known.lastHeard.steadyMillis

/** Nothing was heard for more than two hours; at exactly two hours it still counts as heard (S15, R6). */
export const isSilent = (known: Known, now: Now): boolean => ageMillis(known, now) > silentAfterMillis

/** It has announced, its last reported check passed, and it was heard within two hours (S14, S15, S16). */
export const isAvailable = (known: Known, now: Now): boolean =>
  known.announcement !== undefined && verdictInForce(known).healthy && !isSilent(known, now)

/** Where a server stands that is known: listed, or why it is not. */
export type Standing = "available" | "unhealthy" | "silent" | "unannounced"

export const standingOf = (known: Known, now: Now): Standing => {
  if (known.announcement === undefined) return "unannounced"
  if (isSilent(known, now)) return "silent"
  return verdictInForce(known).healthy ? "available" : "unhealthy"
}

/** Since when it stands there, in milliseconds of our wall clock. */
export const standingSinceMillis = (known: Known, standing: Standing): number => {
  if (standing === "unannounced") return known.firstHeard.wallMillis
  return standing === "silent" ? known.lastHeard.wallMillis + silentAfterMillis : known.verdictSince.wallMillis
}

/** Score descending, then peer ID ascending: the same everywhere, and no flicker among equals (S17, R20). */
export const inOrder = (left: Known, right: Known): number =>
  verdictInForce(right).uptimeScore - verdictInForce(left).uptimeScore || (left.serverId < right.serverId ? -1 : 1)

/** The servers that are listed, in order. */
export const available = (entries: ReadonlyArray<Known>, now: Now): ReadonlyArray<Known> =>
  entries.filter((known) => isAvailable(known, now)).sort(inOrder)

/** What a reader of the list asks for. Whatever is absent does not narrow it. */
export interface Filter {
  /** Servers that announced this capability, by its exact name. */
  readonly capability?: string | undefined
  /** Servers in this region, or that serve it. */
  readonly region?: string | undefined
  /** Servers with at least this uptime score, 0 to 1. */
  readonly minUptime?: number | undefined
  /** Servers heard within this many milliseconds: how a reader asks for less than two hours (R21). */
  readonly maxAgeMillis?: number | undefined
  /** The first so many, once the rest is decided. */
  readonly limit?: number | undefined
}

export const matches = (known: Known, filter: Filter, now: Now): boolean => {
  const { capability, region, minUptime, maxAgeMillis } = filter
  const said = known.announcement?.message
  return (
    (capability === undefined || said?.capabilities.includes(capability) === true) &&
    (region === undefined || said?.region === region || said?.regions.includes(region) === true) &&
    (minUptime === undefined || verdictInForce(known).uptimeScore >= minUptime) &&
    (maxAgeMillis === undefined || ageMillis(known, now) <= maxAgeMillis)
  )
}

/** Keeps the order of the entries it is given. */
export const select = (entries: ReadonlyArray<Known>, filter: Filter, now: Now): ReadonlyArray<Known> => {
  const matching = entries.filter((known) => matches(known, filter, now))
  return filter.limit === undefined ? matching : matching.slice(0, filter.limit)
}

/**
 * Heartbeats that should have come since the last message, by the server's own observed beat; one is not overdue
 * until half a beat late, and none is of a server that said goodbye. `undefined` while no beat is known. Source: R21.
 */
export const overdueHeartbeats = (known: Known, now: Now): number | undefined => {
  if (known.beatMillis === undefined) return undefined
  return known.saidGoodbye ? 0 : Math.max(0, Math.floor(ageMillis(known, now) / known.beatMillis - 0.5))
}

/** Why a server is listed or is not, and since when by our wall clock. Source: R21. */
export type Why =
  | { readonly state: "listed"; readonly sinceMillis: number }
  | { readonly state: "never-announced"; readonly sinceMillis: number }
  | { readonly state: "unhealthy"; readonly sinceMillis: number }
  | { readonly state: "silent"; readonly sinceMillis: number }
  | { readonly state: "refused"; readonly refusal: RefusalRecord }
  | { readonly state: "evicted"; readonly eviction: EvictionRecord }
  | { readonly state: "unknown" }

/** All that this server remembers of one peer ID. */
export interface Remains {
  readonly entry: Option.Option<Known>
  readonly refusal: Option.Option<RefusalRecord>
  readonly eviction: Option.Option<EvictionRecord>
}

/**
 * The one reason that explains most. Where messages of a server that is not listed were refused since it was last heard,
 * or its announcement never counted, that is why it is missing, whatever the entry still says.
 */
export const why = ({ entry, refusal, eviction }: Remains, now: Now): Why => {
  const refused = Option.getOrUndefined(refusal)
  const known = Option.getOrUndefined(entry)
  if (known !== undefined) {
    if (isAvailable(known, now)) return { state: "listed", sinceMillis: known.verdictSince.wallMillis }
    const isLater = refused !== undefined && refused.lastWallMillis >= known.lastHeard.wallMillis
    if (refused !== undefined && (isLater || known.announcement === undefined)) {
      return { state: "refused", refusal: refused }
    }
    if (known.announcement === undefined) return { state: "never-announced", sinceMillis: known.firstHeard.wallMillis }
    if (isSilent(known, now)) {
      return { state: "silent", sinceMillis: known.lastHeard.wallMillis + silentAfterMillis }
    }
    return { state: "unhealthy", sinceMillis: known.verdictSince.wallMillis }
  }
  const evicted = Option.getOrUndefined(eviction)
  if (evicted !== undefined && evicted.wallMillis >= (refused?.lastWallMillis ?? 0)) {
    return { state: "evicted", eviction: evicted }
  }
  return refused === undefined ? { state: "unknown" } : { state: "refused", refusal: refused }
}

/**
 * The server that takes the work named `key`: weighted rendezvous hashing, the uptime score being the weight (R20). The
 * same on every machine that knows the same servers; when one comes or goes, only its own share of the keys moves. A
 * score of 0 is never picked unless all are 0. Give it the entries that match.
 */
export const pick = (entries: ReadonlyArray<Known>, key: string): Option.Option<Known> => {
  const allZero = entries.every((known) => verdictInForce(known).uptimeScore === 0)
  const drawOf = Rendezvous.draws(key)
  let best: Known | undefined
  let bestScore = 0
  for (const known of entries) {
    const weight = allZero ? 1 : verdictInForce(known).uptimeScore
    const score = Rendezvous.score(drawOf(known.serverId), weight)
    if (score === 0 || score < bestScore) continue
    if (score === bestScore && best !== undefined && best.serverId < known.serverId) continue
    best = known
    bestScore = score
  }
  return Option.fromUndefinedOr(best)
}
