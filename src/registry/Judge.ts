/**
 * The rules: whether words count, and what is believed once they do. Functions of what is known, the message, its
 * signer and the moment; each check stands under the sentence it holds. Where entries are kept is Registry's.
 */
import { Result } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import type { Now } from "../time/Reading.ts"
import * as Timestamp from "../time/Timestamp.ts"
import type { Announcement } from "./Announcement.ts"
import type { Heartbeat } from "./Heartbeat.ts"
import type { Known, Moment } from "./Known.ts"
import {
  beatSample,
  firstBeatMillis,
  forgottenAfterMillis,
  maxAheadNanos,
  recentVerdicts,
  saidTogetherNanos,
  tooOldNanos
} from "./Limits.ts"
import { type Verdict, verdictInForce } from "./Query.ts"
import { type Refusal, refuse } from "./Refusal.ts"
import type { Decide } from "./Registry.ts"

/**
 * Where a message came from, which says when it was heard. `topic`: now. `handed-on`: got from a neighbour's directory,
 * heard no later than its own timestamp (R12). `restored`: kept by this server itself, heard when it was heard (R14).
 */
export type Origin =
  | { readonly kind: "topic" }
  | { readonly kind: "handed-on" }
  | { readonly kind: "restored"; readonly heardWallMillis: number; readonly firstHeardWallMillis: number }

/** A decoded message and what judging it takes. */
export interface Given<A> {
  readonly message: A
  /** The message as signed; asked for only when it counts. */
  readonly signed: () => Uint8Array
  readonly signer: PeerId
  /** This server's own peer ID. */
  readonly self: PeerId
  readonly now: Now
  readonly origin: Origin
}

export const judgeAnnouncement =
  (given: Given<Announcement>): Decide =>
  (known, remembered) => {
    const refusal = refusalOf(given, known?.announcement?.message, remembered?.announcementTimestamp)
    if (refusal !== undefined) return Result.fail(refusal)
    const announcement = { message: given.message, signed: given.signed() }
    return Result.succeed(believe(known, { announcement, heartbeat: known?.heartbeat }, given))
  }

/** A heartbeat of a server that has not announced is kept, and counts from the moment that it announces (S16, R2). */
export const judgeHeartbeat =
  (given: Given<Heartbeat>): Decide =>
  (known, remembered) => {
    const refusal = refusalOf(given, known?.heartbeat?.message, remembered?.heartbeatTimestamp)
    if (refusal !== undefined) return Result.fail(refusal)
    const heartbeat = { message: given.message, signed: given.signed() }
    return Result.succeed(believe(known, { announcement: known?.announcement, heartbeat }, given))
  }

/** The sender's clock less ours, in milliseconds with fractions: positive is ahead (R10). */
export const skewMillis = (timestamp: bigint, now: Now): number => Number(timestamp - now.wallNanos) / 1e6

type Words = Announcement | Heartbeat

const refusalOf = (
  { message, signer, self, now, origin }: Given<Words>,
  last: Words | undefined,
  rememberedTimestamp: bigint | undefined
): Refusal | undefined => {
  // S8, R1: a message whose signer is not the server it names is rejected. Both are canonical here.
  if (message.serverId !== signer) return refuse("forged", `server_id names ${message.serverId}, signed by ${signer}`)

  // wire.md: a server does not list itself from its own messages on the topics.
  if (signer === self) return refuse("own", "this server's own words")

  // R7: no message from the future or from the dead. What this server kept itself had passed before it was kept.
  const aheadNanos = message.timestamp - now.wallNanos
  if (aheadNanos > maxAheadNanos)
    return refuse("too-far-ahead", `timestamp: ${seconds(aheadNanos)} ahead of this server`)
  const isTooOld =
    origin.kind === "restored"
      ? Timestamp.toMillis(now.wallNanos) - origin.heardWallMillis > forgottenAfterMillis
      : -aheadNanos >= tooOldNanos
  if (isTooOld) return refuse("too-old", `timestamp: ${seconds(-aheadNanos)} behind this server`)

  // R7: no message counts twice. R8: of two that were made at the same moment, the one that says unhealthy wins.
  if (last !== undefined && !isNewer(message, last)) return refuse("repeated", "timestamp: not newer than the last")
  if (rememberedTimestamp !== undefined && message.timestamp <= rememberedTimestamp) {
    return refuse("repeated", "timestamp: not newer than the last of an entry that is gone")
  }
  return undefined
}

const isNewer = (message: Words, last: Words): boolean =>
  message.timestamp > last.timestamp || (message.timestamp === last.timestamp && last.healthy && !message.healthy)

const seconds = (nanos: bigint): string => `${nanos / 1_000_000_000n} s`

/**
 * The entry once the words count. What decides the list is a function of the newest announcement and the newest
 * heartbeat alone; words that arrive late fill in what they add, and make nobody be heard later (R8, case A04).
 */
