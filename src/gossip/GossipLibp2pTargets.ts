/**
 * Whom to dial, and when: the rules of staying connected (R15), without a socket or a clock. Connections acts on them.
 */
import type { PeerId } from "../identity/PeerId.ts"

/**
 * `bootstrap`: a configured address, dialled for ever. `neighbour`: a peer that shared a topic and was cut, given up
 * after a day. `nearby`: a peer that announced itself on the local network, which it does again if it is still there.
 */
export interface Target {
  readonly kind: "bootstrap" | "neighbour" | "nearby"
  readonly peer: PeerId
  /** Absent: the addresses that the peer gave of itself are dialled. */
  readonly address: string | undefined
  /** Steady-clock milliseconds, here and below. */
  readonly sinceMillis: number
  readonly dueMillis: number
  readonly connectedMillis: number | undefined
  /** It was on a topic while it was connected. */
  readonly isOfUse: boolean
  /** Tries in a row that failed, or connections that did not last. */
  readonly failures: number
  readonly lastError: string | undefined
  readonly warnedMillis: number | undefined
}

/** No wait between two tries is longer. */
export const longestWaitMillis = 60_000
/** Being connected makes up for all earlier failures but these; sharing a topic, for all. */
const failuresKept = 3
const neighbourLimitMillis = 24 * 3_600_000
const nearbyTries = 3
const warnEveryMillis = 10 * 60_000
/** After a connection that lasted so long, its failure is news; on a link that comes and goes, it is not. */
const newsAfterMillis = 60_000

/** After so many failures, from 1 on: 1, 2, 4 … 60 seconds, each made up to half shorter at random, so that many servers do not come back at once. */
export const waitMillis = (failures: number, random: number): number =>
  Math.min(longestWaitMillis, 1_000 * 2 ** (failures - 1)) * (1 - random / 2)

export const make = (
  target: Pick<Target, "kind" | "peer" | "address">,
  nowMillis: number,
  delayMillis = 0
): Target => ({
  ...target,
  sinceMillis: nowMillis,
  dueMillis: nowMillis + delayMillis,
  connectedMillis: undefined,
  isOfUse: false,
  failures: 0,
  lastError: undefined,
  warnedMillis: undefined
})

export type Presence = "absent" | "connected" | "on-topic"

/**
 * What a target becomes by how its peer is seen. A connection that is cut is made again within a second if it was of
 * use; one that never was, as to a peer that keeps this server out, counts as one more failure.
 */
export const seen = (target: Target, presence: Presence, nowMillis: number, random: number): Target => {
  if (presence !== "absent") {
    const isOfUse = presence === "on-topic" || (target.connectedMillis !== undefined && target.isOfUse)
    const connectedMillis = target.connectedMillis ?? nowMillis
    return {
      ...target,
      connectedMillis,
      isOfUse,
      failures: isOfUse ? 0 : Math.min(target.failures, failuresKept),
      lastError: undefined,
      warnedMillis: nowMillis - connectedMillis >= newsAfterMillis ? undefined : target.warnedMillis
    }
  }
  if (target.connectedMillis === undefined) return target
  const failures = target.failures + 1
  return {
    ...target,
    connectedMillis: undefined,
    isOfUse: false,
    sinceMillis: nowMillis,
    failures,
    dueMillis: nowMillis + waitMillis(failures, random)
  }
}

export const failed = (target: Target, lastError: string, nowMillis: number, random: number): Target => {
  const failures = target.failures + 1
  return { ...target, failures, lastError, dueMillis: nowMillis + waitMillis(failures, random) }
}

export const isDue = (target: Target, nowMillis: number): boolean =>
  target.connectedMillis === undefined && nowMillis >= target.dueMillis

/** Whether there is no more use in keeping it. */
export const isOver = (target: Target, nowMillis: number): boolean => {
  if (target.kind === "bootstrap") return false
  if (target.connectedMillis !== undefined) return true
  return target.kind === "nearby"
    ? target.failures >= nearbyTries
    : nowMillis - target.sinceMillis >= neighbourLimitMillis
}

/** A bootstrap address that fails is worth a line at first, and then every ten minutes; anew after a minute of success. */
export const isWorthWarning = (target: Target, nowMillis: number): boolean =>
  target.kind === "bootstrap" &&
  (target.warnedMillis === undefined || nowMillis - target.warnedMillis >= warnEveryMillis)
