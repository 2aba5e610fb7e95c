/**
 * The uptime score: the share of the last 288 self-checks that passed (S11). Pure; it knows verdicts, not what was
 * checked, nor when.
 */

/** Checks the score looks back on: 24 hours at the default interval of 5 minutes. Source: specification, "uptime score". */
export const windowLength = 288

export interface Verdict {
  readonly ok: boolean
}

/** The window with one more check, which comes last; what is older than the last 288 is dropped. */
export const add = <A extends Verdict>(window: ReadonlyArray<A>, check: A): ReadonlyArray<A> =>
  [...window, check].slice(-windowLength)

/** The passed share, from 0 to 1. Of an empty window it is 0: a server that has measured nothing claims nothing. */
export const score = (window: ReadonlyArray<Verdict>): number =>
  window.length === 0 ? 0 : window.filter((check) => check.ok).length / window.length
