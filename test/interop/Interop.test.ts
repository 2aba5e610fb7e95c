/** Servers of this project and servers written in Go on one network, over real connections between real processes. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { announceTopic, heartbeatTopic, topics } from "../../src/gossip/Topic.ts"
import { eventually } from "../process/Eventually.ts"
import { type Running, start } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"
import * as GoPeer from "./GoPeer.ts"

/** An address that leads nowhere: whoever gives it out is met only on connections that it opened itself. */
const nowhere = "/ip4/127.0.0.1/tcp/9"
const unreachable = { RICOCHET_SERVER_EXTERNAL_ADDRESSES: nowhere }

/** Waits until the Go peer's registry lists exactly these, and gives the entries in its order. */
const goLists = (peer: GoPeer.GoPeer, peerIds: ReadonlyArray<string>) =>
  eventually(
    `the Go peer lists exactly ${JSON.stringify(peerIds)}`,
    peer.list,
    (list) => JSON.stringify(list.map(({ server_id }) => server_id).sort()) === JSON.stringify([...peerIds].sort())
  )

/**
 * Waits until two are on both topics with each other. Go drops what is published before its own stream to a neighbour
 * is open, which only the neighbour can tell.
 */
const meet = Effect.fnUntraced(function* (peer: GoPeer.GoPeer, server: Running) {
  yield* Effect.forEach(topics, (topic) => peer.joined(topic, server.peerId))
  yield* eventually(
    "the Go peer is on both topics",
    server.self,
    ({ topic_peers }) => topic_peers.announce.includes(peer.peerId) && topic_peers.heartbeat.includes(peer.peerId)
  )
})

/** Lets the Go peer say its first words to a server that it meets. */
const greet = Effect.fnUntraced(function* (peer: GoPeer.GoPeer, server: Running, words: GoPeer.GoWords = {}) {
  yield* meet(peer, server)
  yield* peer.announce(words)
  yield* peer.heartbeat(words)
})

