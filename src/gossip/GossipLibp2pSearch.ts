/**
 * Whom a server that is alone tries: everybody it knows an address of, in rounds, those heard of last first. The rule
 * alone, without a socket or a clock; Remembered acts on it.
 */
import type { PeerId } from "../identity/PeerId.ts"
import { waitMillis } from "./GossipLibp2pTargets.ts"

/** Tried at the same time at most. */
const mostAtOnce = 16

export interface Search {
  /** Who is still to be tried in this round. */
  readonly waiting: ReadonlyArray<PeerId>
  /** Rounds begun since the server is alone. */
  readonly rounds: number
  /** When the next round may begin, in milliseconds of the steady clock. */
  readonly dueMillis: number
}

const dueAfter = (rounds: number, nowMillis: number, random: number) => nowMillis + waitMillis(rounds + 2, random)

/** The server is alone from now on. Its bootstrap peers have the first second or two. */
export const begin = (nowMillis: number, random: number): Search => ({
  waiting: [],
  rounds: 0,
  dueMillis: dueAfter(0, nowMillis, random)
})

/**
 * Whom to try now, while so many are being tried, and how the search goes on. A round begins when the one before is
 * over, each at a longer distance, up to a minute, made shorter at random (R15).
 */
export const next = (
  search: Search,
  known: ReadonlyArray<PeerId>,
  underway: number,
  nowMillis: number,
  random: number
): readonly [ReadonlyArray<PeerId>, Search] => {
  const begins = search.waiting.length === 0 && underway === 0 && known.length > 0 && nowMillis >= search.dueMillis
  const rounds = search.rounds + (begins ? 1 : 0)
  const round = begins ? { waiting: known, rounds, dueMillis: dueAfter(rounds, nowMillis, random) } : search
  const free = Math.max(0, mostAtOnce - underway)
  return [round.waiting.slice(0, free), { ...round, waiting: round.waiting.slice(free) }]
}
