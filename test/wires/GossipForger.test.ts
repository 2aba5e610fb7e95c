import { assert, describe, it } from "@effect/vitest"
import { peerIdFromPrivateKey } from "@libp2p/peer-id"
import { Effect, Result } from "effect"
import type { Received, Verdict } from "../../src/gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { dial, liveNode, until } from "./LiveNodes.ts"
import { anyKey, inject, rawGossip, rawMessage } from "./RawGossip.ts"

const textOf = ({ data }: Received) => new TextDecoder().decode(data)

/** A live node on both topics that writes down what it is asked to judge. */
const listener = Effect.fnUntraced(function* (judge: (message: Received) => Verdict = () => "accept") {
  const node = yield* liveNode()
  const heard: Array<Received> = []
  for (const topic of [announceTopic, heartbeatTopic] as const) {
    yield* node.join(topic, (message) =>
      Effect.sync(() => {
        heard.push(message)
        return judge(message)
      })
    )
  }
  return { node, heard }
})

describe("words of strangers over real GossipSub", () => {
  it.live("S8 A01 are judged under the name of who signed them, whoever relays them", () =>
    Effect.gen(function* () {
      const { node, heard } = yield* listener(({ data, signer }) =>
        new TextDecoder().decode(data).includes(signer) ? "accept" : "reject"
      )
      const behind = yield* listener()
      yield* dial(node, behind.node)
      const forger = yield* rawGossip
      yield* forger.connect(node.address)
      yield* forger.join(announceTopic)
      yield* until(Effect.map(node.topicPeers(announceTopic), (peers) => peers.length === 2))

      yield* forger.say(announceTopic, `I am ${behind.node.self}`)
      yield* forger.say(announceTopic, `I am ${forger.peerId}`)
      yield* until(Effect.sync(() => behind.heard.length > 0))

      assert.deepStrictEqual(
        heard.map((message) => [textOf(message), message.signer, message.neighbour]),
        [
          [`I am ${behind.node.self}`, forger.peerId, forger.peerId],
          [`I am ${forger.peerId}`, forger.peerId, forger.peerId]
        ]
      )
      assert.deepStrictEqual(
        behind.heard.map((message) => [textOf(message), message.signer, message.neighbour]),
        [[`I am ${forger.peerId}`, forger.peerId, node.self]]
      )
    })
  )

  it.live("S8 never reach the judge with another's name and their own signature, or with no signature", () =>
    Effect.gen(function* () {
      const { node, heard } = yield* listener()
      const forger = yield* rawGossip
      yield* forger.connect(node.address)
      yield* forger.join(heartbeatTopic)
      const [key, victim] = yield* Effect.promise(() => Promise.all([anyKey(), anyKey()]))
      const message = (text: string, from = key) =>
        Effect.promise(() => rawMessage(key, { topic: heartbeatTopic, text, from }))
      const forged = yield* message("forged", victim)
      const { signature: _, ...unsigned } = yield* message("unsigned")
      const tampered = { ...(yield* message("tampered")), data: new TextEncoder().encode("changed") }
      yield* inject(forger, [forged, unsigned, tampered, yield* message("honest, and without a key, as Go sends it")])
      yield* until(Effect.sync(() => heard.length > 0))
      assert.deepStrictEqual(
        heard.map((received) => [textOf(received), String(received.signer), String(received.neighbour)]),
        [["honest, and without a key, as Go sends it", peerIdFromPrivateKey(key).toString(), forger.peerId]]
      )
      const signed = heard[0]?.signed() ?? new Uint8Array()
      const opened = yield* node.verify(signed)
      assert.deepStrictEqual(
        [new TextDecoder().decode(opened.data), String(opened.signer), opened.topic],
        ["honest, and without a key, as Go sends it", peerIdFromPrivateKey(key).toString(), heartbeatTopic]
      )
      const altered = signed.slice()
      altered[50] = (altered[50] ?? 0) ^ 1
      assert.isTrue(Result.isFailure(yield* Effect.result(node.verify(altered))))
    })
  )

  it.live("are judged once, however often and by whomever they are handed on", () =>
    Effect.gen(function* () {
      const { node, heard } = yield* listener()
      const key = yield* Effect.promise(anyKey)
      const message = yield* Effect.promise(() => rawMessage(key, { topic: announceTopic, text: "once" }))
      const last = yield* Effect.promise(() => rawMessage(key, { topic: announceTopic, text: "last" }))
      for (const copies of [
        [message, message],
        [message, last]
      ]) {
        const relay = yield* rawGossip
        yield* relay.connect(node.address)
        yield* relay.join(announceTopic)
        yield* inject(relay, copies)
      }
      yield* until(Effect.sync(() => heard.some((received) => textOf(received) === "last")))
      assert.deepStrictEqual(heard.map(textOf), ["once", "last"])
    })
  )

  it.live("are ignored, not feared, where the judge has a bug; the next are judged", () =>
    Effect.gen(function* () {
      const { node, heard } = yield* listener(({ data }) => {
        if (new TextDecoder().decode(data) === "trap") throw new Error("bug")
        return "accept"
      })
      const stranger = yield* rawGossip
      yield* stranger.connect(node.address)
      yield* stranger.join(announceTopic)
      yield* stranger.say(announceTopic, "trap")
      yield* stranger.say(announceTopic, "fine")
      yield* until(Effect.sync(() => heard.length === 2))
      assert.deepStrictEqual(heard.map(textOf), ["trap", "fine"])
      assert.strictEqual((yield* node.topicPeers(announceTopic)).length, 1)
    })
  )
})
