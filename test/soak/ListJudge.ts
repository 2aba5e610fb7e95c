/**
 * What the list of a server must and may say by what it surely knew and what it may know, and what is wrong with one. A
 * list is right if any claim between the two makes it so: it finds no false breach.
 */
import { type Cause, isPresent, nothing, type State, sureBy } from "./Network.ts"

/** Whether its list can be judged now. */
export const isWatched = (state: State, server: number): boolean => {
  const found = state.servers[server]
  return found !== undefined && isPresent(found)
}

export type Expected = "listed" | "unlisted" | "either"

/** All that may be expected of one server about another, by what it surely knew and what it may know now. */
export const expected = (before: State, after: State, observer: number, subject: number): Expected => {
  const least = sureBy(before.knowledge[observer]?.[subject] ?? nothing, before.nowMillis)
  const most = after.knowledge[observer]?.[subject]?.most ?? 0
  const possible = new Set(
    (after.servers[subject]?.claims ?? []).slice(least, Math.max(least, most) + 1).map(({ verdict }) => verdict)
  )
  if (possible.has("either") || possible.size !== 1) return "either"
  return possible.has("healthy") ? "listed" : "unlisted"
}

/** What a server last had to say, and from when on. */
export const lastClaim = (state: State, server: number): { readonly cause: Cause; readonly fromMillis: number } =>
  state.servers[server]?.claims.at(-1) ?? { cause: "never started", fromMillis: 0 }

/** What one server answered. */
export interface Sight {
  readonly observer: number
  /** In its order: the number of each server, nothing for one that is none of the run's. */
  readonly listed: ReadonlyArray<{
    readonly server: number | undefined
    readonly peerId: string
    readonly score: number
    readonly healthy: boolean
  }>
  /** What it says of itself. */
  readonly healthy: boolean
}

export type BreachKind =
  | "lists one that must not be listed"
  | "misses one that must be listed"
  | "wrong order"
  | "listed twice"
  | "lists itself"
  | "lists a stranger"
  | "lists one as unhealthy"
  | "wrong verdict on itself"

export interface Breach {
  readonly kind: BreachKind
  readonly observer: number
  readonly subject: number | undefined
}

/** What is wrong with an answer, that was asked for in the state `before` and had come in the state `after`. */
export const judge = (before: State, after: State, { listed, healthy, observer }: Sight): ReadonlyArray<Breach> => {
  const breach = (kind: BreachKind, subject: number | undefined): Breach => ({ kind, observer, subject })
  const breaches: Array<Breach> = []
  for (const [place, { peerId, score, server, healthy: isHealthy }] of listed.entries()) {
    if (server === undefined) breaches.push(breach("lists a stranger", undefined))
    if (server === observer) breaches.push(breach("lists itself", observer))
    if (!isHealthy) breaches.push(breach("lists one as unhealthy", server))
    if (listed.findIndex((other) => other.peerId === peerId) < place) breaches.push(breach("listed twice", server))
    const previous = listed[place - 1]
    if (previous === undefined || previous.score > score) continue
    if (previous.score < score || previous.peerId > peerId) breaches.push(breach("wrong order", server))
  }
  const present = new Set(listed.map(({ server }) => server))
  for (const subject of after.servers.keys()) {
    const must = expected(before, after, observer, subject)
    if (subject === observer) {
      if (must !== "either" && healthy !== (must === "listed"))
        breaches.push(breach("wrong verdict on itself", subject))
    } else if (must === "unlisted" && present.has(subject)) {
      breaches.push(breach("lists one that must not be listed", subject))
    } else if (must === "listed" && !present.has(subject)) {
      breaches.push(breach("misses one that must be listed", subject))
    }
  }
  return breaches
}
