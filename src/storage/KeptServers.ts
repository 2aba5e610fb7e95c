/**
 * The servers known to this one, as they are kept across restarts (R14): their signed words and when these were heard.
 * Whether they are believed again is not decided here, nor what they are kept in.
 */
import { Context, type Effect } from "effect"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlError } from "effect/sql/SqlError"
import type { PeerId } from "../identity/PeerId.ts"

/** The newest message of one topic. */
export interface KeptMessage {
  /** As its server signed it. */
  readonly signed: Uint8Array
  /** Its `timestamp`, in nanoseconds since the Unix epoch. */
  readonly timestamp: bigint
}

/** A server as it is kept. */
export interface KeptServer {
  /** Its peer ID. */
  readonly serverId: PeerId
  /** Its newest announcement; absent before the first. */
  readonly announcement: KeptMessage | undefined
  /** Its newest heartbeat; absent before the first. */
  readonly heartbeat: KeptMessage | undefined
  /** Milliseconds since the Unix epoch, on this server's clock. */
  readonly firstHeardMillis: number
  /** Milliseconds since the Unix epoch, on this server's clock. */
  readonly lastHeardMillis: number
  /** Where it can be dialled by its own words, as `Gossip.addressBook` has it: eight at most, in printable ASCII. */
  readonly addresses: ReadonlyArray<string>
}

/** The timestamps that no message of a server may repeat whose entry was pushed out (R7). */
export interface KeptTimestamps {
  /** Its peer ID. */
  readonly serverId: PeerId
  /** Of its newest announcement, in nanoseconds since the Unix epoch. */
  readonly announcementTimestamp: bigint | undefined
  /** Of its newest heartbeat, in nanoseconds since the Unix epoch. */
  readonly heartbeatTimestamp: bigint | undefined
}

/** Where the servers known to this one are kept across restarts (R14). */
export class KeptServers extends Context.Service<
  KeptServers,
  {
    /**
     * The servers heard at `sinceMillis` or later, those heard last first, `most` at most, without those that were
     * evicted. Rows that cannot be read are left out.
     */
    load(sinceMillis: number, most: number): Effect.Effect<ReadonlyArray<KeptServer>, SqlError | MigrationError>
    /**
     * Keeps these, each once; none of them is evicted any more. Of what is kept already, the newer message of each topic
     * stays, and its addresses where none are given. Of two messages of the same moment the one written last stays.
     */
    write(servers: ReadonlyArray<KeptServer>): Effect.Effect<void, SqlError | MigrationError>
    /** Keeps of these servers what `loadEvicted` gives: of the 65 536 heard last, the others are forgotten. */
    evict(servers: ReadonlyArray<PeerId>): Effect.Effect<void, SqlError | MigrationError>
    /** What is kept of the evicted servers that were heard at `sinceMillis` or later, those heard last first. */
    loadEvicted(sinceMillis: number): Effect.Effect<ReadonlyArray<KeptTimestamps>, SqlError | MigrationError>
    /** Forgets these servers. */
    forget(servers: ReadonlyArray<PeerId>): Effect.Effect<void, SqlError | MigrationError>
    /** Forgets every server last heard before this, evicted ones too. */
    forgetBefore(millis: number): Effect.Effect<void, SqlError | MigrationError>
  }
>()("ricochet-discovery/storage/KeptServers") {}
