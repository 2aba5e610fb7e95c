import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Queue, Scope } from "effect"
import { announceTopic } from "../../src/gossip/Topic.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import { addressAhead, anySeed, dial, type LiveNode, onTopic, until, untilTheyHear } from "./LiveNodes.ts"
import { rawGossip } from "./RawGossip.ts"

const words = (text: string) => new TextEncoder().encode(text)
const connectionsTo = (a: LiveNode, b: LiveNode) => a.libp2p.getConnections(b.libp2p.peerId)
const gossipStream = (a: LiveNode, b: LiveNode, direction: "inbound" | "outbound") => {
  const [connection] = connectionsTo(a, b)
  const stream = connection?.streams.find((one) => one.direction === direction && one.protocol.startsWith("/meshsub/"))
  if (stream === undefined) throw new Error(`no ${direction} GossipSub stream`)
  return stream
}

describe("connections", () => {
  it.live("S19 S20 bring servers together through bootstrap peers, and leave alone who has no path", () =>
    Effect.gen(function* () {
      const b = yield* onTopic()
      const a = yield* onTopic({ bootstrapPeers: [b.node.address] })
      const c = yield* onTopic({ bootstrapPeers: [b.node.address] })
      const island = yield* onTopic()
      yield* untilTheyHear(a, b)
      yield* untilTheyHear(c, b)
      yield* untilTheyHear(a, c)
      assert.deepStrictEqual(island.heard, [])
      assert.deepStrictEqual(yield* island.node.connections, [])
      const { bootstrap, topicPeers, aloneSinceMillis } = yield* a.node.connectivity.status
      assert.deepStrictEqual(bootstrap, [
        {
          address: b.node.address,
          peer: b.node.self,
          isConnected: true,
          lastError: undefined,
          nextTryInMillis: undefined
        }
      ])
      assert.isAtLeast(topicPeers, 1)
      assert.strictEqual(aloneSinceMillis, undefined)
    })
  )

  it.live("D04 D05 R15 are tried until they are there, and never delay the start", () =>
    Effect.gen(function* () {
      const log = CapturedLog.make()
      const seedHex = anySeed()
      const { address, listen } = yield* addressAhead(seedHex)
      // Nobody answers at the first two; the last needs a transport that is not here.
      const elsewhere = address.replace(/12D3KooW\w+/, "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN")
      const foreign = address.replace(/\/tcp\/(\d+)/, "/udp/$1/udx")
      const start = performance.now()
      const a = yield* onTopic({ bootstrapPeers: [elsewhere, address, foreign] }).pipe(Effect.provide(log.layer))
      assert.isBelow(performance.now() - start, 5_000)
      const status = Effect.map(a.node.connectivity.status, ({ bootstrap }) => bootstrap)
      yield* until(Effect.map(status, (all) => all.every(({ lastError }) => lastError !== undefined)))
      assert.deepStrictEqual(
        (yield* status).map(({ address: tried, isConnected, lastError = "", nextTryInMillis }) => [
          tried,
          isConnected,
          lastError.replace(/\d+$/, ""),
          nextTryInMillis === undefined ? "never" : "again"
        ]),
        [
          [elsewhere, false, "connection error 127.0.0.1:", "again"],
          [address, false, "connection error 127.0.0.1:", "again"],
          [foreign, false, "address needs the transport udx, which this server does not have", "never"]
        ].map(([tried, isConnected, error, when], index) => [
          tried,
          isConnected,
          index === 2 ? error : `${error}${/tcp\/(\d+)/.exec(address)?.[1]}: connect ECONNREFUSED 127.0.0.1:`,
          when
        ])
      )
      const b = yield* onTopic({ seedHex, listen: [listen] })
      yield* untilTheyHear(a, b)
      assert.strictEqual(log.of("bootstrap peer cannot be reached").filter(({ level }) => level === "Warn").length, 2)
      assert.deepStrictEqual(
        log.of("address needs the transport udx, which this server does not have").map(({ facts }) => facts),
        [{ address: foreign }]
      )
    })
  )

  it.live("R15 C04 C06 come back when they are cut, and when the other side starts anew", () =>
    Effect.gen(function* () {
      const seedHex = anySeed()
      const { address, listen } = yield* addressAhead(seedHex)
      const a = yield* onTopic({ bootstrapPeers: [address] })
      for (let restart = 0; restart < 2; restart++) {
        const scope = yield* Scope.make()
        const b = yield* Scope.provide(onTopic({ seedHex, listen: [listen] }), scope)
        yield* untilTheyHear(a, b)
        for (const connection of a.node.libp2p.getConnections()) connection.abort(new Error("cut"))
        yield* until(Effect.sync(() => connectionsTo(a.node, b.node).length === 0))
        yield* untilTheyHear(a, b)
        yield* Scope.close(scope, Exit.void)
      }
    })
  )

  it.live("R15 are made again by a neighbour that nobody told where to dial", () =>
    Effect.gen(function* () {
      const a = yield* onTopic()
      const b = yield* onTopic()
      const appearances = yield* a.node.appearances
      yield* dial(a.node, b.node)
      yield* untilTheyHear(a, b)
      for (const connection of a.node.libp2p.getConnections()) connection.abort(new Error("cut"))
      yield* until(Effect.sync(() => connectionsTo(a.node, b.node).length === 0))
      yield* untilTheyHear(a, b)
      const appearance = { topic: announceTopic, peer: b.node.self }
      assert.deepStrictEqual(yield* Queue.clear(appearances), [appearance, appearance])
    })
  )

  it.live("are made to a server that announces itself on the local network", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* onTopic(), yield* onTopic()]
      const hear = (from: LiveNode, of: LiveNode) => {
        const detail = { id: of.libp2p.peerId, multiaddrs: of.libp2p.getMultiaddrs() }
        from.nearby.dispatchEvent(new CustomEvent("peer", { detail }))
      }
      hear(a.node, b.node)
      hear(b.node, a.node)
      yield* untilTheyHear(a, b)
      // One of the two lets the other dial.
      assert.strictEqual(connectionsTo(a.node, b.node).length, 1)
    })
  )

  it.live("R15 that two servers make to each other at once are one soon, and lose no words for long", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* onTopic(), yield* onTopic()]
      yield* Effect.all([dial(a.node, b.node), dial(b.node, a.node)], { concurrency: 2 })
      yield* until(Effect.sync(() => connectionsTo(a.node, b.node).length === 2))
      yield* untilTheyHear(a, b)
      yield* until(
        Effect.sync(() => connectionsTo(a.node, b.node).length === 1 && connectionsTo(b.node, a.node).length === 1)
      )
      yield* untilTheyHear(a, b, 3_000)
    })
  )

  for (const direction of ["outbound", "inbound"] as const) {
    it.live(`R15 live on when their ${direction} GossipSub stream dies, and carry words again`, () =>
      Effect.gen(function* () {
        const a = yield* onTopic()
        const b = yield* onTopic({ bootstrapPeers: [a.node.address] })
        yield* untilTheyHear(a, b)
        const [before] = connectionsTo(a.node, b.node)
        gossipStream(a.node, b.node, direction).abort(new Error("dead"))
        yield* untilTheyHear(a, b)
        assert.strictEqual(connectionsTo(a.node, b.node)[0], before)
      })
    )
  }

  it.live("R15 carry words also where what each side speaks was lost on the way", () =>
    Effect.gen(function* () {
      const a = yield* onTopic()
      const b = yield* onTopic({ bootstrapPeers: [a.node.address] })
      yield* untilTheyHear(a, b)
      const forget = (one: LiveNode, other: LiveNode) =>
        Effect.promise(() => one.libp2p.peerStore.patch(other.libp2p.peerId, { protocols: [] }))
      yield* Effect.all([forget(a.node, b.node), forget(b.node, a.node)], { concurrency: 2 })
      for (const direction of ["outbound", "inbound"] as const) {
        gossipStream(a.node, b.node, direction).abort(new Error("dead"))
      }
      yield* untilTheyHear(a, b)
    })
  )

  it.live("R15 are given up and made anew when GossipSub has given the peer up for what it sent", () =>
    Effect.gen(function* () {
      const a = yield* onTopic()
      const b = yield* onTopic({ bootstrapPeers: [a.node.address] })
      yield* untilTheyHear(a, b)
      const [before] = connectionsTo(a.node, b.node)
      // A frame said to be longer than any may be.
      gossipStream(b.node, a.node, "outbound").send(Uint8Array.of(0xff, 0xff, 0xff, 0x7f, 0))
      yield* until(Effect.sync(() => connectionsTo(a.node, b.node).every((connection) => connection !== before)))
      yield* untilTheyHear(a, b)
    })
  )

  it.live("bring 30 servers of one address to one of them, its words to all and theirs to it", () =>
    Effect.gen(function* () {
      const hub = yield* onTopic()
      const others = yield* Effect.all(
        Array.from({ length: 29 }, () => rawGossip),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(others, (other) => other.connect(hub.node.address), { concurrency: "unbounded" })
      yield* Effect.forEach(others, (other) => other.join(announceTopic), { concurrency: "unbounded" })
      const ofHub = Effect.map(hub.node.topicPeers(announceTopic), (peers) => peers.length)
      yield* until(Effect.map(ofHub, (count) => count === others.length))
      yield* hub.node.publish(announceTopic, words("to all"))
      yield* until(Effect.sync(() => others.every(({ heard }) => heard.includes("to all"))))
      for (const other of others) yield* other.say(announceTopic, `from ${other.peerId}`)
      yield* until(Effect.sync(() => others.every(({ peerId }) => hub.heard.includes(`from ${peerId}`))))
    })
  )

  it.live("L03 are no more than performance.max_concurrent_connections, and the log says so once", () =>
    Effect.gen(function* () {
      const log = CapturedLog.make()
      const hub = yield* onTopic({ maxConnections: 2 }).pipe(Effect.provide(log.layer))
      const others = yield* Effect.all(
        Array.from({ length: 5 }, () => rawGossip),
        { concurrency: "unbounded" }
      )
      const dials = yield* Effect.forEach(others, (other) => Effect.exit(other.connect(hub.node.address)))
      assert.deepStrictEqual(dials.map(Exit.isSuccess), [true, true, false, false, false])
      assert.sameMembers(
        (yield* hub.node.connections).map(({ peer }) => String(peer)),
        others.slice(0, 2).map(({ peerId }) => peerId)
      )
      const reached = { limit: 2, setting: "performance.max_concurrent_connections" }
      const said = "connection limit reached, further servers are turned away"
      assert.deepStrictEqual(log.of(said), [{ level: "Warn", facts: reached }])
      // A place that is free again is taken again, and the log is not filled with it.
      yield* Effect.promise(() => hub.node.libp2p.hangUp(hub.node.libp2p.getPeers()[0] ?? hub.node.libp2p.peerId))
      yield* Effect.forEach(others.slice(2), (other) => Effect.exit(other.connect(hub.node.address)))
      yield* until(Effect.map(hub.node.connections, (connections) => connections.length === 2))
      assert.deepStrictEqual(log.of(said), [{ level: "Warn", facts: reached }])
    })
  )

  it.live("are refused to who is not on the list of trusted peers, in both directions", () =>
    Effect.gen(function* () {
      const [friend, stranger] = [yield* onTopic(), yield* onTopic()]
      const guarded = yield* onTopic({
        trustedPeers: [friend.node.self],
        bootstrapPeers: [friend.node.address, stranger.node.address]
      })
      yield* untilTheyHear(guarded, friend)
      // The stranger may believe for a moment that it is connected.
      yield* Effect.ignoreCause(dial(stranger.node, guarded.node))
      yield* until(Effect.sync(() => connectionsTo(stranger.node, guarded.node).length === 0))
      const { bootstrap } = yield* guarded.node.connectivity.status
      assert.deepStrictEqual(
        bootstrap.map(({ isConnected, lastError }) => [isConnected, lastError]),
        [
          [true, undefined],
          [false, "kept out by this server: not a trusted peer, or banned for a while"]
        ]
      )
      assert.deepStrictEqual(
        (yield* guarded.node.connections).map(({ peer }) => peer),
        [friend.node.self]
      )
    })
  )
})
