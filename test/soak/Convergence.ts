/** How long it takes until a list says what it will go on saying: from what was done to a server to what another shows. */
import { settled } from "./Hearsay.ts"
import { type Expected, expected, isWatched, lastClaim } from "./ListJudge.ts"
import type { Cause, State } from "./Network.ts"

/** What made a list change: what a server said, or that words found a way again, or that the reader itself came anew. */
export type Occasion = Cause | "way back" | "reader back"

export interface Sample {
  readonly occasion: Occasion
  readonly millis: number
}

interface Pending extends Omit<Sample, "millis"> {
  readonly expected: Expected
  readonly sinceMillis: number
  /** The list has said it. */
  readonly isOver: boolean
}

/** Follows every pair of servers. */
export class Convergence {
  readonly samples: Array<Sample> = []
  readonly #pending = new Map<string, Pending>()

  /** After anything has happened. `isNews`: it changed the network, and not only what is known of it. */
  follow(state: State, isNews: boolean): void {
    const end = settled(state)
    for (const observer of state.servers.keys()) {
      for (const subject of state.servers.keys()) {
        if (observer === subject) continue
        const key = `${observer} ${subject}`
        if (!isWatched(state, observer)) {
          this.#pending.delete(key)
          continue
        }
        const before = this.#pending.get(key)
        const now = expected(end, end, observer, subject)
        if (before?.expected === now) continue
        this.#pending.set(key, { expected: now, isOver: !isNews || now === "either", ...since(state, subject, before) })
      }
    }
  }

  /** What a list says now; gives back whom it is still wrong about. */
  see(observer: number, listed: ReadonlySet<number>, atMillis: number): ReadonlyArray<number> {
    const wrong: Array<number> = []
    for (const [key, pending] of this.#pending) {
      const [from, subject] = key.split(" ").map(Number)
      if (from !== observer || subject === undefined || pending.expected === "either") continue
      if (listed.has(subject) !== (pending.expected === "listed")) wrong.push(subject)
      else if (!pending.isOver) {
        this.samples.push({ occasion: pending.occasion, millis: atMillis - pending.sinceMillis })
        this.#pending.set(key, { ...pending, isOver: true })
      }
    }
    return wrong
  }
}

const since = (state: State, subject: number, before: Pending | undefined): Omit<Pending, "expected" | "isOver"> => {
  const { nowMillis } = state
  if (before === undefined) return { occasion: "reader back", sinceMillis: nowMillis }
  const { cause, fromMillis } = lastClaim(state, subject)
  // Of a goodbye nothing is certain until the process has ended; it counts from when the server was told.
  const isNews = fromMillis === nowMillis || (cause === "goodbye" && before.sinceMillis === fromMillis)
  return isNews ? { occasion: cause, sinceMillis: fromMillis } : { occasion: "way back", sinceMillis: nowMillis }
}
