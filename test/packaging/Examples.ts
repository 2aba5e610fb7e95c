/** The examples of the scratch project as processes, each in a directory of its own, seen through what they print. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import * as Child from "../process/Child.ts"
import { prepareData } from "../process/ServerProcess.ts"

export interface Example extends Child.Child {
  /** Where it runs. */
  readonly directory: string
  /** The first multiaddr that it prints, with its peer ID. */
  readonly address: string
  readonly serverId: string
}

/** How long a test waits for a word of an example, on a machine that has other things to do. */
const patience = "60 seconds"

/** What an example finds in its environment: the loopback, and a beat that a test can wait for. */
const environment = {
  PATH: process.env.PATH,
  SERVER_LISTEN_ADDRESSES: "/ip4/127.0.0.1/tcp/0",
  INTERVALS_HEALTH_CHECK_MIN: "0.02",
  PORT: "0"
}

export interface ExampleOptions {
  readonly node: string
  readonly scratch: string
  readonly file: string
  /** The server that it finds the others through. */
  readonly bootstrap?: string
  readonly env?: Readonly<Record<string, string>>
}

export const lineOf = (example: Child.Child, pattern: RegExp) =>
  example.line(`a line like ${pattern}`, (line) => pattern.exec(line) ?? undefined, patience)

/** Starts an example. */
export const start = Effect.fnUntraced(function* ({ node, scratch, file, bootstrap, env }: ExampleOptions) {
  const directory = join(scratch, "runs", `${file}-${Math.random().toString(36).slice(2)}`)
  yield* Effect.promise(() => mkdir(directory, { recursive: true }))
  if (file === "HealthCheck.ts") yield* Effect.promise(() => prepareData(join(directory, "sf_storage")))
  const child = yield* Child.start({
    command: node,
    args: [join(scratch, "examples", file), ...(bootstrap === undefined ? [] : [bootstrap])],
    cwd: directory,
    env: { ...environment, ...(bootstrap === undefined ? {} : { SERVER_BOOTSTRAP_PEERS: bootstrap }), ...env }
  })
  return { ...child, directory }
})

/** Starts an example, and waits until it has printed where it is. */
export const startServer = Effect.fnUntraced(function* (options: ExampleOptions) {
  const child = yield* start(options)
  const [address, serverId = ""] = yield* lineOf(child, /\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/(\w+)/)
  return { ...child, address, serverId }
})
