/**
 * The interop peer written in Go (`go/`), built once and driven over its standard streams. It knows what the peer can
 * be told and what it tells, nothing of what is tested with it.
 */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rename, stat } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Duration, Effect, Schema, type Scope } from "effect"
import * as Child from "../process/Child.ts"

const sources = new URL("go/", import.meta.url).pathname
const cache = new URL("../../node_modules/.cache/interop-peer/", import.meta.url).pathname
const run = promisify(execFile)

/** Go builds it from nothing in about two minutes on two cores. */
export const buildTimeoutMillis = 420_000

/** Builds the peer unless one of the same sources is there, and gives its path. */
export const build = async (): Promise<string> => {
  const names = (await readdir(sources)).sort()
  const hash = createHash("sha256")
  for (const name of names) hash.update(name).update(await readFile(join(sources, name)))
  const directory = join(cache, hash.digest("hex").slice(0, 16))
  const binary = join(directory, "interop-peer")
  const isBuilt = await stat(binary).then(
    () => true,
    () => false
  )
  if (isBuilt) return binary
  await mkdir(directory, { recursive: true })
  const fresh = `${binary}.${process.pid}`
  await run("go", ["build", "-o", fresh, "."], { cwd: sources })
  await rename(fresh, binary)
  return binary
}

/** A message as the peer met it. `data` is its payload. */
export interface GoMessage {
  readonly event: "accepted" | "refused"
  readonly topic: string
  readonly from: string
  readonly relay: string
  readonly data: string
  readonly reason?: string
}

/** What the peer tells: itself, messages, who enters and leaves a topic, and replies to commands. */
type GoEvent =
  | { readonly event: "listening"; readonly peer_id: string; readonly addresses: ReadonlyArray<string> }
  | { readonly event: "joined" | "left"; readonly topic: string; readonly peer: string }
  | GoMessage
  | ({ readonly event: "reply"; readonly id: number; readonly error?: string } & Readonly<Record<string, unknown>>)

/** What a server in the field would say; what is not given is as one in good health says it. */
export interface GoWords {
  readonly healthy?: boolean
  readonly uptime_score?: number
  readonly region?: string
  /** Another peer ID than its own makes the message a forged one. */
  readonly server_id?: string
}

export class GoRefused extends Schema.TaggedError<GoRefused>()("GoRefused", {
  command: Schema.String,
  problem: Schema.String
}) {
  override get message() {
    return `the Go peer could not ${this.command}: ${this.problem}`
  }
}

type Told<A = void> = Effect.Effect<A, GoRefused | Child.NotSeen>

export interface GoPeer extends Child.Child {
  readonly peerId: string
  readonly address: string
  readonly announce: (words?: GoWords) => Told
  readonly heartbeat: (words?: GoWords) => Told
  /** Publishes a payload as it is, signed by the peer. */
  readonly publish: (topic: string, data: string | Uint8Array) => Told
  readonly connect: (address: string) => Told
  /** Peer IDs that the peer's registry lists, in its order. */
  readonly list: Told<ReadonlyArray<{ readonly server_id: string } & Readonly<Record<string, unknown>>>>
  /** Addresses of a peer, from Kademlia. */
  readonly findPeer: (peerId: string) => Told<ReadonlyArray<string>>
  readonly peers: Told<{ readonly connected: ReadonlyArray<string>; readonly routing_table: ReadonlyArray<string> }>
  /** How many message IDs it offered to neighbours that it had not sent the messages to, and how many they asked for. */
  readonly counts: Told<{ readonly offered: number; readonly wanted: number }>
  readonly messages: () => ReadonlyArray<GoMessage>
  /** The first message that holds. */
  readonly message: (
    expected: string,
    holds: (message: GoMessage) => boolean,
    within?: Duration.Input
  ) => Effect.Effect<GoMessage, Child.NotSeen>
  /** Waits until a peer is on a topic with it. */
  readonly joined: (topic: string, peerId: string) => Effect.Effect<GoEvent, Child.NotSeen>
}

const parse = (line: string): GoEvent | undefined => (line.startsWith("{") ? JSON.parse(line) : undefined)
const isMessage = (event: GoEvent | undefined): event is GoMessage =>
  event?.event === "accepted" || event?.event === "refused"

/** Starts a peer on a free port of the loopback. */
export const start = Effect.fnUntraced(function* (binary: string, flags: ReadonlyArray<string> = []) {
  const child = yield* Child.start({
    command: binary,
    args: ["serve", ...flags],
    cwd: sources,
    env: { HOME: process.env.HOME }
  })
  const listening = yield* child.line("the Go peer listens", (line) => {
    const event = parse(line)
    return event?.event === "listening" ? event : undefined
  })

  let asked = 0
  const tell = Effect.fnUntraced(function* (command: string, facts: Readonly<Record<string, unknown>> = {}) {
    const id = ++asked
    yield* child.write(JSON.stringify({ id, command, ...facts }))
    const reply = yield* child.line(`the Go peer's reply to ${command}`, (line) => {
      const event = parse(line)
      return event?.event === "reply" && event.id === id ? event : undefined
    })
    if (reply.error !== undefined) return yield* new GoRefused({ command, problem: reply.error })
    return reply
  })

  const peer: GoPeer = {
    ...child,
    peerId: listening.peer_id,
    address: listening.addresses[0] ?? "",
    announce: (words = {}) => Effect.asVoid(tell("announce", { ...words })),
    heartbeat: (words = {}) => Effect.asVoid(tell("heartbeat", { ...words })),
    publish: (topic, data) => Effect.asVoid(tell("publish", { topic, data: Buffer.from(data).toString("base64") })),
    connect: (address) => Effect.asVoid(tell("connect", { address })),
    list: Effect.map(tell("list"), ({ services }) => services as Effect.Success<GoPeer["list"]>),
    findPeer: (peer) => Effect.map(tell("findpeer", { peer }), ({ addresses }) => addresses as ReadonlyArray<string>),
    peers: Effect.map(tell("peers"), (reply) => reply as unknown as Effect.Success<GoPeer["peers"]>),
    counts: Effect.map(tell("counts"), (reply) => reply as unknown as Effect.Success<GoPeer["counts"]>),
    messages: () => child.stdout.map(parse).filter(isMessage),
    message: (expected, holds, within) =>
      child.line(
        expected,
        (line) => {
          const event = parse(line)
          return isMessage(event) && holds(event) ? event : undefined
        },
        within
      ),
    joined: (topic, peerId) =>
      child.line(`${peerId} on ${topic} with the Go peer`, (line) => {
        const event = parse(line)
        return event?.event === "joined" && event.topic === topic && event.peer === peerId ? event : undefined
      })
  }
  return peer
}) satisfies (binary: string, flags?: ReadonlyArray<string>) => Effect.Effect<GoPeer, Child.NotSeen, Scope.Scope>

/** Runs one of the peer's other modes to its end and gives the lines it prints, parsed. */
export const ask = async (binary: string, args: ReadonlyArray<string>, input = ""): Promise<ReadonlyArray<unknown>> => {
  const running = run(binary, [...args], { maxBuffer: 1 << 30 })
  running.child.stdin?.end(input)
  const { stdout } = await running
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
}
