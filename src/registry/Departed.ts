/**
 * What is remembered of servers whose entry was pushed out: the timestamps that no message may repeat, for as long as an
 * old copy could still pass (R7), and when and why the entry went (R21). Bounded on both counts.
 */
import type { PeerId } from "../identity/PeerId.ts"
import type { Now } from "../time/Reading.ts"
import * as Timestamp from "../time/Timestamp.ts"
import type { Known } from "./Known.ts"
import { rememberedEvictions, rememberedTimestamps, tooOldNanos } from "./Limits.ts"
import type { EvictionRecord, Remembered } from "./Registry.ts"

export class Departed {
  readonly #remembered = new Map<PeerId, Remembered>()
  readonly #evictions = new Map<PeerId, EvictionRecord>()

  /** Whatever has become of its entry since: a new one may not have heard all that the old one had. */
  remembered(server: PeerId): Remembered | undefined {
    return this.#remembered.get(server)
  }

  evictionOf(server: PeerId): EvictionRecord | undefined {
    return this.#evictions.get(server)
  }

  /** No message of this server counts that is not newer than these, nor than those remembered before. */
  remember(server: PeerId, last: Remembered, now: Now): void {
    const earlier = this.#remembered.get(server)
    this.#remembered.delete(server)
    this.#remembered.set(server, {
      announcementTimestamp: later(last.announcementTimestamp, earlier?.announcementTimestamp),
      heartbeatTimestamp: later(last.heartbeatTimestamp, earlier?.heartbeatTimestamp)
    })
    for (const [oldest, remembered] of this.#remembered) {
      if (this.#remembered.size <= rememberedTimestamps && !isOver(remembered, now)) break
      this.#remembered.delete(oldest)
    }
  }

  evicted(known: Known, reason: string, now: Now): void {
    const { serverId, announcement, heartbeat } = known
    const last = {
      announcementTimestamp: announcement?.message.timestamp,
      heartbeatTimestamp: heartbeat?.message.timestamp
    }
    this.remember(serverId, last, now)
    this.#evictions.delete(serverId)
    this.#evictions.set(serverId, { wallMillis: Timestamp.toMillis(now.wallNanos), reason })
    for (const oldest of this.#evictions.keys()) {
      if (this.#evictions.size <= rememberedEvictions) break
      this.#evictions.delete(oldest)
    }
  }
}

const later = (left: bigint | undefined, right: bigint | undefined): bigint | undefined =>
  right === undefined || (left !== undefined && left > right) ? left : right

/** Whether every copy of what was accepted is refused as too old by now. */
const isOver = ({ announcementTimestamp, heartbeatTimestamp }: Remembered, now: Now): boolean => {
  const over = (timestamp: bigint | undefined) => timestamp === undefined || now.wallNanos - timestamp >= tooOldNanos
  return over(announcementTimestamp) && over(heartbeatTimestamp)
}
