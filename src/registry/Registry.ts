/**
 * What this server believes of every other: one entry a server, changed in one atomic step. It decides nothing
 * itself: Judge decides, Query asks, Intake brings the messages.
 */
import { Context, type Effect, type Option, type Queue, type Result, type Scope } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import type { Known } from "./Known.ts"
import type { Refusal, RefusalReason } from "./Refusal.ts"

/** The last timestamps accepted of a server whose entry is gone, for as long as an old copy could still pass (R7). */
export interface Remembered {
  readonly announcementTimestamp: bigint | undefined
  readonly heartbeatTimestamp: bigint | undefined
}

/** What a decision makes of what is known: the entry as it is from now on, or why nothing changes. Pure. */
export type Decide = (known: Known | undefined, remembered: Remembered | undefined) => Result.Result<Known, Refusal>

export interface Admission {
  readonly before: Known | undefined
  readonly after: Known
}

/** What is remembered of the messages of one signer that did not count (R21). */
export interface RefusalRecord {
  /** Why the last of them did not count. */
  readonly reason: RefusalReason
  /** What was wrong with it, naming the field; at most 200 characters. */
  readonly detail: string
  /** How many did not count. */
  readonly count: number
  /** When the last of them came, in milliseconds since the Unix epoch. */
  readonly lastWallMillis: number
}

/** A refusal record with the signer whose messages they were. */
export interface RefusedSigner extends RefusalRecord {
  readonly signer: PeerId
}

/** When and why an entry was pushed out of a full registry (R19). */
export interface EvictionRecord {
  /** When it went, in milliseconds since the Unix epoch. */
  readonly wallMillis: number
  /** Why it was this one that went. */
  readonly reason: string
}

/** An entry changed in a way that a reader of the list can see. Ids count from 1 without gaps. */
export interface Change {
  readonly id: number
  readonly serverId: PeerId
  /** The entry from now on; absent when it is gone. */
  readonly entry: Known | undefined
  readonly cause: "announced" | "heartbeat" | "silent" | "evicted" | "forgotten" | "restored"
}

export class Registry extends Context.Service<
  Registry,
  {
    /** Looks up what is known, decides, and stores the outcome: one step that nothing can come between. */
    admit(server: PeerId, decide: Decide): Effect.Effect<Result.Result<Admission, Refusal>>
    /** Takes no message of this server that is not newer than these: its entry went before a restart (R7, R14). */
    remember(server: PeerId, last: Remembered): Effect.Effect<void>
    /** Remembers that a message of this signer did not count, for `why` (bounded, newest signers kept). */
    noteRefusal(signer: PeerId, refusal: Refusal): Effect.Effect<void>
    readonly entries: Effect.Effect<ReadonlyArray<Known>>
    find(server: PeerId): Effect.Effect<Option.Option<Known>>
    refusalOf(server: PeerId): Effect.Effect<Option.Option<RefusalRecord>>
    /** The signers whose messages were refused last, at most so many, the last refused first. */
    latestRefusals(limit: number): Effect.Effect<ReadonlyArray<RefusedSigner>>
    /** When and why the entry of a server went, if it was evicted (R19). */
    evictionOf(server: PeerId): Effect.Effect<Option.Option<EvictionRecord>>
    /**
     * The entries as they are, and every change after exactly that state: nothing lost, nothing twice. A reader that
     * falls 1 024 changes behind has its queue failed, never the writers slowed.
     */
    readonly subscribe: Effect.Effect<
      {
        readonly lastId: number
        readonly entries: ReadonlyArray<Known>
        readonly changes: Queue.Dequeue<Change, "too-slow">
      },
      never,
      Scope.Scope
    >
  }
>()("ricochet-discovery/registry/Registry") {}
