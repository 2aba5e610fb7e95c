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
  readonly evicted: ReadonlyArray<PeerId>
  readonly forgotten: ReadonlyArray<PeerId>
  readonly checks: ReadonlyArray<SelfCheckRecord>
  /** The entries that it was made of. */
  readonly entries: ReadonlyMap<PeerId, Waiting>
}

interface Waiting {
  /** The entry as it is from now on; absent when it is gone, and nothing that it was waits. */
  readonly entry: Known | undefined
  /** Whether it was pushed out: then its row stays, marked. */
  readonly isEvicted: boolean
  /** Since when something of this server waits, on the steady clock. */
  readonly sinceMillis: number
}

interface WaitingCheck {
  readonly check: SelfCheckRecord
  readonly sinceMillis: number
}

const messageOf = (newest: Newest<{ readonly timestamp: bigint }> | undefined): KeptMessage | undefined =>
  newest && { signed: newest.signed, timestamp: newest.message.timestamp }

const keptOf = (known: Known, addresses: ReadonlyArray<string>): KeptServer => ({
  serverId: known.serverId,
  announcement: messageOf(known.announcement),
  heartbeat: messageOf(known.heartbeat),
  firstHeardMillis: known.firstHeard.wallMillis,
  lastHeardMillis: known.lastHeard.wallMillis,
  addresses
})

export class Backlog {
  readonly #maxServers: number
  readonly #servers = new Map<PeerId, Waiting>()
  #checks: ReadonlyArray<WaitingCheck> = []
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

  /** Since when the oldest of them waits, on the steady clock. */
  get sinceMillis(): number | undefined {
    const server = this.#servers.values().next().value?.sinceMillis
    const check = this.#checks[0]?.sinceMillis
    return server === undefined || check === undefined ? (server ?? check) : Math.min(server, check)
  }

  /** A server changed. Only its newest entry waits; when too many servers do, the one that waits longest is dropped. */
  note(serverId: PeerId, entry: Known | undefined, steadyMillis: number): void {
    this.#put(serverId, { entry, isEvicted: false, sinceMillis: steadyMillis })
  }

  /** The entry of a server was pushed out. What of it waits is written before that. */
  noteEvicted(serverId: PeerId, steadyMillis: number): void {
    const entry = this.#servers.get(serverId)?.entry
    this.#put(serverId, { entry, isEvicted: true, sinceMillis: steadyMillis })
  }

  #put(serverId: PeerId, waiting: Waiting): void {
    const sinceMillis = this.#servers.get(serverId)?.sinceMillis ?? waiting.sinceMillis
    this.#servers.set(serverId, { ...waiting, sinceMillis })
    if (this.#servers.size <= this.#maxServers) return
    for (const oldest of this.#servers.keys()) {
      this.#servers.delete(oldest)
      this.#dropped++
      break
    }
  }

  /** A self-check was made. Older ones than the last 288 count for nothing, and are not kept. */
  noteCheck(check: SelfCheckRecord, steadyMillis: number): void {
    this.#checks = [...this.#checks, { check, sinceMillis: steadyMillis }].slice(-windowLength)
  }

  /**
   * What has waited longest, at most so many servers with what is known of their addresses, and all self-checks. It
   * waits on until it is `settled`.
   */
  next(mostServers: number, addresses: ReadonlyMap<PeerId, ReadonlyArray<string>>): Batch {
    const entries = new Map([...this.#servers.entries().take(mostServers)])
    const servers: Array<KeptServer> = []
    const evicted: Array<PeerId> = []
    const forgotten: Array<PeerId> = []
    for (const [serverId, { entry, isEvicted }] of entries) {
      if (entry !== undefined) servers.push(keptOf(entry, addresses.get(serverId) ?? []))
      if (isEvicted) evicted.push(serverId)
      else if (entry === undefined) forgotten.push(serverId)
    }
    return { servers, evicted, forgotten, checks: this.#checks.map(({ check }) => check), entries }
  }

  /** The batch is written. What changed since it was taken waits on. */
  settled(batch: Batch, steadyMillis: number): void {
    for (const [serverId, written] of batch.entries) {
      const waiting = this.#servers.get(serverId)
      if (waiting === undefined) continue
      this.#servers.delete(serverId)
      if (waiting.entry === written.entry && waiting.isEvicted === written.isEvicted) continue
      this.#put(serverId, { ...waiting, sinceMillis: steadyMillis })
    }
    const writtenChecks = new Set(batch.checks)
    this.#checks = this.#checks.filter(({ check }) => !writtenChecks.has(check))
  }
}
