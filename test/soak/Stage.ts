/**
 * The real network of a soak run: processes, the ways between them, their database. It does what a plan says, tells the
 * model before or after, whichever is sound, and watches how each process starts, writes and ends.
 */
import { type Cause, Deferred, Duration, Effect, Exit, Fiber, Schema, type Scope, Semaphore } from "effect"
import { ServiceList } from "../../src/ops/ServiceView.ts"
import * as Link from "../process/Link.ts"
import * as LinkedServers from "../process/LinkedServers.ts"
import { onPostgres } from "../process/OnPostgres.ts"
import { type Launched, launch, type ServerOptions } from "../process/ServerProcess.ts"
import { isMissing } from "../process/Tools.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import { type Fate, judgeEnding, judgeLine, parseLine } from "./Conduct.ts"
import type { Event } from "./Model.ts"
import type { Action, Pair } from "./Plan.ts"

/** What a run is told of: for the model, for the record, and what is wrong with a process. */
export interface Witness {
  readonly happened: (event: Event) => void
  readonly noted: (server: number, text: string) => void
  readonly broken: (server: number, text: string) => void
  /** The run itself has failed. */
  readonly failed: (server: number, cause: Cause.Cause<unknown>) => void
}

/** One process of a server, from its launch to its end. */
interface Life {
  readonly process: Launched
  fate: Fate
  /** Where its HTTP is, once it is up. */
  url: string | undefined
  /** How often it was interfered with: what was asked before and is answered after shows nothing. */
  disturbances: number
  linesRead: number
  complaintsRead: number
}

export interface Answer<A> {
  readonly body: A
  /** That it is still the same undisturbed process. */
  readonly isValid: () => boolean
}

export interface Stage {
  readonly peerIds: ReadonlyArray<string>
  readonly database: "postgres" | "embedded"
  readonly perform: (action: Action) => Effect.Effect<void>
  /** The list of a server, if it is up; that none comes is a breach. */
  readonly list: (server: number) => Effect.Effect<Answer<ServiceList> | undefined>
  /** Who it shares the topics with, as numbers. */
  readonly company: (server: number) => Effect.Effect<ReadonlyArray<number>>
  /** Nothing is under way: what was to start has started, what was to end has ended. */
  readonly isQuiet: () => boolean
}

const Company = Schema.Struct({
  topic_peers: Schema.Struct({ announce: Schema.Array(Schema.String), heartbeat: Schema.Array(Schema.String) })
})

/** Generous: two processors may be shared by many. */
const longestStart = "120 seconds"
const longestEnd = "40 seconds"
const longestAnswer = "20 seconds"

const common: ServerOptions = {
  env: { RICOCHET_OPS_SHUTDOWN_TIMEOUT: "20s", RICOCHET_INTERVALS_HEALTH_CHECK_MIN: String(2 / 60) }
}

