/**
 * Which log lines are written when strangers decide how many there could be: so many a minute about one subject, so
 * many in all, and a count of the rest (R19, case O02). It writes nothing itself.
 */
import * as RateLimit from "./RateLimit.ts"

export interface Pace {
  /** `undefined` when the line is held back; else how many about this subject were held back before it. */
  line(subject: string, steadyMillis: number): number | undefined
  /** What was held back and not told yet, by subject. Telling it is the caller's. */
  readonly heldBack: () => ReadonlyArray<{ readonly subject: string; readonly lines: number }>
}

export const make = (options: {
  readonly linesPerSubject: number
  readonly linesInAll: number
  readonly windowMillis: number
  readonly maxSubjects: number
}): Pace => {
  const { windowMillis, maxSubjects } = options
  const each = RateLimit.make({ limit: options.linesPerSubject, windowMillis, maxKeys: maxSubjects })
  const all = RateLimit.make({ limit: options.linesInAll, windowMillis, maxKeys: 1 })
  const held = new Map<string, number>()

  // Subjects over the bound are counted together, so that the sum stays right.
  const others = "others"
  const slotOf = (subject: string) => (held.has(subject) || held.size < maxSubjects ? subject : others)

  return {
    line: (subject, steadyMillis) => {
      if (!each.take(subject, steadyMillis) || !all.take("", steadyMillis)) {
        const slot = slotOf(subject)
        held.set(slot, (held.get(slot) ?? 0) + 1)
        return undefined
      }
      const before = held.get(subject) ?? 0
      held.delete(subject)
      return before
    },
    heldBack: () => {
      const lines = Array.from(held, ([subject, lines]) => ({ subject, lines }))
      held.clear()
      return lines
    }
  }
}
