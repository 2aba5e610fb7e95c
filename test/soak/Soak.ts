/**
 * A soak run: rounds of troubles from a seed on a real network, its lists judged by the model all the while, and after
 * each round a calm that lasts until every list says what it has to. It prints what it does and what it finds.
 */
import { Cause, Effect, Exit, type Scope } from "effect"
import { random } from "../registry/Random.ts"
import { Convergence, type Sample } from "./Convergence.ts"
import { advance } from "./Hearsay.ts"
import { type BreachKind, judge, lastClaim } from "./ListJudge.ts"
import { type Event, happen } from "./Model.ts"
import { type Graces, make as makeState } from "./Network.ts"
import { type Action, round } from "./Plan.ts"
import * as Stage from "./Stage.ts"

export interface Options {
  readonly minutes: number
  readonly servers: number
  readonly seed: number
  readonly print: (line: string) => void
}

export interface Outcome {
  readonly breaches: ReadonlyArray<string>
  readonly checks: number
  readonly rounds: number
  readonly actions: ReadonlyMap<Action["kind"], number>
  readonly samples: ReadonlyArray<Sample>
}

/** What is promised within a second is given twenty: the machine may be busy. What is promised in 2 minutes has 2. */
const graces: Graces = {
  liveMillis: 20_000,
  joinMillis: 40_000,
  healMillis: 100_000,
  checkMillis: 20_000,
  keepMillis: 15_000
}
const roundMillis = 20_000
/** More than two beats: so long after anything has happened, what servers say and list is no longer what it was before. */
const quietMillis = 5_000
const askEvery = "300 millis"
/** Lines of the record of each server that a breach is printed with. */
const historyLines = 30

const describe = (action: Action): string => {
  if ("server" in action) return `${action.kind} #${action.server}`
  if ("pairs" in action) return `${action.kind} ${action.pairs.map(([one, other]) => `#${one}–#${other}`).join(" ")}`
  return action.kind
}

const involved = (action: Action): ReadonlyArray<number> | "all" => {
  if ("server" in action) return [action.server]
  return "pairs" in action ? [...new Set(action.pairs.flat())] : "all"
}

export const seconds = (millis: number): string => `${(millis / 1_000).toFixed(1)} s`