export const make = Effect.fnUntraced(function* (
  count: number,
  witness: Witness
): Effect.fn.Return<Stage, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const postgres = isMissing("postgres") ? undefined : yield* PostgresServer.make()
  const linked = yield* LinkedServers.make(count, common)
  const numbers = linked.peerIds.map((_, number) => number)
  const databases = yield* Effect.forEach(postgres === undefined ? [] : numbers, () => Link.make(postgres?.port ?? 0))
  const turns = yield* Effect.forEach(numbers, () => Semaphore.make(1))
  const lives: Array<Life | undefined> = numbers.map(() => undefined)
  const fibers: Array<Fiber.Fiber<void> | undefined> = numbers.map(() => undefined)
  let underWay = 0

  const optionsOf = (server: number): ServerOptions => {
    const way = databases[server]
    return postgres === undefined || way === undefined
      ? linked.options(server)
      : linked.options(server, {
          ...onPostgres(postgres, way.port),
          env: { ...onPostgres(postgres, way.port).env, ...common.env }
        })
  }

  const read = (server: number, life: Life, hasEnded: boolean) => {
    const { stderr, stdout } = life.process
    // The last line of a process that is killed may be half a line.
    const end = hasEnded ? stdout.length : Math.max(life.linesRead, stdout.length - 1)
    for (const [place, line] of stdout.slice(life.linesRead, end).entries()) {
      const isLast = life.linesRead + place === stdout.length - 1
      const problem = judgeLine(line, life.fate, hasEnded && isLast)
      if (problem !== undefined) witness.broken(server, `${problem}: ${line}`)
    }
    life.linesRead = end
    for (const line of stderr.slice(life.complaintsRead)) witness.broken(server, `writes to stderr: ${line}`)
    life.complaintsRead = stderr.length
  }

  const awaitUp = (server: number, life: Life) =>
    Effect.gen(function* () {
      const says = (msg: string) =>
        life.process.line(
          `the log line “${msg}”`,
          (line) => {
            const parsed = parseLine(line)
            return parsed?.msg === msg ? parsed : undefined
          },
          longestStart
        )
      const { url } = yield* says("ops listening")
      yield* says("registry started")
      if (life.fate !== "none") return
      life.url = String(url)
      witness.happened({ kind: "up", server })
      witness.noted(server, "is up")
    }).pipe(
      Effect.catchTag("NotSeen", ({ message }) =>
        Effect.sync(() => {
          if (life.fate === "none") witness.broken(server, `does not start: ${message}`)
        })
      )
    )

  const live = (server: number, launched: Deferred.Deferred<void>) =>
    Effect.gen(function* () {
      witness.happened({ kind: "launched", server })
      const process = yield* launch(optionsOf(server))
      const life: Life = { process, fate: "none", url: undefined, disturbances: 0, linesRead: 0, complaintsRead: 0 }
      lives[server] = life
      yield* Deferred.succeed(launched, undefined)
      const starting = yield* Effect.forkChild(awaitUp(server, life), { startImmediately: true })
      // A run that is broken off kills what runs.
      const isKilled = Effect.sync(() => {
        life.fate = "crash"
      })
      const ending = yield* Effect.onInterrupt(process.ending, () => isKilled)
      yield* Fiber.await(starting)
      const hasBegun = process.stdout.some((line) => parseLine(line)?.msg === "configuration loaded")
      const problem = judgeEnding(ending, life.fate, hasBegun)
      lives[server] = undefined
      if (life.fate !== "crash") witness.happened({ kind: life.fate === "stop" ? "ended" : "killed", server })
      witness.noted(server, `has ended, ${ending.signal ?? `code ${ending.code}`}`)
      read(server, life, true)
      if (problem !== undefined) witness.broken(server, problem)
    }).pipe(
      Effect.scoped,
      Effect.tapCause((cause) => Effect.sync(() => witness.failed(server, cause)))
    )

  const start = Effect.fnUntraced(function* (server: number) {
    const before = fibers[server]
    if (before !== undefined) yield* Fiber.await(before)
    const launched = yield* Deferred.make<void>()
    fibers[server] = yield* Effect.forkIn(live(server, launched), scope)
    yield* Deferred.await(launched)
  })

  const interfere = Effect.fnUntraced(function* (
    server: number,
    kind: "told" | "killed" | "frozen" | "thawed",
    signal: NodeJS.Signals,
    fate: Fate | undefined
  ) {
    const life = lives[server]
    if (life === undefined) return
    life.disturbances++
    if (fate !== undefined) life.fate = fate
    witness.happened({ kind, server })
    yield* life.process.signal(signal)
    const fiber = fibers[server]
    if (fate === undefined || fiber === undefined) return
    const ended = yield* Effect.timeoutOption(Fiber.await(fiber), longestEnd)
    if (ended._tag === "None") witness.broken(server, `has not ended within ${longestEnd} of ${signal}`)
  })

  const link = (pairs: ReadonlyArray<Pair>, state: Link.LinkState) =>
    Effect.forEach(
      pairs,
      ([one, other]) =>
        Effect.andThen(
          Effect.sync(() => witness.happened({ kind: "link", one, other, state })),
          linked.between(one, other, state)
        ),
      { discard: true }
    )

  const loseDatabase = (server: number, way: Link.LinkState) =>
    Effect.suspend(() => {
      witness.happened({ kind: "database", server, state: way === "open" ? "there" : "away" })
      return databases[server]?.become(way) ?? Effect.void
    })

  /** It takes a moment, in which nobody can tell how a check ends. */
  const turn = (change: Effect.Effect<void>, state: "there" | "away") =>
    Effect.gen(function* () {
      for (const server of numbers) witness.happened({ kind: "database", server, state: "unsure" })
      yield* change
      for (const server of numbers) witness.happened({ kind: "database", server, state })
    })

  const inTurn = (server: number, effect: Effect.Effect<void>) =>
    Effect.suspend(() => {
      underWay++
      return Semaphore.withPermit(turns[server] as Semaphore.Semaphore, effect).pipe(
        Effect.ensuring(Effect.sync(() => underWay--)),
        Effect.forkIn(scope),
        Effect.asVoid
      )
    })

  const perform = (action: Action): Effect.Effect<void> => {
    switch (action.kind) {
      case "start":
        return inTurn(action.server, start(action.server))
      case "stop":
        return inTurn(action.server, interfere(action.server, "told", "SIGTERM", "stop"))
      case "crash":
        return inTurn(action.server, interfere(action.server, "killed", "SIGKILL", "crash"))
      case "freeze":
        return inTurn(action.server, interfere(action.server, "frozen", "SIGSTOP", undefined))
      case "thaw":
        return inTurn(action.server, interfere(action.server, "thawed", "SIGCONT", undefined))
      case "cut":
        return link(action.pairs, "cut")
      case "silence":
        return link(action.pairs, "silent")
      case "mend":
        return link(action.pairs, "open")
      case "cut database":
        return loseDatabase(action.server, "cut")
      case "silence database":
        return loseDatabase(action.server, "silent")
      case "restore database":
        return loseDatabase(action.server, "open")
      case "stop PostgreSQL":
        return turn(postgres?.stop ?? Effect.void, "away")
      case "start PostgreSQL":
        return turn(postgres?.start ?? Effect.void, "there")
    }
  }

  const ask = <A>(server: number, path: string, schema: Schema.Codec<A, unknown>) =>
    Effect.gen(function* () {
      const life = lives[server]
      if (life === undefined) return undefined
      read(server, life, false)
      if (life.url === undefined || life.fate !== "none") return undefined
      const { disturbances, url } = life
      const isValid = () => life.disturbances === disturbances && life.fate === "none" && lives[server] === life
      const answer = yield* Effect.tryPromise(async (signal) => (await fetch(`${url}${path}`, { signal })).json()).pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(schema)),
        Effect.timeout(longestAnswer),
        Effect.exit
      )
      if (Exit.isSuccess(answer)) return { body: answer.value, isValid }
      if (isValid()) witness.broken(server, `does not answer: ${answer.cause.toString().slice(0, 300)}`)
      return undefined
    })

  yield* Effect.addFinalizer(() => Effect.forEach(fibers, (fiber) => (fiber ? Fiber.interrupt(fiber) : Effect.void)))
  return {
    peerIds: linked.peerIds,
    database: postgres === undefined ? "embedded" : "postgres",
    perform,
    list: (server) => ask(server, "/services", ServiceList),
    company: (server) =>
      Effect.map(ask(server, "/self", Company), (answer) => {
        const { announce = [], heartbeat = [] } = answer?.body.topic_peers ?? {}
        return numbers.filter((other) =>
          [announce, heartbeat].every((topic) => topic.includes(linked.peerIds[other] ?? ""))
        )
      }),
    isQuiet: () => underWay === 0 && lives.every((life) => life === undefined || life.url !== undefined)
  }
})

export const longestStartMillis = Duration.toMillis(longestStart)
