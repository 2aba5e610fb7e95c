/**
 * How long it takes until everybody knows: a newcomer, a failed self-check, a goodbye, in networks of real servers on
 * this machine, and beside them Serf's agents where Serf is installed; and a long list handed to a newcomer.
 *
 * `--sizes=2,5,10,25` servers, `--runs=10` newcomers each, `--directories=1000,10000` servers in the list.
 */
import { fork } from "node:child_process"
import { Effect, Logger, type Scope } from "effect"
import { acquaint, liveDirectory } from "../directory/LiveDirectory.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import { print, quiet, summary } from "./Figures.ts"
import * as Fleet from "./Fleet.ts"
import type { Told } from "./Newcomer.ts"
import * as Serf from "./Serf.ts"

const numbers = (name: string, otherwise: ReadonlyArray<number>): ReadonlyArray<number> => {
  const flag = process.argv.find((argument) => argument.startsWith(`--${name}=`))
  const text = flag?.slice(flag.indexOf("=") + 1) ?? ""
  return text === "" ? otherwise : text.split(",").map(Number)
}
const sizes = numbers("sizes", [2, 5, 10, 25]).toSorted((a, b) => a - b)
const [runs = 10] = numbers("runs", [10])
const directories = numbers("directories", [1_000, 10_000])

const row = (what: string, figures: ReadonlyArray<number>, unit = "ms") =>
  print(`      ${what.padEnd(58)} ${summary(figures, unit)}`)

/** Grows to each size in turn, newcomers not counted, has them live there one after the other, and prints how. */
const inSizes = Effect.fnUntraced(function* <Member, Life, E>(
  join: (members: ReadonlyArray<Member>) => Effect.Effect<Member, E, Scope.Scope>,
  live: (members: ReadonlyArray<Member>) => Effect.Effect<Life, E>,
  rows: Readonly<Record<string, (life: Life) => number>>
) {
  const members: Array<Member> = []
  for (const size of sizes) {
    while (members.length < size - 1) members.push(yield* join(members))
    const lives: Array<Life> = []
    for (let run = 0; run < runs; run++) {
      yield* quiet
      lives.push(yield* live(members))
    }
    print(`    ${size} in all, the newcomer among them`)
    for (const [what, pick] of Object.entries(rows)) row(what, lives.map(pick))
  }
}, Effect.scoped)

const servers = Effect.gen(function* () {
  const postgres = yield* PostgresServer.make()
  print("  servers: node src/bin.ts, one PostgreSQL for all, each starts from the first; read from /services/watch")
  yield* inSizes(
    (members: ReadonlyArray<Fleet.Member>) => Fleet.join(postgres, members),
    (members) => Fleet.live(postgres, members),
    {
      "it lists all the others, from its first connection": (life) => life.listsFromConnection,
      "  from its `registry started`": (life) => life.listsFromStart,
      "all the others list it, from its first connection": (life) => life.listedFromConnection,
      "  from its `registry started` ": (life) => life.listedFromStart,
      "its failed self-check is in every list, from its log line": (life) => life.failure,
      "its goodbye is in every list, from SIGTERM": (life) => life.goodbye
    }
  )
}).pipe(Effect.scoped)

const agents = Effect.gen(function* () {
  if (Serf.version === undefined) return print("  Serf: not installed here")
  print(`  Serf ${Serf.version}: agents with profile lan, each joins the first; read from their logs`)
  yield* inSizes(Serf.join, Serf.live, {
    "it has seen all the others, from its join": (life) => life.lists,
    "all the others have seen it, from its join": (life) => life.listed,
    "its tag update is seen by all, from its own event": (life) => life.update,
    "its leave is seen by all, from SIGINT": (life) => life.leave
  })
})

const ask = (address: string, messages: number) =>
  Effect.callback<Told>((resume) => {
    const child = fork(new URL("Newcomer.ts", import.meta.url), [address, String(messages)])
    child.once("message", (told) => resume(Effect.succeed(told as Told)))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const handOver = Effect.fnUntraced(function* (count: number) {
  const directory = yield* liveDirectory
  yield* acquaint(directory, count)
  const answers: Array<Told & { readonly answererSeconds: number }> = []
  for (let run = 0; run < runs; run++) {
    yield* quiet
    const before = process.cpuUsage()
    const told = yield* ask(directory.node.address, 2 * count)
    const { system, user } = process.cpuUsage(before)
    answers.push({ ...told, answererSeconds: (system + user) / 1e6 })
  }
  return answers
}, Effect.scoped)

export const discovery = Effect.gen(function* () {
  print(`discovery: processes on this machine, on loopback; median of ${runs} (range)`)
  print("  each measurement begins when the machine is quiet: a newcomer is greeted by many, for some seconds")
  yield* Effect.orDie(servers)
  yield* Effect.orDie(agents)
  for (const count of directories) {
    const answers = yield* handOver(count)
    const of = (pick: (answer: (typeof answers)[number]) => number) => answers.map(pick)
    print(`  a directory of ${count} servers, ${2 * count} signed messages, handed to a newcomer; two processes`)
    row(
      "all of it known, from the open connection",
      of(({ millis }) => millis)
    )
    row(
      "bytes of messages",
      of(({ bytes }) => bytes),
      "bytes"
    )
    row(
      "processor time of the newcomer",
      of(({ processorSeconds }) => processorSeconds),
      "s"
    )
    row(
      "processor time of the one asked, both questions",
      of(({ answererSeconds }) => answererSeconds),
      "s"
    )
    row(
      "longest stall of the newcomer's event loop",
      of(({ longestStallMillis }) => longestStallMillis)
    )
    row(
      "asked a second time, answered in",
      of(({ again }) => again.millis)
    )
    row(
      "messages of the second answer",
      of(({ again }) => again.messages),
      "messages"
    )
  }
}).pipe(Effect.provide(Logger.layer([])))