export const soak = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Outcome, never, Scope.Scope> {
  const { servers, seed, print } = options
  const begunMillis = performance.now()
  const now = () => performance.now() - begunMillis
  const say = (text: string) => print(`${seconds(now()).padStart(9)}  ${text}`)
  const numbers = Array.from({ length: servers }, (_, number) => number)
  const histories: Array<Array<string>> = numbers.map(() => [])
  const actions = new Map<Action["kind"], number>()
  const convergence = new Convergence()
  const breaches: Array<string> = []
  const known = new Set<string>()
  /** Who has answered since anything last happened, and is right about all. */
  const right = new Set<number>()
  let state = makeState(servers, graces)
  let checks = 0

  const note = (server: number, text: string) => {
    const history = histories[server]
    history?.push(`${seconds(now()).padStart(9)}  #${server} ${text}`)
    if (history !== undefined && history.length > historyLines) history.shift()
  }
  const breach = (text: string, of: ReadonlyArray<number>) => {
    if (known.has(text)) return
    known.add(text)
    breaches.push(text)
    say(`BREACH: ${text}`)
    for (const server of new Set(of)) {
      print(`  what happened to #${server}:`)
      for (const line of histories[server] ?? []) print(`  ${line}`)
    }
  }

  /** A run that cannot go on judging is none that found nothing. */
  const blame = (server: number, cause: Cause.Cause<unknown>) => {
    if (!Cause.hasInterruptsOnly(cause)) breach(`the run itself has failed at #${server}: ${Cause.pretty(cause)}`, [])
  }

  const happened = (event: Event) => {
    state = happen(state, event, now())
    convergence.follow(state, event.kind !== "calm")
    right.clear()
  }
  let disturbedMillis = 0

  const stage = yield* Stage.make(servers, {
    happened: (event) => {
      disturbedMillis = now()
      happened(event)
    },
    noted: note,
    broken: (server, text) => breach(`#${server} ${text}`, [server]),
    failed: (server, cause) => blame(server, cause)
  })
  for (const [number, peerId] of stage.peerIds.entries()) print(`#${number} is ${peerId}`)

  const shown = numbers.map(() => "")
  const look = Effect.fnUntraced(function* (observer: number) {
    state = advance(state, now())
    const before = state
    const answer = yield* stage.list(observer)
    if (answer === undefined || !answer.isValid()) return
    state = advance(state, now())
    const after = state
    const { self, services } = answer.body
    const listed = services.map(({ server_id, uptime_score, healthy }) => {
      const server = stage.peerIds.indexOf(server_id)
      return { server: server < 0 ? undefined : server, peerId: server_id, score: uptime_score, healthy }
    })
    checks++
    const present = listed.flatMap(({ server }) => server ?? [])
    const text =
      present
        .toSorted()
        .map((server) => `#${server}`)
        .join(" ") || "nobody"
    if (text !== shown[observer]) note(observer, `lists ${text}`)
    shown[observer] = text
    const found = judge(before, after, { observer, listed, healthy: self.healthy })
    for (const { kind, subject } of found) breach(sentence(observer, kind, subject), [observer, subject ?? observer])
    if (convergence.see(observer, new Set(present), now()).length === 0) right.add(observer)
    else right.delete(observer)
  })
  const sentence = (observer: number, kind: BreachKind, subject: number | undefined) => {
    if (subject === undefined || subject === observer) return `#${observer} ${kind}`
    const { cause, fromMillis } = lastClaim(state, subject)
    return `#${observer} ${kind}: #${subject} (${cause} at ${seconds(fromMillis)})`
  }
  const watch = (observer: number) =>
    look(observer).pipe(
      Effect.andThen(Effect.sleep(askEvery)),
      Effect.forever,
      Effect.tapCause((cause) => Effect.sync(() => blame(observer, cause))),
      Effect.forkScoped
    )
  yield* Effect.forEach(numbers, watch, { discard: true })

  const perform = (action: Action) =>
    Effect.suspend(() => {
      actions.set(action.kind, (actions.get(action.kind) ?? 0) + 1)
      say(describe(action))
      const those = involved(action)
      for (const server of those === "all" ? numbers : those) note(server, describe(action))
      return stage.perform(action)
    })

  /** Whether all that are up share the topics with each other. Then it is known which ways are in use again. */
  const haveMet = Effect.fnUntraced(function* (down: ReadonlySet<number>) {
    if (now() - disturbedMillis < quietMillis) return false
    const up = numbers.filter((server) => !down.has(server))
    const before = disturbedMillis
    const companies = yield* Effect.forEach(up, stage.company)
    const isWhole = companies.every((company, place) =>
      up.every((other) => other === up[place] || company.includes(other))
    )
    if (!isWhole || disturbedMillis !== before) return false
    happened({ kind: "calm", servers: new Set(up) })
    return true
  })

  /** Until every server that is up is right about all others, and has said so since anything happened. */
  const calm = Effect.fnUntraced(function* (
    down: ReadonlySet<number>,
    holds: Effect.Effect<boolean> = Effect.succeed(true)
  ) {
    const since = now()
    const longest = Stage.longestStartMillis + graces.healMillis + graces.joinMillis + graces.liveMillis
    const up = numbers.filter((server) => !down.has(server))
    const isCalm = () => stage.isQuiet() && up.every((server) => right.has(server))
    while (!(isCalm() && (yield* holds)) && breaches.length === 0) {
      if (now() - since > longest) {
        const wrong = up.filter((server) => !right.has(server)).map((server) => `#${server}`)
        return breach(wrong.length === 0 ? "some never met again" : `never right again: ${wrong.join(" ")}`, up)
      }
      yield* Effect.sleep("100 millis")
    }
    if (breaches.length > 0) return
    say(
      `calm after ${seconds(now() - since)}${down.size === 0 ? "" : `, down: ${[...down].map((one) => `#${one}`).join(" ")}`}`
    )
  })

  const moments = random(seed)
  const hasDatabase = stage.database === "postgres"
  let down: ReadonlySet<number> = new Set()
  let rounds = 0
  for (const server of numbers) yield* perform({ kind: "start", server })
  yield* calm(down, haveMet(down))
  do {
    const plan = round(moments, { servers, hasDatabase, roundMillis }, down)
    const begun = now()
    for (const { action, atMillis } of plan.steps) {
      if (breaches.length > 0) break
      yield* Effect.sleep(Math.max(0, begun + atMillis - now()))
      yield* perform(action)
    }
    down = plan.down
    yield* calm(down, haveMet(down))
    rounds++
  } while (now() < options.minutes * 60_000 && breaches.length === 0)
  // One after the other leaves the others' lists, down to the last; but the first crashes, and stays in them.
  let hasCrashed = false
  for (const server of numbers.filter((each) => !down.has(each))) {
    if (breaches.length > 0) break
    yield* perform({ kind: hasCrashed ? "stop" : "crash", server })
    hasCrashed = true
    down = new Set([...down, server])
    yield* calm(down)
  }
  return { breaches, checks, rounds, actions, samples: convergence.samples }
})

/** Some lines for whoever reads the end alone. */
export const summary = ({ actions, breaches, checks, rounds, samples }: Outcome): ReadonlyArray<string> => {
  const done = [...actions].map(([kind, count]) => `${kind} ${count}`).join(", ")
  const occasions = Map.groupBy(samples, ({ occasion }) => occasion)
  const slowest = [...occasions].map(([occasion, of]) => {
    const millis = of.map((sample) => sample.millis).toSorted((one, other) => one - other)
    const median = millis[Math.floor(millis.length / 2)] ?? 0
    return `  ${occasion}: ${millis.length} times, median ${seconds(median)}, slowest ${seconds(millis.at(-1) ?? 0)}`
  })
  return [
    `${rounds} rounds of troubles: ${done}`,
    `${checks} lists judged; until a list showed it:`,
    ...slowest,
    breaches.length === 0 ? "no breach" : `${breaches.length} breaches:`,
    ...breaches.map((text) => `  ${text}`)
  ]
}

export const succeeds = (exit: Exit.Exit<Outcome>): boolean => Exit.isSuccess(exit) && exit.value.breaches.length === 0
