/**
 * Which entry goes when the registry is full and another server appears: silent ones first, then those that are not
 * available, never one known for a day (R19). What is available stays: then the newest stranger, which is the one that
 * appears, is refused. Choosing costs the same at any size.
 */
import type { PeerId } from "../identity/PeerId.ts"
import type { Now } from "../time/Reading.ts"
import type { Known } from "./Known.ts"
import { knownForADayMillis } from "./Limits.ts"
import { isAvailable, isSilent } from "./Query.ts"

const standings = ["silent", "unannounced", "unhealthy"] as const
type Standing = (typeof standings)[number] | "available"

const standingOf = (known: Known, now: Now): Standing => {
  if (isSilent(known, now)) return "silent"
  if (known.announcement === undefined) return "unannounced"
  return isAvailable(known, now) ? "available" : "unhealthy"
}

export class Displaceable {
  // Each in the order in which servers came to stand there.
  readonly #standing: Record<Standing, Set<PeerId>> = {
    silent: new Set(),
    unannounced: new Set(),
    unhealthy: new Set(),
    available: new Set()
  }

  /** Notes how a server stands now. One that stands as before keeps its turn. */
  place(known: Known, now: Now): void {
    const standing = standingOf(known, now)
    for (const other of standings) if (other !== standing) this.#standing[other].delete(known.serverId)
    if (standing !== "available") this.#standing[standing].add(known.serverId)
  }

  drop(server: PeerId): void {
    for (const standing of standings) this.#standing[standing].delete(server)
  }

  /** The entry that makes room for the incoming one, if any does. */
  first(
    incoming: Known,
    now: Now,
    find: (server: PeerId) => Known | undefined
  ): { readonly server: PeerId; readonly reason: string } | undefined {
    // A stranger that is not available itself is the newest of those that go: it displaces none of them.
    const before = isAvailable(incoming, now) ? standings : (["silent"] as const)
    for (const standing of before) {
      for (const server of this.#standing[standing]) {
        const known = find(server)
        if (known !== undefined && now.steadyMillis - known.firstHeard.steadyMillis < knownForADayMillis) {
          return { server, reason: `${standing}, and the registry was full` }
        }
        // Known for a day by now, for good: never looked at again while it stands here, so the search stays short.
        this.#standing[standing].delete(server)
      }
    }
    return undefined
  }
}
