/**
 * Who this node is connected to, kept so: bootstrap peers and lost neighbours are dialled until they are there (R15).
 * The rules are Targets'; what runs over a connection is not its matter.
 */
import type { PeerInfo } from "@libp2p/interface"
import { peerIdFromString } from "@libp2p/peer-id"
import { multiaddr } from "@multiformats/multiaddr"
import { Context, Effect, FiberMap, Layer, Queue, Random, Schedule, Semaphore } from "effect"
import type { Settings } from "../config/Settings.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import type { BootstrapStatus } from "./Connectivity.ts"
import type { BadAddress } from "./GossipLibp2pAddresses.ts"
import { Bans } from "./GossipLibp2pBans.ts"
import { readBootstrap } from "./GossipLibp2pBootstrap.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"
import * as Targets from "./GossipLibp2pTargets.ts"
import { topics } from "./Topic.ts"

export class Connections extends Context.Service<
  Connections,
  { readonly bootstrap: Effect.Effect<ReadonlyArray<BootstrapStatus>> }
>()("ricochet-discovery/gossip/Connections") {
  static readonly layer: Layer.Layer<Connections, BadAddress, Libp2pNode | Bans | Settings> = Layer.suspend(() =>
    Layer.effect(Connections, make)
  )
}

const lookEvery = "1 second"
const dialTimeout = "10 seconds"
/** Lost neighbours remembered, and dialled at the same time, at most. For bootstrap peers there is no limit. */
const maxNeighbours = 1_000
const maxNeighbourDials = 8
/** Of two servers that find each other on the local network, the one with the larger peer ID lets the other dial. */
const courtesyMillis = 3_000
/** Peers whose addresses the node remembers, at most; it never forgets by itself. */
const maxRemembered = 5_000
const forgetEvery = "10 minutes"

/** libp2p has bounds of its own, as long as this one, and wraps what it says when they pass. */
const isTimeout = ({ message, name }: Error) =>
  name === "TimeoutError" || name === "AbortError" || message === "The operation was aborted due to timeout"

/** Why a dial failed, in words for whoever wrote the address. */
const explain = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause).slice(0, 200)
  if (isTimeout(cause)) return "no answer in time"
  if (cause.name === "DialDeniedError") return "kept out by this server: not a trusted peer, or banned for a while"
  if (cause.message.startsWith("Payload identity key")) return "another peer ID answers at this address"
  const parts = cause instanceof AggregateError ? cause.errors.map(explain) : [cause.message || cause.name]
  return [...new Set(parts)].join("; ").slice(0, 200)
}

