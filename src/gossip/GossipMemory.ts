/**
 * A network in memory that stands behind Gossip: nodes, and links on which messages are late, lost or doubled, in the
 * time of the clock it is made under. It floods where GossipSub keeps a mesh, and reads no message.
 */
import { Context, Effect, Latch, Layer, Queue, Random, Result, type Scope } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { type Appearance, Gossip, type Judge, PublishRefused, type Verdict, type Verified } from "./Gossip.ts"
import { make as makeAgenda } from "./GossipMemoryAgenda.ts"
import { make as makeLinks, type Place, type Weather } from "./GossipMemoryLinks.ts"
import { addressOf, isNewTo, make as makeNode, type Node, noticeOn } from "./GossipMemoryNode.ts"
import { type Envelope, open, peek, sign } from "./GossipMemorySignature.ts"
import { make as makeStreams } from "./GossipMemoryStreams.ts"
import { Streams } from "./Streams.ts"
import { type Topic, topics } from "./Topic.ts"

/** What became of a message at a node: GossipSub's own refusals, then the judge's verdict. */
export type Reception = "absent" | "off-topic" | "seen" | "unsigned" | "waiting" | Verdict

/** A network in memory, which knows places and bytes, but no servers. */
export interface MemoryNetwork {
  /** A node, up while the layer's scope is open. `at` is its place where that is not its peer ID. */
  node(peerId: PeerId, options?: { readonly at?: Place | undefined }): Layer.Layer<Gossip | Streams>
  /** Links two places, whether or not nodes are up there; once more changes the weather. */
  connect(a: Place, b: Place, weather?: Weather): Effect.Effect<void>
  /** Takes the link between two places away. */
  disconnect(a: Place, b: Place): Effect.Effect<void>
  /** Cuts every link between places of different groups; places in no group are one more group. */
  partition(groups: ReadonlyArray<ReadonlyArray<Place>>): Effect.Effect<void>
  /** Ends the partition. */
  readonly heal: Effect.Effect<void>
  /** Cuts a place off: nothing on its way to it arrives, and nothing it says leaves. `plug` undoes it. */
  unplug(place: Place): Effect.Effect<void>
  /** Undoes `unplug`. */
  plug(place: Place): Effect.Effect<void>
  /** Keeps what arrives at a place waiting, as the sockets of a stopped process do. `release` lets it in. */
  hold(place: Place): Effect.Effect<void>
  /** Undoes `hold`: what waited arrives now, in order. */
  release(place: Place): Effect.Effect<void>
  /** Hands signed bytes to a node as if this neighbour had sent them: what an attacker can do. */
  inject(neighbour: PeerId, to: Place, signed: Uint8Array): Effect.Effect<Reception>
  /** How many messages of each neighbour a place refused with `reject`, or because they were not signed. */
  rejects(place: Place): Effect.Effect<ReadonlyMap<PeerId, number>>
  /** Tells the listener of every message as it is published, until the scope closes. */
  overhear(listener: (spoken: Envelope) => void): Effect.Effect<void, never, Scope.Scope>
}

const verified = ({ topic, data, from }: Envelope, signed: Uint8Array): Verified => ({
  topic,
  data,
  signer: from,
  signed: () => signed
})

