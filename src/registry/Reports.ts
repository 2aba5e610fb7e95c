/**
 * How often the log says the same thing of servers when strangers decide how many there could be: once an hour of each,
 * so many a minute about what one neighbour brings, and a count of the rest (R19, case O02). Servers known before have a
 * share of their own, so that a crowd of strangers hides nothing that is wrong with one of them. It writes nothing itself.
 */
import type { PeerId } from "../identity/PeerId.ts"
import { pacedNeighbours, refusalLinesInAll, refusalLinesPerNeighbour, reportedServers } from "./Limits.ts"
import * as Pace from "./Pace.ts"
import * as RateLimit from "./RateLimit.ts"

/** One thing that a line could say of a server. */
export interface Report {
  readonly server: PeerId
  /** Who brought it, as the log names it. */
  readonly neighbour: string
  readonly isKnown: boolean
}

export interface Reports {
  /** `undefined` when nothing is to be written; else how many about this neighbour were held back before. */
  line(report: Report, steadyMillis: number): number | undefined
  /** What was held back and not told yet, by neighbour. Telling it is the caller's. */
  readonly heldBack: () => ReadonlyArray<{ readonly subject: string; readonly lines: number }>
}

/** One of a neighbour's lines a minute is the count of the rest. */
export const perNeighbour = (): Pace.Pace =>
  Pace.make({
    linesPerSubject: refusalLinesPerNeighbour - 1,
    linesInAll: refusalLinesInAll,
    windowMillis: 60_000,
    maxSubjects: pacedNeighbours
  })

export const make = (): Reports => {
  const told = RateLimit.make({ limit: 1, windowMillis: 3_600_000, maxKeys: reportedServers })
  const [known, strangers] = [perNeighbour(), perNeighbour()]
  return {
    line: ({ server, neighbour, isKnown }, steadyMillis) => {
      if (!told.allows(server, steadyMillis)) return undefined
      const before = (isKnown ? known : strangers).line(neighbour, steadyMillis)
      // What was held back is no line about this server: it is told when there is room again.
      if (before !== undefined) told.take(server, steadyMillis)
      return before
    },
    heldBack: () => [...known.heldBack(), ...strangers.heldBack()]
  }
}
