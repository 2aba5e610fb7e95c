/**
 * A network of whole virtual servers on the clock of the test: links, partitions, attackers, what was said, and what is
 * expected of the lists. Deterministic from its seed.
 */
import { Clock, DateTime, Effect, Equal } from "effect"
import * as GossipMemory from "../gossip/GossipMemory.ts"
import type { Weather } from "../gossip/GossipMemoryLinks.ts"
import { sign } from "../gossip/GossipMemorySignature.ts"
import type { Topic } from "../gossip/Topic.ts"
import { fromCanonical, type PeerId } from "../identity/PeerId.ts"
import { Unexpected, VirtualHistory } from "./VirtualHistory.ts"
import { peerIdOf } from "./VirtualPeerId.ts"
import * as Virtual from "./VirtualServer.ts"

/** What a virtual network is made with. */
export interface VirtualNetworkOptions {
  /** Decides every delay, loss and random wait. Default 0. */
  readonly seed?: string | number | undefined
  /** Whether each new server is linked to all before it. Default `all`. */
  readonly links?: "all" | "none" | undefined
  /** Of the links between servers, where `connect` says nothing else. Default: 1 millisecond, nothing lost. */
  readonly weather?: Weather | undefined
  /** The date at the first moment. Default 1 December 2026, midnight UTC. */
  readonly startsAt?: DateTime.DateTime.Input | undefined
}

/** One message as a server published it. */
export interface Spoken {
  /** Milliseconds since the network was made. */
  readonly atMillis: number
  /** The name of the server. */
  readonly server: string
  /** The topic it was published on. */
  readonly topic: Topic
  /** The message as it reads. */
  readonly words: Readonly<Record<string, unknown>>
  /** As an attacker may have recorded it. */
  readonly signed: () => Uint8Array
}

/** Somebody with a valid identity and no manners. */
export interface Attacker {
  /** The name it has on the network. */
  readonly name: string
  /** Its identity. */
  readonly peerId: PeerId
  /** Signs any bytes: as itself, or, which does not hold, in the name of another. */
  sign(topic: Topic, data: Uint8Array, inTheNameOf?: PeerId): Uint8Array
  /** Hands signed bytes to a server as its neighbour. */
  hand(to: Virtual.VirtualServer, signed: Uint8Array): Effect.Effect<GossipMemory.Reception>
}

type Named = Virtual.VirtualServer | string
const placeOf = (server: Named): string => (typeof server === "string" ? server : server.name)

/** A network of virtual servers, and what a test does to it. */
export interface VirtualNetwork {
  /** A server, linked but not started. */
  server(name: string, options?: Virtual.VirtualServerOptions): Effect.Effect<Virtual.VirtualServer>
  /** A server, linked and started. */
  start(
    name: string,
    options?: Virtual.VirtualServerOptions
  ): Effect.Effect<Virtual.VirtualServer, Effect.Error<Virtual.VirtualServer["start"]>>
  /** Links two servers; once more changes the weather of the link. */
  connect(a: Named, b: Named, weather?: Weather): Effect.Effect<void>
  /** Takes the link between two servers away. */
  disconnect(a: Named, b: Named): Effect.Effect<void>
  /** Cuts every link between servers of different groups; those in none are one more group. */
  partition(...groups: ReadonlyArray<ReadonlyArray<Named>>): Effect.Effect<void>
  /** Ends the partition. */
  readonly heal: Effect.Effect<void>
  /** Somebody new on the network who is no server. */
  attacker(name: string): Attacker
  /** The date by a clock that is right, in nanoseconds since the Unix epoch. */
  readonly wallNanos: Effect.Effect<bigint>
  /** Milliseconds since the network was made. */
  readonly nowMillis: Effect.Effect<number>
  /** Every server, in the order in which they came. */
  readonly servers: ReadonlyArray<Virtual.VirtualServer>
  /** What all servers have published, oldest first. */
  readonly spoken: ReadonlyArray<Spoken>
  /** What one server has published on one topic, oldest first. */
  spokenBy(server: Named, topic: Topic): ReadonlyArray<Spoken>
  /** Fails, with what had happened, unless each server named lists exactly these others, in this order. */
  expectLists(lists: Readonly<Record<string, ReadonlyArray<string>>>): Effect.Effect<void, Unexpected>
  /** Fails, with what had happened, unless both are equal. */
  expect<A>(what: string, actual: A, expected: A): Effect.Effect<void, Unexpected>
  /** The network under the servers: messages held, rejects counted, streams. */
  readonly memory: GossipMemory.MemoryNetwork
  /** What happened, for a test that wants to see it. */
  readonly history: VirtualHistory
}

const firstMoment = "2026-12-01T00:00:00Z"