describe.skipIf(isMissing("go"))(named("a network in two languages", "go"), () => {
  let binary: string
  beforeAll(async () => {
    binary = await GoPeer.build()
  }, GoPeer.buildTimeoutMillis)

  it.live("S6 S8 S13 S14 R13 each lists the other, follows its health, and lets it go at its goodbye", () =>
    Effect.gen(function* () {
      const ours = yield* start({ args: ["--region", "eu-west"] })
      const theirs = yield* GoPeer.start(binary, ["--bootstrap", ours.address])
      yield* greet(theirs, ours, { region: "us-east", uptime_score: 0.5 })

      yield* ours.lists([theirs.peerId])
      const { service } = yield* ours.service(theirs.peerId)
      assert.deepInclude(service, {
        server_id: theirs.peerId,
        capabilities: ["store-and-forward", "mailbox", "document-sync"],
        max_storage: "10GB",
        retention_policy: "720h0m0s",
        region: "us-east",
        regions: ["us-east"],
        uptime_score: 0.5,
        healthy: true,
        port: Number(/\/tcp\/(\d+)\//.exec(theirs.address)?.[1])
      })
      const [entry] = yield* goLists(theirs, [ours.peerId])
      const { last_heard, timestamp, ...announced }: Readonly<Record<string, unknown>> = entry ?? {}
      assert.deepStrictEqual(announced, {
        server_id: ours.peerId,
        capabilities: ["store-and-forward", "mailbox", "document-sync"],
        max_storage: "10GB",
        retention_policy: "720h0m0s",
        region: "eu-west",
        regions: ["eu-west"],
        uptime_score: 1,
        healthy: true,
        port: Number(/\/tcp\/(\d+)\//.exec(ours.address)?.[1])
      })
      assert.closeTo(Date.parse(String(timestamp)), Date.parse(String(last_heard)), 10_000)

      yield* theirs.heartbeat({ healthy: false, uptime_score: 0.4 })
      yield* ours.lists([])
      yield* ours.says(theirs.peerId, { listed: false, reason: "unhealthy", connected: true })
      yield* theirs.heartbeat({ healthy: true, uptime_score: 0.45 })
      yield* ours.lists([theirs.peerId])

      yield* ours.signal("SIGTERM")
      yield* goLists(theirs, [])
      const goodbye = theirs.messages().findLast(({ topic }) => topic === heartbeatTopic)
      assert.deepInclude(JSON.parse(goodbye?.data ?? "{}"), { healthy: false, uptime_score: 1 })
      assert.deepStrictEqual(yield* ours.ending, { code: 0, signal: null })
    })
  )

  it.live("S19 a Go peer between two of ours carries their words", () =>
    Effect.gen(function* () {
      const middle = yield* GoPeer.start(binary)
      // Nobody tells a server that another came behind a Go peer: they meet at the next announcement, here in 6 seconds.
      const behind = {
        args: ["--bootstrap", middle.address],
        env: { ...unreachable, RICOCHET_INTERVALS_SERVICE_ANNOUNCEMENT_MIN: "0.1" }
      }
      const [left, right] = yield* Effect.all([start(behind), start(behind)], { concurrency: 2 })
      yield* meet(middle, left)
      yield* greet(middle, right)
      yield* left.lists([middle.peerId, right.peerId])
      yield* right.lists([middle.peerId, left.peerId])
      yield* goLists(middle, [left.peerId, right.peerId])
      yield* left.says(right.peerId, { listed: true, reason: "available", connected: false })

      yield* left.stop()
      yield* right.lists([middle.peerId])
    })
  )

  it.live("S19 A01 a server of ours between two Go peers carries their words", () =>
    Effect.gen(function* () {
      const middle = yield* start()
      const flags = ["--bootstrap", middle.address, "--external", nowhere]
      const [left, right] = [yield* GoPeer.start(binary, flags), yield* GoPeer.start(binary, flags)]
      yield* meet(left, middle)
      yield* greet(right, middle)
      yield* greet(left, middle)
      yield* middle.lists([left.peerId, right.peerId])
      yield* goLists(left, [middle.peerId, right.peerId])
      yield* goLists(right, [middle.peerId, left.peerId])
      const { connected } = yield* left.peers
      assert.deepStrictEqual(connected, [middle.peerId])
      const relayed = yield* right.message("the announcement of the other Go peer", ({ from }) => from === left.peerId)
      assert.strictEqual(relayed.relay, middle.peerId)

      yield* left.heartbeat({ healthy: false })
      yield* goLists(right, [middle.peerId])
    })
  )

  it.live("S8 S23 A01 a forged message is refused by both, and goes no further", () =>
    Effect.gen(function* () {
      const ours = yield* start({ args: ["--region", "honest"] })
      const theirs = yield* GoPeer.start(binary, ["--bootstrap", ours.address])
      const forger = yield* GoPeer.start(binary, [
        ...["--bootstrap", ours.address],
        ...["--bootstrap", theirs.address],
        ...["--external", nowhere]
      ])
      const behind = yield* start({ args: ["--bootstrap", ours.address], env: unreachable })
      yield* greet(theirs, ours)
      yield* meet(forger, ours)
      yield* Effect.forEach(topics, (topic) => forger.joined(topic, theirs.peerId))
      yield* behind.lists([ours.peerId, theirs.peerId])

      yield* forger.announce({ server_id: theirs.peerId, region: "forged" })
      yield* forger.heartbeat({ server_id: theirs.peerId, healthy: false })
      for (const topic of topics) {
        const rejected = yield* ours.log("rejected message", (line) => line.topic === topic)
        assert.deepInclude(rejected, { level: "WARN", topic, sender: forger.peerId })
        const refused = yield* theirs.message(
          "the refusal of a forged message",
          (message) => message.event === "refused" && message.topic === topic
        )
        assert.strictEqual(refused.from, forger.peerId)
        assert.match(refused.reason ?? "", /^forged/)
      }

      // Words in order behind the forged ones: once they are here, the forged ones would be.
      yield* theirs.heartbeat({ uptime_score: 0.75 })
      const { service } = yield* eventually(
        "the next honest heartbeat is here",
        behind.service(theirs.peerId),
        (detail) => detail.service?.uptime_score === 0.75
      )
      assert.deepInclude(service, { region: "default", healthy: true })
      assert.notInclude(behind.stdout.join("\n"), "rejected message")
      assert.deepInclude((yield* ours.service(forger.peerId)).refused, {
        reason: "forged",
        verdict: "reject",
        count: 2
      })
    })
  )

  it.live("Kademlia of each answers the other's", () =>
    Effect.gen(function* () {
      const ours = yield* start()
      const hidden = yield* start({ args: ["--bootstrap", ours.address] })
      yield* hidden.lists([ours.peerId])
      const theirs = yield* GoPeer.start(binary, ["--bootstrap", ours.address])
      yield* eventually("our server is in the Go peer's routing table", theirs.peers, ({ routing_table }) =>
        routing_table.includes(ours.peerId)
      )
      // Only our server's Kademlia can have told it where the other one is.
      assert.include(yield* theirs.findPeer(hidden.peerId), hidden.address.slice(0, hidden.address.indexOf("/p2p/")))

      const between = yield* GoPeer.start(binary)
      const [left, right] = yield* Effect.all(
        [start({ args: ["--bootstrap", between.address] }), start({ args: ["--bootstrap", between.address] })],
        { concurrency: 2 }
      )
      // Only the Go peer's Kademlia can have told the one of ours where the other is.
      yield* eventually("two of ours meet", left.why(right.peerId), ({ connected }) => connected)
    })
  )

  it.live("message IDs agree: what was sent is not asked for again, and nothing counts twice", () =>
    Effect.gen(function* () {
      const ours = yield* start()
      const other = yield* start({ args: ["--bootstrap", ours.address] })
      // What it publishes goes to all of its neighbours; afterwards it offers them the IDs, for they are in no mesh.
      const theirs = yield* GoPeer.start(binary, [
        ...["--bootstrap", ours.address],
        ...["--bootstrap", other.address],
        "--no-mesh"
      ])
      yield* greet(theirs, ours)
      yield* meet(theirs, other)
      for (const uptime_score of [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]) {
        yield* theirs.heartbeat({ uptime_score })
      }
      for (const server of [ours, other]) {
        yield* eventually(
          "the last heartbeat is here",
          server.service(theirs.peerId),
          (detail) => detail.service?.uptime_score === 0.95
        )
      }
      const { wanted } = yield* eventually("IDs were offered, twice", theirs.counts, ({ offered }) => offered >= 20)
      // A message that is offered the moment it is under way may be asked for.
      assert.isAtMost(wanted, 2)
      for (const server of [ours, other]) assert.isNull((yield* server.service(theirs.peerId)).refused)
      const seen = theirs.messages().map(({ from, data }) => `${from} ${data}`)
      assert.deepStrictEqual(
        seen.filter((message, index) => seen.indexOf(message) !== index),
        []
      )
    })
  )

  it.live(
    "R3 R10 what a Go server of another age sends is taken as it is meant, and a clock that is off is told of",
    () =>
      Effect.gen(function* () {
        const ours = yield* start()
        const theirs = yield* GoPeer.start(binary, ["--bootstrap", ours.address])
        yield* meet(theirs, ours)
        // No healthy, no region, lists that are null, nine fraction digits with an offset, and a key of tomorrow.
        const old = {
          server_id: theirs.peerId,
          capabilities: null,
          max_storage: "512MB",
          retention_policy: "1h30m0s",
          regions: null,
          uptime_score: 1,
          timestamp: `${new Date(Date.now() + 7_200_000).toISOString().slice(0, 19)}.120934871+02:00`,
          port: 55223,
          tomorrow: { is: ["another", "day"] }
        }
        yield* theirs.publish(announceTopic, JSON.stringify(old))
        yield* ours.lists([theirs.peerId])
        assert.deepInclude((yield* ours.service(theirs.peerId)).service, {
          capabilities: [],
          max_storage: "512MB",
          retention_policy: "1h30m0s",
          region: "default",
          regions: [],
          healthy: true
        })

        const timestamp = new Date(Date.now() + 600_000).toISOString()
        yield* theirs.publish(heartbeatTopic, JSON.stringify({ server_id: theirs.peerId, uptime_score: 1, timestamp }))
        const told = yield* ours.log("clock of a server is off")
        assert.deepInclude(told, { level: "WARN", sender: theirs.peerId, reason: "too-far-ahead" })
        // Of two clocks nobody can tell which is right: it doubts its own one too.
        const { clock } = yield* ours.self
        assert.deepInclude(clock, { state: "behind", disagreeing: 1, heard: 1 })
        assert.closeTo(clock.by_seconds, 600, 30)
      })
  )
})