const make = Effect.gen(function* () {
  const { self, libp2p, mesh, nameOf, nearby, listen, isBrought } = yield* Libp2pNode
  const bans = yield* Bans
  const clock = yield* SteadyClock
  const { dialled, foreign } = yield* readBootstrap

  const targets = new Map<string, Targets.Target>()
  const dials = yield* FiberMap.make<string>()
  const neighbourDials = yield* Semaphore.make(maxNeighbourDials)
  const changes = yield* Queue.sliding<void>(1)
  let neighbours: ReadonlySet<PeerId> = new Set()

  const keep = (target: Targets.Target) => targets.set(target.address ?? target.peer, target)
  const connectedPeers = () => new Set(libp2p.getPeers().map(nameOf))

  const dial = Effect.fnUntraced(function* (key: string, { address, peer }: Targets.Target) {
    const where = address === undefined ? peerIdFromString(peer) : multiaddr(address)
    const error = yield* Effect.tryPromise({ try: (signal) => libp2p.dial(where, { signal }), catch: explain }).pipe(
      Effect.timeoutOrElse({ duration: dialTimeout, orElse: () => Effect.fail("no answer in time") }),
      Effect.match({ onSuccess: () => undefined, onFailure: (problem) => problem })
    )
    const current = targets.get(key)
    if (error === undefined || current === undefined) return
    const nowMillis = yield* clock.nowMillis
    const next = Targets.failed(current, error, nowMillis, yield* Random.next)
    const warns = Targets.isWorthWarning(next, nowMillis)
    keep(warns ? { ...next, warnedMillis: nowMillis } : next)
    const say = warns ? Effect.logWarning : Effect.logDebug
    yield* say(next.kind === "bootstrap" ? "bootstrap peer cannot be reached" : "neighbour cannot be reached").pipe(
      Effect.annotateLogs({
        address: address ?? "as it gave itself",
        peer,
        error,
        failures: next.failures,
        next_try: `${Math.ceil((next.dueMillis - nowMillis) / 1_000)}s`
      })
    )
  })

  const noteLost = (connected: ReadonlySet<PeerId>, nowMillis: number) => {
    const known = new Set([...targets.values()].map(({ peer }) => peer))
    for (const peer of neighbours) {
      if (connected.has(peer) || known.has(peer) || bans.isBanned(peer)) continue
      keep(Targets.make({ kind: "neighbour", peer, address: undefined }, nowMillis))
    }
    // Once on a topic, a peer counts until its connection is gone: its streams may die before it.
    const onTopic = topics.flatMap((topic) => mesh.getSubscribers(topic).map(nameOf))
    neighbours = new Set([...neighbours, ...onTopic].filter((peer) => connected.has(peer)))
    const lost = [...targets].filter(([, { kind }]) => kind === "neighbour")
    for (const [key] of lost.slice(0, Math.max(0, lost.length - maxNeighbours))) targets.delete(key)
  }

  const look = Effect.gen(function* () {
    const nowMillis = yield* clock.nowMillis
    const connected = connectedPeers()
    noteLost(connected, nowMillis)
    for (const [key, before] of targets) {
      const isThere = connected.has(before.peer)
      const presence = isThere ? (neighbours.has(before.peer) ? "on-topic" : "connected") : "absent"
      const target = Targets.seen(before, presence, nowMillis, yield* Random.next)
      if (Targets.isOver(target, nowMillis)) {
        targets.delete(key)
        continue
      }
      targets.set(key, target)
      if (target.connectedMillis !== undefined && before.connectedMillis === undefined) {
        yield* Effect.logInfo("bootstrap peer connected").pipe(
          Effect.annotateLogs({ address: target.address, peer: target.peer })
        )
      }
      if (!Targets.isDue(target, nowMillis)) continue
      const attempt = dial(key, target)
      const bounded = target.kind === "bootstrap" ? attempt : Semaphore.withPermit(neighbourDials, attempt)
      yield* FiberMap.run(dials, key, bounded, { onlyIfMissing: true })
    }
  })

  const forgetStrangers = Effect.tryPromise(async () => {
    const known = new Set([...targets.values()].map(({ peer }) => peer).concat([...connectedPeers()]))
    const stored = await libp2p.peerStore.all()
    for (const { id } of stored.slice(0, Math.max(0, stored.length - maxRemembered))) {
      if (!known.has(nameOf(id))) await libp2p.peerStore.delete(id)
    }
  })

  const lookSoon = () => Effect.asVoid(Queue.offer(changes, undefined))
  yield* listen(libp2p, "peer:connect", lookSoon)
  yield* listen(libp2p, "peer:disconnect", lookSoon)
  yield* listen(mesh, "subscription-change", lookSoon)
  yield* listen<PeerInfo>(nearby, "peer", ({ id, multiaddrs }) =>
    Effect.gen(function* () {
      const peer = nameOf(id)
      if (targets.has(peer) || connectedPeers().has(peer)) return
      yield* Effect.promise(() => libp2p.peerStore.merge(id, { multiaddrs }))
      const courtesy = self < peer ? 0 : courtesyMillis
      keep(Targets.make({ kind: "nearby", peer, address: undefined }, yield* clock.nowMillis, courtesy))
      yield* lookSoon()
    })
  )

  const start = yield* clock.nowMillis
  for (const { address, peer } of dialled) keep(Targets.make({ kind: "bootstrap", peer, address }, start))
  yield* look.pipe(
    Effect.catchCause((cause) => Effect.logError("looking after connections failed", cause)),
    Effect.andThen(Effect.timeoutOption(Queue.take(changes), lookEvery)),
    Effect.forever,
    Effect.forkScoped
  )
  if (!isBrought) {
    yield* forgetStrangers.pipe(
      Effect.catchCause((cause) => Effect.logError("forgetting addresses failed", cause)),
      Effect.schedule(Schedule.spaced(forgetEvery)),
      Effect.forkScoped
    )
  }

  return Connections.of({
    bootstrap: Effect.gen(function* () {
      const nowMillis = yield* clock.nowMillis
      const connected = connectedPeers()
      const statusOf = ({ address = "", peer, lastError, dueMillis }: Targets.Target): BootstrapStatus => {
        const isConnected = connected.has(peer)
        const nextTryInMillis = isConnected ? undefined : Math.max(0, dueMillis - nowMillis)
        return { address, peer, isConnected, lastError: isConnected ? undefined : lastError, nextTryInMillis }
      }
      const bootstrap = [...targets.values()].filter(({ kind }) => kind === "bootstrap")
      return [...bootstrap.map(statusOf), ...foreign]
    })
  })
})
