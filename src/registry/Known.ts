/**
 * What this server believes of another: its newest words on each topic, and when they were heard here. A noun; the
 * rules that make and change it are Judge's, the questions asked of it are Query's.
 */
import type { PeerId } from "../identity/PeerId.ts"
import type { Announcement } from "./Announcement.ts"
import type { Heartbeat } from "./Heartbeat.ts"

/** A moment on both of this server's clocks. */
export interface Moment {
  readonly wallMillis: number
  /** Ages are differences of this (R6). Negative for what was heard before the machine was booted. */
  readonly steadyMillis: number
}

/** The newest accepted message of one topic, with the bytes that its server signed. */
export interface Newest<A> {
  readonly message: A
  readonly signed: Uint8Array
}

export interface Known {
  readonly serverId: PeerId
  /** Newest announcement; absent while only heartbeats were heard (S16). */
  readonly announcement: Newest<Announcement> | undefined
  /** Newest heartbeat; absent until the first. */
  readonly heartbeat: Newest<Heartbeat> | undefined
  readonly firstHeard: Moment
  /** Receipt of the last accepted message (R6). */
  readonly lastHeard: Moment
  /** The sender's clock less ours at the last message that came over a topic, in milliseconds: positive is ahead (R10). */
  readonly skewMillis: number | undefined
  /** Since when the verdict in force has been what it is, as heard here. */
  readonly verdictSince: Moment
  /** How often the verdict has changed. */
  readonly verdictChanges: number
  /** Its last words were a goodbye: it was stopped in order, and has said nothing since (R13). */
  readonly saidGoodbye: boolean
  /** The server's own beat between self-checks, in milliseconds as heard here; absent before two (R21). */
  readonly beatMillis: number | undefined
  /** Believed from what was kept or handed on, and not yet heard live since this server started (R12, R14). */
  readonly restored: boolean
  /** The last verdicts as heard here, oldest first, at most 60. */
  readonly recent: ReadonlyArray<{ readonly wallMillis: number; readonly healthy: boolean }>
}
