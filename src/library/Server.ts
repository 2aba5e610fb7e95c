/**
 * Another server as an application is told of it: what it says of itself, how it stands here, and how it is reached. A
 * noun made of what is known at one moment; whatever lists, picks or watches is Servers'.
 */
import type { PeerId } from "../identity/PeerId.ts"
import type { Known } from "../registry/Known.ts"
import { ageMillis, overdueHeartbeats, standingOf, standingSinceMillis, verdictInForce } from "../registry/Query.ts"
import type { Now } from "../time/Reading.ts"

/**
 * How a server stands. `available`: it is in the list. `unhealthy`: its last self-check failed, or it was
 * stopped in order. `silent`: nothing was heard of it for more than two hours. Source: S14, S15.
 */
export type ServerState = "available" | "unhealthy" | "silent"

/** A server that has announced itself, as it is known here at one moment. */
export interface Server {
  /** Its peer ID: the key that it signs with, and the name it is known by. */
  readonly serverId: PeerId
  /** Whether it is listed, and if not why not. */
  readonly state: ServerState
  /** Since when it is in that state, as heard here, in milliseconds since the Unix epoch. */
  readonly sinceMillis: number
  /** Share of its last 288 self-checks that passed, 0 to 1. */
  readonly uptimeScore: number
  /** The region it is in. Text from a stranger, as all that follows. */
  readonly region: string
  /** The regions it serves. */
  readonly regions: ReadonlyArray<string>
  /** What it offers, such as `mailbox`. */
  readonly capabilities: ReadonlyArray<string>
  /** Its storage budget as its owner wrote it, such as `10GB`. */
  readonly maxStorage: string
  /** How long it keeps messages, as Go prints a duration, such as `720h0m0s`. */
  readonly retentionPolicy: string
  /** The port it listens on for other servers, 0 to 65535. */
  readonly port: number
  /**
   * The multiaddrs that this server knows of it, connected or not, at most eight, as of a second ago at most: what it
   * dialled, then what the other says of itself. Each ends in its peer ID; empty while none is known.
   */
  readonly addresses: ReadonlyArray<string>
  /** When it was heard for the first time, in milliseconds since the Unix epoch. */
  readonly firstHeardMillis: number
  /** When it was heard last, in milliseconds since the Unix epoch. */
  readonly lastHeardMillis: number
  /** Time since it was heard last, in milliseconds, on a clock that does not jump. */
  readonly ageMillis: number
  /** Its clock less this server's in milliseconds, positive is ahead; undefined before its first live message. */
  readonly skewMillis: number | undefined
  /** Heartbeats that should have come since the last, by its own beat; undefined while no beat is known. */
  readonly overdueHeartbeats: number | undefined
  /** Whether it was not heard live yet since this server started: known from what was kept, or told by a neighbour. */
  readonly isRestored: boolean
}

/** What a server is shown against: the time, and where others can be dialled. */
export interface View {
  readonly now: Now
  readonly addresses: ReadonlyMap<PeerId, ReadonlyArray<string>>
}

/** The server as it is told of; undefined while it has not announced itself, for then nothing is known but its name. */
export const serverOf = (known: Known, { now, addresses }: View): Server | undefined => {
  const said = known.announcement?.message
  const standing = standingOf(known, now)
  if (said === undefined || standing === "unannounced") return undefined
  return {
    serverId: known.serverId,
    state: standing,
    sinceMillis: standingSinceMillis(known, standing),
    uptimeScore: verdictInForce(known).uptimeScore,
    region: said.region,
    regions: said.regions,
    capabilities: said.capabilities,
    maxStorage: said.maxStorage,
    retentionPolicy: said.retentionPolicy,
    port: said.port,
    addresses: addresses.get(known.serverId) ?? [],
    firstHeardMillis: known.firstHeard.wallMillis,
    lastHeardMillis: known.lastHeard.wallMillis,
    ageMillis: ageMillis(known, now),
    skewMillis: known.skewMillis,
    overdueHeartbeats: overdueHeartbeats(known, now),
    isRestored: known.restored
  }
}
