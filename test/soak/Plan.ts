/**
 * What is done to a network, from a seed alone: rounds of troubles, each with its end, so that after a round all that is
 * still amiss is servers that are down. A pure function; what becomes of it is not its matter.
 */
import type { Random } from "../registry/Random.ts"

export type Pair = readonly [number, number]

export type Action =
  | { readonly kind: "start" | "stop" | "crash" | "freeze" | "thaw"; readonly server: number }
  | { readonly kind: "cut" | "silence" | "mend"; readonly pairs: ReadonlyArray<Pair> }
  | { readonly kind: "cut database" | "silence database" | "restore database"; readonly server: number }
  | { readonly kind: "stop PostgreSQL" | "start PostgreSQL" }

export interface Step {
  /** Since the round began. */
  readonly atMillis: number
  readonly action: Action
}

export interface Round {
  readonly steps: ReadonlyArray<Step>
  /** Servers that are down after it. */
  readonly down: ReadonlySet<number>
}

export interface Options {
  readonly servers: number
  readonly hasDatabase: boolean
  readonly roundMillis: number
}

/** Troubles by how often they come. */
const troubles = [
  "stop",
  "stop",
  "stop",
  "crash",
  "crash",
  "crash",
  "freeze",
  "freeze",
  "link",
  "link",
  "flutter",
  "part",
  "database",
  "database",
  "postgres"
] as const

const longestTroubleMillis = 12_000
const shortestPauseMillis = 300
const longestPauseMillis = 2_200
/** Servers that a round leaves up at least. */
const fewestUp = 2
/** What share of the servers that end are down until the next round, so that the calm shows what became of them. */
const stayDown = 0.4

const pairsOf = (servers: ReadonlyArray<number>): ReadonlyArray<Pair> =>
  servers.flatMap((one) => servers.flatMap((other): ReadonlyArray<Pair> => (one < other ? [[one, other]] : [])))

/** The first round brings all servers up that were not; what it does to them comes at the same time. */
export const round = (random: Random, options: Options, before: ReadonlySet<number>): Round => {
  const servers = Array.from({ length: options.servers }, (_, number) => number)
  const steps: Array<Step> = []
  const down = new Set<number>()
  /** Until when a thing has its trouble. */
  const busy = new Map<string, number>()
  const isFree = (thing: string, at: number) => (busy.get(thing) ?? 0) <= at
  const at = (atMillis: number, action: Action) => void steps.push({ atMillis, action })

  const end = (server: number, atMillis: number, againMillis: number) => {
    if (random.chance(stayDown) && options.servers - down.size > fewestUp) {
      down.add(server)
      busy.set(`server ${server}`, Number.POSITIVE_INFINITY)
    } else at(Math.max(atMillis, againMillis), { kind: "start", server })
  }

  for (const server of before) at(0, { kind: "start", server })
  let now = 0
  while (true) {
    now += shortestPauseMillis + random.below(longestPauseMillis - shortestPauseMillis)
    if (now >= options.roundMillis) break
    const until = Math.min(options.roundMillis, now + random.below(longestTroubleMillis))
    const server = random.of(servers)
    const trouble = random.of(troubles)
    const freePairs = pairsOf(servers).filter((pair) => isFree(`link ${pair}`, now))
    const take = (pairs: ReadonlyArray<Pair>, to = until) => {
      for (const pair of pairs) busy.set(`link ${pair}`, to)
      return pairs
    }
    if (trouble === "stop" || trouble === "crash" || trouble === "freeze") {
      if (!isFree(`server ${server}`, now)) continue
      busy.set(`server ${server}`, until)
      at(now, { kind: trouble, server })
      if (trouble !== "freeze") end(server, now, until)
      else if (random.chance(0.25)) {
        at(until, { kind: "crash", server })
        end(server, until, until)
      } else at(until, { kind: "thaw", server })
    } else if (trouble === "link" && freePairs.length > 0) {
      const pairs = take([random.of(freePairs)])
      at(now, { kind: random.chance(0.5) ? "cut" : "silence", pairs })
      at(until, { kind: "mend", pairs })
    } else if (trouble === "flutter" && freePairs.length > 0) {
      const times = 2 + random.below(6)
      const pairs = take([random.of(freePairs)], now + times * 600)
      for (let time = 0; time < times; time++) {
        at(now + time * 600, { kind: "cut", pairs })
        at(now + time * 600 + 300, { kind: "mend", pairs })
      }
    } else if (trouble === "part") {
      const left = new Set(random.shuffled(servers).slice(0, 1 + random.below(options.servers - 1)))
      const pairs = take(freePairs.filter(([one, other]) => left.has(one) !== left.has(other)))
      if (pairs.length === 0) continue
      at(now, { kind: random.chance(0.7) ? "cut" : "silence", pairs })
      at(until, { kind: "mend", pairs })
    } else if (trouble === "database" && options.hasDatabase) {
      if (!isFree("PostgreSQL", now) || !isFree(`database ${server}`, now)) continue
      busy.set(`database ${server}`, until)
      at(now, { kind: random.chance(0.5) ? "cut database" : "silence database", server })
      at(until, { kind: "restore database", server })
    } else if (trouble === "postgres" && options.hasDatabase) {
      if (!isFree("PostgreSQL", now) || servers.some((one) => !isFree(`database ${one}`, now))) continue
      busy.set("PostgreSQL", until)
      for (const one of servers) busy.set(`database ${one}`, until)
      at(now, { kind: "stop PostgreSQL" })
      at(until, { kind: "start PostgreSQL" })
    }
  }
  return { steps: steps.toSorted((one, other) => one.atMillis - other.atMillis), down }
}