const difference = (missing: ReadonlyArray<string>, others: ReadonlyArray<string>): string =>
  missing.length + others.length === 0
    ? "the right servers in another order"
    : [missing.length > 0 ? `not ${missing.join(", ")}` : "", others.length > 0 ? `but ${others.join(", ")}` : ""]
        .filter((part) => part !== "")
        .join(", ")

/** Where attackers begin to count, far above any sequence number that the network itself comes to. */
const attackerSequence = 1n << 62n

/** An empty network, until the scope closes. Time passes as the test's clock is moved. */
export const make = Effect.fnUntraced(function* (options: VirtualNetworkOptions = {}) {
  const clock = yield* Clock.Clock
  const seed = String(options.seed ?? 0)
  const memory = yield* GossipMemory.make({ seed })
  const originNanos = clock.monotonicTimeNanosUnsafe()
  const nowMillis = () => Number((clock.monotonicTimeNanosUnsafe() - originNanos) / 1_000_000n)
  const startsAt = DateTime.makeUnsafe(options.startsAt ?? firstMoment)
  const datedNanos = BigInt(DateTime.toEpochMillis(startsAt)) * 1_000_000n - originNanos
  const names = new Map<PeerId, string>()
  const nameOf = (peerId: PeerId): string => names.get(peerId) ?? peerId
  const named = (text: string) => text.replaceAll(/12D3KooW\w+/g, (peerId) => nameOf(fromCanonical(peerId)))
  const history = new VirtualHistory(nowMillis, named)
  const servers: Array<Virtual.VirtualServer> = []
  const spoken: Array<Spoken> = []
  let sequence = attackerSequence

  yield* memory.overhear((envelope) => {
    const words = JSON.parse(new TextDecoder().decode(envelope.data))
    const { from, topic } = envelope
    spoken.push({ atMillis: nowMillis(), server: nameOf(from), topic, words, signed: () => sign(envelope) })
  })
  const surroundings = { memory, history, scope: yield* Effect.scope, seed, nowMillis, datedNanos, nameOf }

  const noted = (text: string, effect: Effect.Effect<void>) =>
    Effect.andThen(
      Effect.sync(() => history.note(undefined, () => text)),
      effect
    )
  const connect = (a: Named, b: Named, weather = options.weather) =>
    noted(`links ${placeOf(a)} and ${placeOf(b)}`, memory.connect(placeOf(a), placeOf(b), weather))

  const server = Effect.fnUntraced(function* (name: string, serverOptions?: Virtual.VirtualServerOptions) {
    const made = yield* Virtual.make(surroundings, name, serverOptions)
    if (!names.has(made.peerId)) names.set(made.peerId, name)
    if ((options.links ?? "all") === "all") yield* Effect.forEach(servers, (other) => connect(other, made))
    servers.push(made)
    return made
  })

  const expect = <A>(what: string, actual: A, expected: A) =>
    Equal.equals(actual, expected)
      ? Effect.void
      : Effect.fail(new Unexpected({ what, expected, actual, history: history.print() }))

  const network: VirtualNetwork = {
    server,
    start: Effect.fnUntraced(function* (name, serverOptions) {
      const made = yield* server(name, serverOptions)
      yield* made.start
      return made
    }),
    connect,
    disconnect: (a, b) => noted(`cuts ${placeOf(a)} from ${placeOf(b)}`, memory.disconnect(placeOf(a), placeOf(b))),
    partition: (...groups) => {
      const places = groups.map((group) => group.map(placeOf))
      return noted(`parts into ${JSON.stringify(places)} and the rest`, memory.partition(places))
    },
    heal: noted("heals", memory.heal),
    attacker: (name) => {
      const peerId = peerIdOf(name)
      names.set(peerId, name)
      return {
        name,
        peerId,
        sign: (topic, data, inTheNameOf = peerId) =>
          sign({ from: inTheNameOf, sequence: sequence++, topic, data }, peerId),
        hand: (to, signed) => memory.inject(peerId, placeOf(to), signed)
      }
    },
    wallNanos: Effect.sync(() => datedNanos + clock.monotonicTimeNanosUnsafe()),
    nowMillis: Effect.sync(nowMillis),
    servers,
    spoken,
    spokenBy: (speaker, topic) => spoken.filter((one) => one.server === placeOf(speaker) && one.topic === topic),
    expectLists: Effect.fnUntraced(function* (lists) {
      for (const [name, expected] of Object.entries(lists)) {
        const actual = yield* servers.find((one) => one.name === name)?.list ?? Effect.succeed(["no such server"])
        const missing = expected.filter((other) => !actual.includes(other))
        const others = actual.filter((other) => !expected.includes(other))
        yield* expect(`${name} lists ${difference(missing, others)}`, actual, expected)
      }
    }),
    expect,
    memory,
    history
  }
  return network
})