const believe = (
  known: Known | undefined,
  words: Pick<Known, "announcement" | "heartbeat">,
  { message, now, origin }: Given<Words>
): Known => {
  const heard = momentHeard(message, now, origin)
  const before = known === undefined ? undefined : verdictInForce(known)
  const verdict = verdictInForce(words)
  const isLatest = before === undefined || message.timestamp >= before.timestamp
  const isChange = before !== undefined && before.healthy !== verdict.healthy
  // An announcement repeats the verdict of the last check, which its heartbeat has told or will tell.
  const isTold = message === words.heartbeat?.message && !isSaidAgain(known, words, heard)
  const isCheck = verdict === message && (isTold || isChange || known === undefined)
  const recent = isCheck
    ? [...(known?.recent ?? []).slice(1 - recentVerdicts), { wallMillis: heard.wallMillis, healthy: verdict.healthy }]
    : (known?.recent ?? [])
  return {
    serverId: message.serverId,
    announcement: words.announcement,
    heartbeat: words.heartbeat,
    firstHeard: earlier(known?.firstHeard, firstMomentHeard(heard, now, origin)),
    lastHeard: known === undefined || (isLatest && isAfter(heard, known.lastHeard)) ? heard : known.lastHeard,
    skewMillis: origin.kind === "topic" && isLatest ? skewMillis(message.timestamp, now) : known?.skewMillis,
    verdictSince: known === undefined || isChange ? heard : known.verdictSince,
    verdictChanges: (known?.verdictChanges ?? 0) + (isChange ? 1 : 0),
    saidGoodbye: isGoodbye(known, words, isLatest ? before : words.announcement?.message),
    beatMillis: isCheck ? observedBeat(recent) : known?.beatMillis,
    restored: origin.kind !== "topic" && (known?.restored ?? true),
    recent
  }
}

/**
 * Whether its last words are a goodbye (R13): a heartbeat that turns healthy to unhealthy and leaves the score as it was,
 * which a check that fails does not. What comes late, and is older, may be what it turned from, and takes nothing back.
 */
const isGoodbye = (
  known: Known | undefined,
  words: Pick<Known, "announcement" | "heartbeat">,
  before: Verdict | undefined
): boolean => {
  const verdict = verdictInForce(words)
  if (verdict.healthy || verdict !== words.heartbeat?.message) return false
  if (known?.saidGoodbye === true && known.heartbeat?.message === verdict) return true
  return before?.healthy === true && before.uptimeScore === verdict.uptimeScore
}

const isAfter = (left: Moment, right: Moment) => left.steadyMillis > right.steadyMillis
const earlier = (left: Moment | undefined, right: Moment) => (left === undefined || isAfter(left, right) ? right : left)

/** A wall time that is past, on both clocks. */
const momentAt = (wallMillis: number, now: Now): Moment => {
  const nowMillis = Timestamp.toMillis(now.wallNanos)
  const past = Math.min(wallMillis, nowMillis)
  return { wallMillis: past, steadyMillis: now.steadyMillis - (nowMillis - past) }
}

const momentHeard = (message: Words, now: Now, origin: Origin): Moment => {
  switch (origin.kind) {
    case "topic":
      return momentAt(Number.POSITIVE_INFINITY, now)
    case "handed-on":
      return momentAt(Timestamp.toMillis(message.timestamp), now)
    case "restored":
      return momentAt(origin.heardWallMillis, now)
  }
}

const firstMomentHeard = (heard: Moment, now: Now, origin: Origin): Moment =>
  origin.kind === "restored" ? earlier(heard, momentAt(origin.firstHeardWallMillis, now)) : heard

/**
 * Whether a heartbeat is the last check told once more, as it is to every newcomer: right after an announcement, and too
 * soon for another check (R11).
 */
const isSaidAgain = (
  known: Known | undefined,
  { announcement, heartbeat }: Pick<Known, "announcement" | "heartbeat">,
  heard: Moment
): boolean => {
  const last = known?.recent.at(-1)
  if (last === undefined || announcement === undefined || heartbeat === undefined) return false
  const afterNanos = heartbeat.message.timestamp - announcement.message.timestamp
  const isTogether = afterNanos >= 0n && afterNanos <= saidTogetherNanos
  const soonestMillis = known?.beatMillis === undefined ? firstBeatMillis : 0.75 * known.beatMillis
  return isTogether && heard.wallMillis - last.wallMillis < soonestMillis
}

/**
 * The sender's beat: the median of the newest intervals between its checks, the shorter of two in the middle. Neither
 * long silences nor a missed heartbeat move it, and a new interval is believed after five beats (R21).
 */
const observedBeat = (recent: Known["recent"]): number | undefined => {
  const newest = recent.slice(-1 - beatSample)
  const gaps = newest
    .map((check, index) => check.wallMillis - (newest[index - 1]?.wallMillis ?? check.wallMillis))
    .filter((gap) => gap >= 1_000)
    .sort((left, right) => left - right)
  return gaps[(gaps.length - 1) >> 1]
}
