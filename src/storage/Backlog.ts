/**
 * What waits to be kept: the newest entry of each server that changed, and the self-checks. Bounded, and in memory; who
 * writes it, and when, is WriteBehind's.
 */
import type { SelfCheckRecord } from "../health/SelfCheck.ts"
import { windowLength } from "../health/UptimeScore.ts"
import type { PeerId } from "../identity/PeerId.ts"
import type { Known, Newest } from "../registry/Known.ts"
import type { KeptMessage, KeptServer } from "./KeptServers.ts"

/** What is written at a time. */
export interface Batch {
  readonly servers: ReadonlyArray<KeptServer>
  readonly forgotten: ReadonlyArray<PeerId>
  readonly checks: ReadonlyArray<SelfCheckRecord>
  /** The entries that it was made of. */
  readonly entries: ReadonlyMap<PeerId, Waiting>
}

interface Waiting {
  /** The entry as it is from now on; absent when it is gone. */
  readonly entry: Known | undefined
  /** Since when something of this server waits, on the steady clock. */
  readonly sinceMillis: number
}

const messageOf = (newest: Newest<{ readonly timestamp: bigint }> | undefined): KeptMessage | undefined =>
  newest && { signed: newest.signed, timestamp: newest.message.timestamp }

const keptOf = (known: Known): KeptServer => ({
  serverId: known.serverId,
  announcement: messageOf(known.announcement),
  heartbeat: messageOf(known.heartbeat),
  firstHeardMillis: known.firstHeard.wallMillis,
  lastHeardMillis: known.lastHeard.wallMillis
})

export class Backlog {
  readonly #maxServers: number
  readonly #servers = new Map<PeerId, Waiting>()
  #checks: ReadonlyArray<SelfCheckRecord> = []
  #dropped = 0

  constructor(maxServers: number) {
    this.#maxServers = maxServers
  }

  /** Servers and self-checks that wait. */
  get size(): number {
    return this.#servers.size + this.#checks.length
  }

  /** Changes that never got written, because too many waited. */
  get dropped(): number {
    return this.#dropped
  }

  /** Since when the oldest change waits, on the steady clock. */
  get sinceMillis(): number | undefined {
    return this.#servers.values().next().value?.sinceMillis
  }

  /** A server changed. Only its newest entry waits; when too many servers do, the one that waits longest is dropped. */
  note(serverId: PeerId, entry: Known | undefined, steadyMillis: number): void {
    this.#servers.set(serverId, { entry, sinceMillis: this.#servers.get(serverId)?.sinceMillis ?? steadyMillis })
    if (this.#servers.size <= this.#maxServers) return
    for (const oldest of this.#servers.keys()) {
      this.#servers.delete(oldest)
      this.#dropped++
      break
    }
  }

  /** A self-check was made. Older ones than the last 288 count for nothing, and are not kept. */
  noteCheck(check: SelfCheckRecord): void {
    this.#checks = [...this.#checks, check].slice(-windowLength)
  }

  /** What has waited longest, at most so many servers, and all self-checks. It waits on until it is `settled`. */
  next(mostServers: number): Batch {
    const entries = new Map([...this.#servers.entries().take(mostServers)])
    const servers: Array<KeptServer> = []
    const forgotten: Array<PeerId> = []
    for (const [serverId, { entry }] of entries) {
      if (entry === undefined) forgotten.push(serverId)
      else servers.push(keptOf(entry))
    }
    return { servers, forgotten, checks: this.#checks, entries }
  }

  /** The batch is written. What changed since it was taken waits on. */
  settled(batch: Batch, steadyMillis: number): void {
    for (const [serverId, written] of batch.entries) {
      const waiting = this.#servers.get(serverId)
      if (waiting === undefined) continue
      this.#servers.delete(serverId)
      if (waiting.entry !== written.entry) this.note(serverId, waiting.entry, steadyMillis)
    }
    const writtenChecks = new Set(batch.checks)
    this.#checks = this.#checks.filter((check) => !writtenChecks.has(check))
  }
}
