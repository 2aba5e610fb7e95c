/**
 * Looks after what GossipSub does not: a peer whose connection lives while its GossipSub streams are dead, several
 * connections to one peer, and a peer that floods it with what it refuses itself. It dials nobody.
 *
 * GossipSub opens its stream to a peer once, when identify has run, and never again. Identifying the peer once more
 * makes it open another; where that does not help, the connection is given up and Connections makes a new one.
 */
import type { MeshPeer, SubscriptionChangeData } from "@libp2p/gossipsub"
import type { Connection } from "@libp2p/interface"
import { Effect, Layer, Queue } from "effect"
import { fromCanonical, type PeerId } from "../identity/PeerId.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import { allowedRefusals, Bans } from "./GossipLibp2pBans.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"
import { type Act, noTrouble, type Trouble, tend } from "./GossipLibp2pTroubles.ts"

const lookEvery = "1 second"
/** No look counts for more time than this, however late it is. */
const longestLookMillis = 1_500
/** A connection takes its streams along, but they are told of it a little later. */
const afterClose = "50 millis"
const identifyTimeout = "5 seconds"

const isGossip = (protocol: string | undefined) => protocol?.startsWith("/meshsub/") === true
const isIdentify = (protocol: string) => protocol.startsWith("/ipfs/id/")
const gossipStreams = ({ streams }: Connection) => streams.filter(({ protocol }) => isGossip(protocol)).length

/** GossipSub does not notice that the peer has ended its stream to us. */
const hasOpenGossipFromPeer = ({ streams }: Connection) =>
  streams.some(
    ({ direction, protocol, remoteWriteStatus }) =>
      direction === "inbound" && isGossip(protocol) && remoteWriteStatus === "writable"
  )

const make = Effect.gen(function* () {
  const { self, libp2p, mesh, nameOf, listen } = yield* Libp2pNode
  const bans = yield* Bans
  const clock = yield* SteadyClock
  const troubles = new Map<PeerId, Trouble>()
  const changes = yield* Queue.sliding<void>(1)
  let lastLookMillis = yield* clock.nowMillis

  const hasStreams = (peer: PeerId) => mesh.streamsOutbound.has(peer) && mesh.streamsInbound.has(peer)

  const hangUp = (connection: Connection) =>
    Effect.forkScoped(Effect.promise(() => libp2p.hangUp(connection.remotePeer).catch(() => undefined)))

  /** Whether the peer answers on this connection; if so, GossipSub opens the stream that it lacks. */
  const identify = (connection: Connection) =>
    Effect.tryPromise((signal) => libp2p.services.identify.identify(connection, { signal })).pipe(
      Effect.timeout(identifyTimeout),
      Effect.match({ onSuccess: () => true, onFailure: () => false })
    )

  /**
   * Whether it has said what it speaks, and gossip is not among it. Where identify was lost on the way it has not,
   * whatever others have noted of it.
   */
  const speaksOtherwise = (connection: Connection) =>
    Effect.promise(() =>
      libp2p.peerStore.get(connection.remotePeer).then(
        ({ protocols }) => protocols.some(isIdentify) && !protocols.some(isGossip),
        () => false
      )
    )

  /** Keeps the connection with most of GossipSub's streams, or the oldest, unless the peer does not answer on it. */
  const settle = Effect.fnUntraced(function* (connections: ReadonlyArray<Connection>) {
    const [best, ...others] = connections.toSorted(
      (a, b) => gossipStreams(b) - gossipStreams(a) || a.timeline.open - b.timeline.open
    )
    if (best === undefined) return
    const answers = yield* identify(best)
    for (const connection of answers ? others : [best]) connection.abort(new Error("one connection is enough"))
  })

  const perform = Effect.fnUntraced(function* (act: Act, peer: PeerId, connections: ReadonlyArray<Connection>) {
    const [first] = connections
    if (first === undefined || act === "none") return
    if (act === "settle") return yield* Effect.asVoid(Effect.forkScoped(settle(connections)))
    // A peer that is here for something else lacks nothing.
    if (yield* speaksOtherwise(first)) return
    if (act === "reopen") return yield* Effect.asVoid(Effect.forkScoped(identify(first)))
    yield* Effect.logInfo("connection without gossip given up").pipe(Effect.annotateLogs({ peer }))
    yield* hangUp(first)
  })

  /** GossipSub counts here what it refuses itself, a bad signature for one, beside what the judges refuse. */
  const banFlooders = Effect.fnUntraced(function* (byPeer: ReadonlyMap<PeerId, ReadonlyArray<Connection>>) {
    const stats = mesh.dumpPeerScoreStats()
    for (const [peer, [connection]] of byPeer) {
      const scores = Object.values(stats[peer]?.topics ?? {})
      const invalid = scores.reduce((sum, { invalidMessageDeliveries }) => sum + invalidMessageDeliveries, 0)
      if (invalid <= allowedRefusals || connection === undefined) continue
      if (!bans.isBanned(peer)) yield* bans.ban(peer, `forwarded over ${allowedRefusals} invalid messages in a minute`)
      yield* hangUp(connection)
    }
  })

  const look = Effect.gen(function* () {
    const nowMillis = yield* clock.nowMillis
    const elapsedMillis = Math.min(nowMillis - lastLookMillis, longestLookMillis)
    lastLookMillis = nowMillis
    const byPeer = Map.groupBy(
      libp2p.getConnections().filter(({ status }) => status === "open"),
      ({ remotePeer }) => nameOf(remotePeer)
    )
    for (const peer of troubles.keys()) if (!byPeer.has(peer)) troubles.delete(peer)
    yield* banFlooders(byPeer)
    for (const [peer, connections] of byPeer) {
      const isWhole = hasStreams(peer) && connections.some(hasOpenGossipFromPeer)
      const sight = { isWhole, connections: connections.length, isOursToSettle: self < peer }
      const { act, trouble } = tend(troubles.get(peer) ?? noTrouble, sight, elapsedMillis)
      troubles.set(peer, trouble)
      yield* perform(act, peer, connections)
    }
  })

  // What happens between two looks: a stream that was there only then was there.
  const noteWhole = (peer: PeerId) =>
    Effect.sync(() => {
      if (hasStreams(peer)) troubles.set(peer, { ...(troubles.get(peer) ?? noTrouble), wasWhole: true })
    })
  yield* listen<SubscriptionChangeData>(mesh, "subscription-change", ({ peerId }) => noteWhole(nameOf(peerId)))
  yield* listen<MeshPeer>(mesh, "gossipsub:graft", ({ peerId }) => noteWhole(fromCanonical(peerId)))
  yield* listen(libp2p, "connection:close", () => Effect.asVoid(Queue.offer(changes, undefined)))
  yield* look.pipe(
    Effect.catchCause((cause) => Effect.logError("looking after streams failed", cause)),
    Effect.andThen(Effect.timeoutOption(Effect.andThen(Queue.take(changes), Effect.sleep(afterClose)), lookEvery)),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer: Layer.Layer<never, never, Libp2pNode | Bans> = Layer.effectDiscard(make)
