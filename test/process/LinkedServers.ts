/**
 * Servers that reach each other over links alone, one each way between any two, so that a test can part them as it
 * likes. Each keeps its identity, its port and its directory however often it is started.
 */
import { createHash, randomInt } from "node:crypto"
import { createServer } from "node:net"
import { Effect, type Scope } from "effect"
import { peerIdOfSeed } from "../wires/LiveNodes.ts"
import * as Link from "./Link.ts"
import { type ServerOptions, temporaryDirectory } from "./ServerProcess.ts"

export interface LinkedServers {
  /** In the order of their numbers, from 0 on. */
  readonly peerIds: ReadonlyArray<string>
  /** The port on which a server listens. Others reach it over their links to it. */
  readonly ports: ReadonlyArray<number>
  /** How a server is started. */
  readonly options: (server: number, more?: ServerOptions) => ServerOptions
  /** What the ways between two servers become, both of them. */
  readonly between: (one: number, other: number, state: Link.LinkState) => Effect.Effect<void>
}

/** Free, and not among those that the system gives out, which might be taken when a server starts again. */
export const lastingPort: Effect.Effect<number> = Effect.suspend(() => isFree(randomInt(10_000, 32_000))).pipe(
  Effect.flatMap((port) => (port === undefined ? lastingPort : Effect.succeed(port)))
)

const isFree = (port: number) =>
  Effect.callback<number | undefined>((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(undefined)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
  })

/** An address that leads nowhere, for servers that are to be met over their links and on no other way. */
const nowhere = "/ip4/127.0.0.1/tcp/9"

export const make = Effect.fnUntraced(function* (
  count: number,
  common: ServerOptions = {}
): Effect.fn.Return<LinkedServers, never, Scope.Scope> {
  const numbers = Array.from({ length: count }, (_, number) => number)
  const salt = randomInt(2 ** 40)
  const seeds = numbers.map((number) => createHash("sha256").update(`${salt} ${number}`).digest("hex"))
  const peerIds = yield* Effect.forEach(seeds, peerIdOfSeed)
  const ports = yield* Effect.forEach(numbers, () => lastingPort)
  const directories = yield* Effect.forEach(numbers, () => temporaryDirectory)
  // By the one that dials, then by the one that is dialled.
  const links = yield* Effect.forEach(numbers, (from) =>
    Effect.forEach(numbers, (to) => (from === to ? Effect.succeed(undefined) : Link.make(ports[to] ?? 0)))
  )
  const bootstrapOf = (server: number) =>
    (links[server] ?? []).flatMap((link, to) =>
      link === undefined ? [] : [`/ip4/127.0.0.1/tcp/${link.port}/p2p/${peerIds[to]}`]
    )
  const options = (server: number, more: ServerOptions = {}): ServerOptions => ({
    ...common,
    ...more,
    directory: directories[server] ?? "",
    args: [...(common.args ?? []), ...(more.args ?? [])],
    env: {
      RICOCHET_SEED_HEX: seeds[server] ?? "",
      RICOCHET_SERVER_LISTEN_ADDRESSES: `/ip4/127.0.0.1/tcp/${ports[server]}`,
      RICOCHET_SERVER_EXTERNAL_ADDRESSES: nowhere,
      RICOCHET_SERVER_BOOTSTRAP_PEERS: bootstrapOf(server).join(","),
      ...common.env,
      ...more.env
    }
  })
  return {
    peerIds,
    ports,
    options,
    between: (one, other, state) =>
      Effect.forEach([links[one]?.[other], links[other]?.[one]], (link) => link?.become(state) ?? Effect.void, {
        discard: true
      })
  }
})
