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
}

/** Where the servers known to this one are kept across restarts (R14). */
export class KeptServers extends Context.Service<
  KeptServers,
  {
    /**
     * The servers heard at `sinceMillis` or later, those heard last first, `most` at most. Rows that cannot be read are
     * left out.
     */
    load(sinceMillis: number, most: number): Effect.Effect<ReadonlyArray<KeptServer>, SqlError | MigrationError>
    /** Keeps these, each once. Of what is kept already, the newer message of each topic stays. */
    write(servers: ReadonlyArray<KeptServer>): Effect.Effect<void, SqlError | MigrationError>
    /** Forgets these servers. */
    forget(servers: ReadonlyArray<PeerId>): Effect.Effect<void, SqlError | MigrationError>
    /** Forgets every server last heard before this. */
    forgetBefore(millis: number): Effect.Effect<void, SqlError | MigrationError>
  }
>()("ricochet-discovery/storage/KeptServers") {}