/** A network of its own. The same seed under the same commands gives the same delays and losses. */
export const make = Effect.fnUntraced(function* (options: { readonly seed?: string | number } = {}) {
  const { later, nowMillis } = yield* makeAgenda
  const links = makeLinks(yield* Random.withSeed(Random.Random, options.seed ?? 0))
  const nodes = new Map<Place, Node>()
  const held = new Map<Place, { readonly waiting: Array<Effect.Effect<unknown>>; readonly released: Latch.Latch }>()
  const rejected = new Map<Place, Map<PeerId, number>>()
  const listeners = new Set<(spoken: Envelope) => void>()
  let sequence = 0n

  const connected = (place: Place): ReadonlyArray<Node> =>
    links.linked(place).flatMap((other) => (links.isOpen(place, other) ? (nodes.get(other) ?? []) : []))
  const streams = makeStreams({
    placeOf: (from, peer) => connected(from).find(({ peerId }) => peerId === peer)?.place,
    pass: (from, to) =>
      Effect.andThen(
        Effect.sleep(links.delayMillis(from, to)),
        Effect.suspend(() => held.get(to)?.released.await ?? Effect.void)
      )
  })

  // What a node is told of another's topics: of its going at once, of its coming after the link's delay.
  const look = (from: Node, to: Place): void => {
    for (const topic of topics) {
      const present = from.present[topic]
      const isThere = () => links.isOpen(from.place, to) && nodes.get(to)?.judges.has(topic) === true
      const notice = Effect.sync(() => {
        const peer = nodes.get(to)?.peerId
        if (peer !== undefined && isThere()) noticeOn(from, topic, to, peer)
      })
      if (!isThere()) present.delete(to)
      else if (!present.has(to)) later(links.delayMillis(from.place, to), notice)
    }
  }
  const lookBetween = (a: Place, b: Place): void => {
    const [first, second] = [nodes.get(a), nodes.get(b)]
    if (first !== undefined) look(first, b)
    if (second !== undefined) look(second, a)
    if (!links.isOpen(a, b) || first === undefined || second === undefined) streams.cut(a, b)
  }
  const lookAround = (place: Place): void => {
    for (const other of links.linked(place)) lookBetween(place, other)
  }
  const changeAt = (place: Place, act: () => void) =>
    Effect.sync(() => {
      act()
      lookAround(place)
    })
  const divide = (groups: ReadonlyArray<ReadonlyArray<Place>>) =>
    Effect.sync(() => {
      links.partition(groups)
      for (const place of nodes.keys()) lookAround(place)
    })

  const refuse = (node: Node, neighbour: PeerId): void => {
    const counts = rejected.get(node.place) ?? new Map<PeerId, number>()
    rejected.set(node.place, counts.set(neighbour, (counts.get(neighbour) ?? 0) + 1))
  }
  const receive = (node: Node, neighbour: PeerId, envelope: Envelope): Effect.Effect<Reception> =>
    Effect.suspend(() => {
      const hold = held.get(node.place)
      if (hold !== undefined) {
        hold.waiting.push(receive(node, neighbour, envelope))
        return Effect.succeed("waiting")
      }
      const judge = node.judges.get(envelope.topic)
      if (judge === undefined) return Effect.succeed("off-topic")
      if (!isNewTo(node, envelope, nowMillis())) return Effect.succeed("seen")
      const { topic, data, from: signer } = envelope
      const settle = (verdict: Verdict) =>
        Effect.sync(() => {
          if (verdict === "accept") flood(node, envelope, neighbour)
          if (verdict === "reject") refuse(node, neighbour)
        })
      return judge({ topic, data, signer, neighbour, signed: () => sign(envelope) }).pipe(Effect.tap(settle))
    })

  const flood = (node: Node, envelope: Envelope, neighbour?: PeerId): number => {
    let recipients = 0
    for (const [place, peer] of node.present[envelope.topic]) {
      const receiver = nodes.get(place)
      if (receiver === undefined || peer === neighbour) continue
      // A sender that has left since is heard out; a link that was cut swallows what was on it.
      const arrive = Effect.suspend(() =>
        links.isOpen(node.place, place) && nodes.get(place) === receiver
          ? receive(receiver, node.peerId, envelope)
          : Effect.void
      )
      for (const delayMillis of links.journey(node.place, place)) later(delayMillis, arrive)
      recipients++
    }
    return recipients
  }

  const speak = Effect.fnUntraced(function* (node: Node, topic: Topic, data: Uint8Array) {
    if (nodes.get(node.place) !== node) {
      return yield* new PublishRefused({ topic, reason: "failed", cause: new Error("the node has stopped") })
    }
    node.said.set(topic, { from: node.peerId, sequence: 0n, topic, data })
    if (node.present[topic].size === 0) {
      return yield* new PublishRefused({ topic, reason: "no-topic-peers", cause: undefined })
    }
    const envelope = { from: node.peerId, sequence: sequence++, topic, data }
    isNewTo(node, envelope, nowMillis())
    for (const listener of listeners) listener(envelope)
    return { recipients: flood(node, envelope) }
  })

  const join = Effect.fnUntraced(function* (node: Node, topic: Topic, judge: Judge) {
    const context = yield* Effect.context<never>()
    // Each node judges on its own clock, with its own loggers; a judge that dies is an Ignore, as in GossipSub.
    const own: Judge = (message) =>
      judge(message).pipe(
        Effect.catchCause((cause) => Effect.as(Effect.logError("the judge of a topic died", cause), "ignore" as const)),
        Effect.provideContext(context)
      )
    yield* Effect.acquireRelease(
      changeAt(node.place, () => node.judges.set(topic, own)),
      () => changeAt(node.place, () => node.judges.get(topic) === own && node.judges.delete(topic))
    )
  })

  const start = Effect.fnUntraced(function* (peerId: PeerId, place: Place) {
    const node = makeNode(peerId, place)
    if (nodes.has(place)) yield* Effect.die(new Error(`a node is up at ${place} already`))
    yield* Effect.acquireRelease(
      changeAt(place, () => nodes.set(place, node)),
      () => changeAt(place, () => nodes.delete(place))
    )
    const gossip = Gossip.of({
      self: peerId,
      addresses: Effect.succeed([addressOf(place, peerId)]),
      join: (topic, judge) => join(node, topic, judge),
      publish: (topic, data) => speak(node, topic, data),
      topicPeers: (topic) => Effect.sync(() => [...new Set(node.present[topic].values())]),
      appearances: Effect.acquireRelease(
        Effect.tap(Queue.sliding<Appearance>(256), (watcher) => Effect.sync(() => node.watchers.add(watcher))),
        (watcher) => {
          node.watchers.delete(watcher)
          return Queue.shutdown(watcher)
        }
      ),
      connections: Effect.sync(() =>
        connected(place).map((other) => ({
          peer: other.peerId,
          ...(place < other.place
            ? { address: addressOf(other.place, other.peerId), direction: "outbound" }
            : { address: undefined, direction: "inbound" })
        }))
      ),
      addressBook: Effect.sync(() => node.book.nodes),
      remember: (earlier) => Effect.sync(() => node.book.remember(earlier)),
      verify: (signed) => Effect.map(Effect.fromResult(open(signed)), (envelope) => verified(envelope, signed)),
      read: (signed) =>
        Effect.map(Effect.fromResult(peek(signed)), ({ topic, data, from }) => ({
          topic,
          data,
          claimedSigner: from,
          proof: Effect.map(Effect.fromResult(open(signed)), (envelope) => verified(envelope, signed))
        })),
      said: Effect.sync(() => [...node.said.values()].map((envelope) => verified(envelope, sign(envelope))))
    })
    return Context.make(Gossip, gossip).pipe(Context.add(Streams, streams.of(peerId, place)))
  })

  const network: MemoryNetwork = {
    node: (peerId, { at = peerId } = {}) => Layer.effectContext(start(peerId, at)),
    connect: (a, b, weather = {}) =>
      Effect.sync(() => {
        links.connect(a, b, weather)
        lookBetween(a, b)
      }),
    disconnect: (a, b) =>
      Effect.sync(() => {
        links.disconnect(a, b)
        lookBetween(a, b)
      }),
    partition: divide,
    heal: divide([]),
    unplug: (place) => changeAt(place, () => links.unplug(place)),
    plug: (place) => changeAt(place, () => links.plug(place)),
    hold: (place) =>
      Effect.sync(() => {
        if (!held.has(place)) held.set(place, { waiting: [], released: Latch.makeUnsafe() })
      }),
    release: (place) =>
      Effect.suspend(() => {
        const hold = held.get(place)
        held.delete(place)
        hold?.released.openUnsafe()
        return Effect.forEach(hold?.waiting ?? [], (one) => one, { discard: true })
      }),
    inject: (neighbour, to, signed) =>
      Effect.suspend(() => {
        const node = nodes.get(to)
        if (node === undefined) return Effect.succeed("absent" as const)
        return Result.match(open(signed), {
          onFailure: () => {
            refuse(node, neighbour)
            return Effect.succeed("unsigned" as const)
          },
          onSuccess: (envelope) => receive(node, neighbour, envelope)
        })
      }),
    rejects: (place) => Effect.sync(() => new Map(rejected.get(place))),
    overhear: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      )
  }
  return network
})
