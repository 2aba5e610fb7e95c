/** Serf, where it is installed, through the same moments as a server of ours: agents on loopback addresses, by default settings. */
import { execFile, spawnSync } from "node:child_process"
import { tmpdir } from "node:os"
import { Effect, Fiber } from "effect"
import * as Child from "../process/Child.ts"
import { quiet } from "./Figures.ts"

export const version: string | undefined = spawnSync("serf", ["version"], { encoding: "utf8" }).stdout?.split("\n")[0]

/** Ports that are ours on every loopback address. */
const [gossipPort, rpcPort] = [27_946, 27_373]

export interface Agent {
  readonly name: string
  readonly ip: string
  readonly child: Child.Child
}

/** What one newcomer's life is measured by: milliseconds each. */
export interface Life {
  /** From the moment it joins until it, and until everybody, has seen the other join. */
  readonly lists: number
  readonly listed: number
  /** From its own `EventMemberUpdate` until everybody has that. */
  readonly update: number
  /** From SIGINT, which is a graceful leave, until everybody has seen it leave. */
  readonly leave: number
}

const longest = "60 seconds"

/** The moment at which such a line arrives here. */
const when = ({ child }: Agent, ...texts: ReadonlyArray<string>) =>
  Effect.map(
    child.line(texts.join(", or "), (line) => texts.some((text) => line.includes(text)) || undefined, longest),
    () => performance.now()
  )

const whenAll = (agents: ReadonlyArray<Agent>, ...texts: ReadonlyArray<string>) =>
  Effect.map(
    Effect.all(
      agents.map((agent) => when(agent, ...texts)),
      { concurrency: "unbounded" }
    ),
    (moments) => Math.max(...moments)
  )

const launch = Effect.fnUntraced(function* (index: number, first: Agent | undefined) {
  const ip = `127.0.1.${index + 1}`
  // A name of its own for each life, so that a line of its log is of this life.
  const name = `agent-${index}-${performance.now()}`
  const join = first === undefined ? [] : [`-join=${first.ip}:${gossipPort}`]
  const child = yield* Child.start({
    command: "serf",
    args: ["agent", `-node=${name}`, `-bind=${ip}:${gossipPort}`, `-rpc-addr=${ip}:${rpcPort}`, ...join],
    cwd: tmpdir(),
    env: { PATH: process.env.PATH }
  })
  return { name, ip, child } satisfies Agent
})

export const join = Effect.fnUntraced(function* (agents: ReadonlyArray<Agent>) {
  const agent = yield* launch(agents.length, agents[0])
  yield* whenAll([...agents, agent], `EventMemberJoin: ${agent.name} `)
  return agent
})

export const live = Effect.fnUntraced(function* (agents: ReadonlyArray<Agent>) {
  const life = Effect.gen(function* () {
    const newcomer = yield* launch(agents.length, agents[0])
    const joins = yield* when(newcomer, "Joining cluster")
    const seeing = yield* Effect.forkChild(whenAll(agents, `EventMemberJoin: ${newcomer.name} `), {
      startImmediately: true
    })
    const seen = yield* Effect.forEach(agents, ({ name }) => when(newcomer, `EventMemberJoin: ${name} `))
    const listed = yield* Fiber.join(seeing)

    yield* quiet
    const updating = yield* Effect.forkChild(whenAll(agents, `EventMemberUpdate: ${newcomer.name}`), {
      startImmediately: true
    })
    yield* Effect.callback<void>((resume) => {
      execFile("serf", ["tags", `-rpc-addr=${newcomer.ip}:${rpcPort}`, "-set", "healthy=false"], () =>
        resume(Effect.void)
      )
    }).pipe(Effect.forkChild)
    const updates = yield* when(newcomer, `EventMemberUpdate: ${newcomer.name}`)
    const updated = yield* Fiber.join(updating)

    yield* quiet
    const told = performance.now()
    yield* newcomer.child.signal("SIGINT")
    // Where its word of leaving is lost, it is found to have failed.
    const left = yield* whenAll(agents, `EventMemberLeave: ${newcomer.name} `, `EventMemberFailed: ${newcomer.name} `)
    yield* newcomer.child.ending
    return {
      lists: Math.max(...seen) - joins,
      listed: listed - joins,
      update: updated - updates,
      leave: left - told
    } satisfies Life
  })
  return yield* Effect.scoped(life)
})
