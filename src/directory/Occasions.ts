/**
 * When to ask whom (R12), without a network or a clock: peers that appear are asked, up to three a minute; a server
 * that was alone asks at once, and again until it was answered. What is asked is not its matter.
 */
import type { PeerId } from "../identity/PeerId.ts"

export interface Occasions {
  /** Peers that appeared and were not asked since, newest last. */
  readonly appeared: ReadonlyArray<PeerId>
  /** When questions were asked and answered within the last minute, in milliseconds of the steady clock. */
  readonly asked: ReadonlyArray<number>
  readonly answered: ReadonlyArray<number>
  /** Somebody has answered since this server was last alone. */
  readonly isTold: boolean
  /** Questions without an answer since the last one that had one, and when the last of them was given up. */
  readonly failures: number
  readonly failedMillis: number
}

/** Neighbours whose answers are enough for a minute. Source: ruling R12. */
export const answersAMinute = 3
/** Questions a minute, whatever becomes of them. */
export const questionsAMinute = 12
/** Peers that wait to be asked: while nobody has answered, and then. */
const longestWait = 64
const longestWaitOnceTold = 3

const minuteMillis = 60_000
const firstPauseMillis = 2_000
const longestPauseMillis = 60_000

export const none: Occasions = { appeared: [], asked: [], answered: [], isTold: false, failures: 0, failedMillis: 0 }

const newest = (occasions: Occasions): Occasions => ({
  ...occasions,
  appeared: occasions.appeared.slice(occasions.isTold ? -longestWaitOnceTold : -longestWait)
})

/** Peers have appeared. `wasAlone`: before them nobody was there, so that all that was heard since may be missing. */
export const appear = (occasions: Occasions, peers: ReadonlyArray<PeerId>, wasAlone: boolean): Occasions =>
  newest({
    ...occasions,
    ...(wasAlone ? { isTold: false, failures: 0, answered: [] } : {}),
    appeared: [...occasions.appeared.filter((peer) => !peers.includes(peer)), ...new Set(peers)]
  })

export const ask = (occasions: Occasions, peer: PeerId, nowMillis: number): Occasions => ({
  ...occasions,
  appeared: occasions.appeared.filter((other) => other !== peer),
  asked: [...occasions.asked, nowMillis].slice(-questionsAMinute)
})

export const settle = (occasions: Occasions, isAnswered: boolean, nowMillis: number): Occasions =>
  isAnswered
    ? newest({
        ...occasions,
        isTold: true,
        failures: 0,
        answered: [...occasions.answered, nowMillis].slice(-answersAMinute)
      })
    : { ...occasions, failures: occasions.failures + 1, failedMillis: nowMillis }

/** Whom to ask now, or how long to wait before looking again if nothing happens meanwhile. */
export type Next = { readonly ask: PeerId } | { readonly afterMillis: number }

/** When there is room for one more of so many a minute; 0 or less is now. */
const roomAfter = (times: ReadonlyArray<number>, most: number, nowMillis: number): number =>
  (times.length < most ? Number.NEGATIVE_INFINITY : (times.at(-most) ?? 0) + minuteMillis) - nowMillis

/** `present` are the peers that can be asked; `share`, 0 to 1, is what picks one where any will do. */
export const next = (occasions: Occasions, present: ReadonlyArray<PeerId>, share: number, nowMillis: number): Next => {
  const { answered, appeared, asked, failedMillis, failures, isTold } = occasions
  const waiting = appeared.findLast((peer) => present.includes(peer))
  const anyone = present[Math.floor(share * present.length)]
  const pauseMillis = Math.min(longestPauseMillis, firstPauseMillis * 2 ** (failures - 1))
  const again = isTold || failures === 0 ? undefined : anyone
  const peer = waiting ?? again
  if (peer === undefined) return { afterMillis: Number.POSITIVE_INFINITY }
  const afterMillis = Math.max(
    roomAfter(asked, questionsAMinute, nowMillis),
    isTold ? roomAfter(answered, answersAMinute, nowMillis) : 0,
    waiting === undefined ? failedMillis + pauseMillis - nowMillis : 0
  )
  return afterMillis > 0 ? { afterMillis } : { ask: peer }
}
