/**
 * Whether this server's own clock is the one that is off: what the clocks of the others say of it (R10). A fold over
 * samples; who warns is Intake's.
 */
import type { PeerId } from "../identity/PeerId.ts"
import {
  clockDisagreementMillis,
  clockSampleMillis,
  clockSamples,
  clockStrideMillis,
  clockWanderMillis
} from "./Limits.ts"

/** What one server's newest message says of the time. */
interface Sample {
  readonly timestamp: bigint
  /** The sender's clock less ours, in milliseconds: positive is ahead. */
  readonly skewMillis: number
  readonly steadyMillis: number
  /** Whether the message may have been made long before it was heard: it is too old to count. */
  readonly isDoubtful: boolean
}

/** The clocks heard, in the order in which they were heard. */
export type Samples = Map<PeerId, Sample>

export const empty = (): Samples => new Map()

/** Whether the signer's clock goes on as ours does: seen over a while, or for another message after that. */
const goesOn = (last: Sample, next: Sample): boolean =>
  Math.abs(next.skewMillis - last.skewMillis) <= clockWanderMillis &&
  (!last.isDoubtful || next.steadyMillis - last.steadyMillis >= clockStrideMillis)

/**
 * Takes the time that a verified signer put into a message that was heard now, whether or not the message counts
 * otherwise, and answers whether that says something of its signer's clock. Only a signer's newest message does: a
 * replayed one would say that its signer's clock is behind. So might one of a server that is not known, so a doubtful
 * message speaks once another before it said the same.
 */
export const hear = (samples: Samples, signer: PeerId, sample: Sample): boolean => {
  const last = samples.get(signer)
  if (last !== undefined && sample.timestamp <= last.timestamp) return false
  const isDoubtful = sample.isDoubtful && (last === undefined || !goesOn(last, sample))
  samples.delete(signer)
  samples.set(signer, { ...sample, isDoubtful })
  for (const quietest of samples.keys()) {
    if (samples.size <= clockSamples) break
    samples.delete(quietest)
  }
  return !isDoubtful
}

/** `disagreeing` of the `heard` servers agree on the direction; `byMillis` is the median of what they say, 0 or more. */
export interface ClockVerdict {
  readonly state: "unknown" | "agrees" | "ahead" | "behind"
  readonly byMillis: number
  readonly disagreeing: number
  readonly heard: number
}

/**
 * This server's clock is `ahead` or `behind` when more than half of the servers heard within the last hour put theirs
 * more than 30 seconds to the same side. One server is enough to say so: of two clocks that disagree nobody can tell
 * which is right, so both owners are told, and told how many stand behind it. `unknown` while nobody was heard.
 */
export const verdict = (samples: Samples, steadyMillis: number): ClockVerdict => {
  const skews: Array<number> = []
  for (const sample of samples.values()) {
    const isRecent = steadyMillis - sample.steadyMillis <= clockSampleMillis
    if (isRecent && !sample.isDoubtful) skews.push(sample.skewMillis)
  }
  const heard = skews.length
  if (heard === 0) return { state: "unknown", byMillis: 0, disagreeing: 0, heard }
  const others = {
    // Theirs are ahead where ours is behind.
    behind: skews.filter((skew) => skew > clockDisagreementMillis),
    ahead: skews.filter((skew) => skew < -clockDisagreementMillis)
  }
  for (const state of ["ahead", "behind"] as const) {
    const disagreeing = others[state].sort((left, right) => left - right)
    if (disagreeing.length * 2 <= heard) continue
    const byMillis = Math.abs(disagreeing[disagreeing.length >> 1] ?? 0)
    return { state, byMillis, disagreeing: disagreeing.length, heard }
  }
  return { state: "agrees", byMillis: 0, disagreeing: 0, heard }
}
