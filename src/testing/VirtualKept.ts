/** What a virtual server keeps across its restarts, in memory: the tables of the database without the database. */
import { Context, Effect, Layer } from "effect"
import type { SelfCheckRecord } from "../health/SelfCheck.ts"
import { windowLength } from "../health/UptimeScore.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { KeptChecks } from "../storage/KeptChecks.ts"
import { type KeptMessage, type KeptServer, KeptServers } from "../storage/KeptServers.ts"

const newer = (kept: KeptMessage | undefined, next: KeptMessage | undefined): KeptMessage | undefined =>
  kept !== undefined && (next === undefined || kept.timestamp > next.timestamp) ? kept : next

export class VirtualKept {
  readonly #servers = new Map<PeerId, KeptServer>()
  readonly #evicted = new Set<PeerId>()
  #checks: ReadonlyArray<SelfCheckRecord> = []

  #forget(server: PeerId): void {
    this.#servers.delete(server)
    this.#evicted.delete(server)
  }

  /** The stores as one life of the server sees them. What it writes once it is dead is not kept. */
  layer(isAlive: () => boolean): Layer.Layer<KeptServers | KeptChecks> {
    const whileAlive = (act: () => void) => Effect.sync(() => (isAlive() ? act() : undefined))
    const servers = KeptServers.of({
      load: (sinceMillis, most) =>
        Effect.sync(() =>
          [...this.#servers.values()]
            .filter(({ serverId, lastHeardMillis }) => lastHeardMillis >= sinceMillis && !this.#evicted.has(serverId))
            .sort((left, right) => right.lastHeardMillis - left.lastHeardMillis)
            .slice(0, most)
        ),
      write: (written) =>
        whileAlive(() => {
          for (const next of written) {
            const kept = this.#servers.get(next.serverId)
            this.#servers.set(next.serverId, {
              ...next,
              announcement: newer(kept?.announcement, next.announcement),
              heartbeat: newer(kept?.heartbeat, next.heartbeat),
              addresses: next.addresses.length > 0 ? next.addresses : (kept?.addresses ?? []),
              firstHeardMillis:
                kept === undefined || this.#evicted.has(next.serverId)
                  ? next.firstHeardMillis
                  : Math.min(kept.firstHeardMillis, next.firstHeardMillis)
            })
            this.#evicted.delete(next.serverId)
          }
        }),
      evict: (evicted) =>
        whileAlive(() => {
          for (const server of evicted) if (this.#servers.has(server)) this.#evicted.add(server)
        }),
      loadEvicted: (sinceMillis) =>
        Effect.sync(() =>
          [...this.#servers.values()]
            .filter(({ serverId, lastHeardMillis }) => lastHeardMillis >= sinceMillis && this.#evicted.has(serverId))
            .sort((left, right) => right.lastHeardMillis - left.lastHeardMillis)
            .map(({ serverId, announcement, heartbeat }) => ({
              serverId,
              announcementTimestamp: announcement?.timestamp,
              heartbeatTimestamp: heartbeat?.timestamp
            }))
        ),
      forget: (forgotten) =>
        whileAlive(() => {
          for (const server of forgotten) this.#forget(server)
        }),
      forgetBefore: (millis) =>
        whileAlive(() => {
          for (const { serverId, lastHeardMillis } of this.#servers.values()) {
            if (lastHeardMillis < millis) this.#forget(serverId)
          }
        })
    })
    const checks = KeptChecks.of({
      load: Effect.sync(() => this.#checks),
      write: (written) =>
        whileAlive(() => {
          this.#checks = [...this.#checks, ...written].slice(-windowLength)
        })
    })
    return Layer.succeedContext(Context.make(KeptServers, servers).pipe(Context.add(KeptChecks, checks)))
  }
}
