import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gossip, type Received, type Verdict } from "../../src/gossip/Gossip.ts"
import * as GossipMemory from "../../src/gossip/GossipMemory.ts"
import { sign } from "../../src/gossip/GossipMemorySignature.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

const [a, b, c] = [peerIdOf("a"), peerIdOf("b"), peerIdOf("c")]
const bytes = (text: string) => new TextEncoder().encode(text)
const textOf = (message: Received) => new TextDecoder().decode(message.data)

/** A node on the announce topic that writes down what it hears. */
const listen = Effect.fnUntraced(function* (
  network: GossipMemory.MemoryNetwork,
  peerId: PeerId,
  options: { readonly at?: string; readonly judge?: (text: string) => Verdict } = {}
) {
  const heard: Array<Received> = []
  const gossip = Context.get(yield* Layer.build(network.node(peerId, { at: options.at })), Gossip)
  yield* gossip.join(announceTopic, (message) =>
    Effect.sync(() => {
      heard.push(message)
      return options.judge?.(textOf(message)) ?? "accept"
    })
  )
  return { gossip, heard, texts: () => heard.map(textOf) }
})

const say = (node: { readonly gossip: Gossip["Service"] }, text: string) =>
  Effect.orDie(node.gossip.publish(announceTopic, bytes(text)))

describe("a network in memory", () => {
  it.effect("carries a message after the link's delay, and not a millisecond before", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const [one, two] = [yield* listen(network, a), yield* listen(network, b)]
      yield* network.connect(a, b, { delay: "40 millis" })
      yield* TestClock.adjust("1 second")
      yield* say(one, "hello")
      yield* TestClock.adjust("39 millis")
      assert.deepStrictEqual(two.texts(), [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(two.texts(), ["hello"])
    })
  )

  it.effect("floods: each node hears a message once, whatever circles the links make", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const peers = Array.from({ length: 6 }, (_, index) => peerIdOf(index))
      const nodes = yield* Effect.forEach(peers, (peer) => listen(network, peer))
      for (const [index, peer] of peers.entries()) {
        for (const other of peers.slice(0, index)) yield* network.connect(peer, other)
      }
      yield* TestClock.adjust("1 second")
      const [first, ...rest] = nodes
      assert(first !== undefined)
      yield* say(first, "hello")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(first.texts(), [])
      for (const node of rest) assert.deepStrictEqual(node.texts(), ["hello"])
    })
  )

  it.effect("loses, doubles and reorders as the weather says, the same for the same seed", () =>
    Effect.gen(function* () {
      const play = Effect.fnUntraced(function* (seed: number) {
        const network = yield* GossipMemory.make({ seed })
        const [one, two] = [yield* listen(network, a), yield* listen(network, b)]
        yield* network.connect(a, b, { delay: "5 millis", jitter: "1 second", loss: 0.3, duplication: 0.3 })
        yield* TestClock.adjust("1 second")
        for (let index = 0; index < 100; index++) yield* say(one, String(index))
        yield* TestClock.adjust("2 seconds")
        return two.texts()
      }, Effect.scoped)
      const heard = yield* play(1)
      assert.isAbove(heard.length, 50)
      assert.isBelow(heard.length, 100)
      assert.strictEqual(new Set(heard).size, heard.length)
      assert.notDeepEqual(
        heard,
        heard.toSorted((left, right) => Number(left) - Number(right))
      )
      assert.deepStrictEqual(yield* play(1), heard)
      assert.notDeepEqual(yield* play(2), heard)
    })
  )

  it.effect("keeps the order of a link without jitter", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const [one, two] = [yield* listen(network, a), yield* listen(network, b)]
      yield* network.connect(a, b)
      yield* TestClock.adjust("1 second")
      const texts = Array.from({ length: 50 }, (_, index) => String(index))
      for (const text of texts) yield* say(one, text)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(two.texts(), texts)
    })
  )

  it.effect("A03 knows a message again for two minutes, and judges a replay anew after that", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const one = yield* listen(network, a)
      const signed = sign({ from: b, sequence: 7n, topic: announceTopic, data: bytes("old news") })
      assert.strictEqual(yield* network.inject(c, a, signed), "accept")
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* network.inject(c, a, signed), "seen")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* network.inject(c, a, signed), "accept")
      assert.deepStrictEqual(one.texts(), ["old news", "old news"])
      assert.deepStrictEqual(
        one.heard.map(({ signer, neighbour }) => ({ signer, neighbour })),
        [
          { signer: b, neighbour: c },
          { signer: b, neighbour: c }
        ]
      )
    })
  )

  it.effect("S8 drops what is not signed by its sender, and counts it against who handed it over", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const one = yield* listen(network, a)
      const envelope = { from: b, sequence: 1n, topic: announceTopic, data: bytes("I am b") } as const
      const altered = sign(envelope)
      altered[altered.length - 1] = 0
      assert.strictEqual(yield* network.inject(c, a, sign(envelope, c)), "unsigned")
      assert.strictEqual(yield* network.inject(c, a, altered), "unsigned")
      assert.strictEqual(yield* network.inject(c, a, bytes("garbage")), "unsigned")
      assert.deepStrictEqual(one.texts(), [])
      assert.deepStrictEqual(yield* network.rejects(a), new Map([[c, 3]]))
    })
  )

  it.effect("says what became of a message that no judge saw", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      yield* listen(network, a)
      const beat = sign({ from: b, sequence: 1n, topic: heartbeatTopic, data: bytes("beat") })
      assert.strictEqual(yield* network.inject(c, a, beat), "off-topic")
      assert.strictEqual(yield* network.inject(c, b, beat), "absent")
    })
  )

  it.effect("R2 counts a reject once against the neighbour that forwarded it, an ignore against nobody", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const one = yield* listen(network, a)
      const two = yield* listen(network, b, { judge: (text) => (text === "bad" ? "reject" : "ignore") })
      yield* network.connect(a, b)
      yield* TestClock.adjust("1 second")
      yield* say(one, "bad")
      yield* say(one, "late")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(two.texts(), ["bad", "late"])
      assert.deepStrictEqual(yield* network.rejects(b), new Map([[a, 1]]))
    })
  )

  it.effect("cuts what is on its way when a link is cut or the place is unplugged", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const [one, two] = [yield* listen(network, a), yield* listen(network, b)]
      const cuts = [
        [network.disconnect(a, b), network.connect(a, b)],
        [network.unplug(b), network.plug(b)],
        [network.partition([[a], [b]]), network.heal]
      ] as const
      yield* network.connect(a, b)
      yield* TestClock.adjust("1 second")
      for (const [cut, mend] of cuts) {
        yield* say(one, "lost")
        yield* cut
        assert.deepStrictEqual(yield* one.gossip.topicPeers(announceTopic), [])
        assert.deepStrictEqual(yield* one.gossip.connections, [])
        yield* TestClock.adjust("1 second")
        yield* mend
        yield* TestClock.adjust("1 second")
        yield* say(one, "heard")
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(two.texts(), ["heard", "heard", "heard"])
    })
  )

  it.effect("parts the network into groups, those in none together, and tells everyone when it heals", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const [one, two, three] = [yield* listen(network, a), yield* listen(network, b), yield* listen(network, c)]
      yield* network.connect(a, b)
      yield* network.connect(b, c)
      yield* network.connect(a, c)
      yield* TestClock.adjust("1 second")
      const appearances = yield* one.gossip.appearances
      yield* network.partition([[a]])
      assert.deepStrictEqual(yield* one.gossip.topicPeers(announceTopic), [])
      assert.deepStrictEqual(yield* two.gossip.topicPeers(announceTopic), [c])
      yield* say(two, "without a")
      yield* TestClock.adjust("1 minute")
      yield* network.heal
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(one.texts(), [])
      assert.deepStrictEqual(three.texts(), ["without a"])
      assert.deepStrictEqual(yield* Queue.takeAll(appearances), [
        { topic: announceTopic, peer: b },
        { topic: announceTopic, peer: c }
      ])
    })
  )

  it.effect("keeps what arrives at a held place, in order, until it is released", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const [one, two] = [yield* listen(network, a), yield* listen(network, b)]
      yield* network.connect(a, b)
      yield* TestClock.adjust("1 second")
      yield* network.hold(b)
      yield* say(one, "first")
      yield* say(one, "second")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(two.texts(), [])
      yield* network.release(b)
      assert.deepStrictEqual(two.texts(), ["first", "second"])
    })
  )

  it.effect("hears a node out that leaves with a message on its way", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const two = yield* listen(network, b)
      yield* network.connect(a, b)
      const leaving = Effect.gen(function* () {
        const one = yield* listen(network, a)
        yield* TestClock.adjust("1 second")
        yield* say(one, "goodbye")
      })
      yield* Effect.scoped(leaving)
      assert.deepStrictEqual(yield* two.gossip.topicPeers(announceTopic), [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(two.texts(), ["goodbye"])
    })
  )

  it.effect("takes a judge that dies for an Ignore, and goes on", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const judge = (text: string): Verdict => {
        if (text === "boom") throw new Error("a defect")
        return "accept"
      }
      const one = yield* listen(network, a)
      yield* listen(network, b, { judge })
      const three = yield* listen(network, c)
      yield* network.connect(a, b)
      yield* network.connect(b, c)
      yield* TestClock.adjust("1 second")
      yield* say(one, "boom")
      yield* say(one, "fine")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(three.texts(), ["fine"])
      assert.deepStrictEqual(yield* network.rejects(b), new Map())
    })
  )

  it.effect("tells a listener what each node publishes", () =>
    Effect.gen(function* () {
      const network = yield* GossipMemory.make()
      const spoken: Array<string> = []
      const scope = yield* Scope.make()
      const listener = network.overhear(({ from, data }) => spoken.push(`${from}: ${new TextDecoder().decode(data)}`))
      yield* Scope.provide(listener, scope)
      const [one, two] = [yield* listen(network, a), yield* listen(network, b)]
      yield* network.connect(a, b)
      yield* TestClock.adjust("1 second")
      yield* say(one, "ping")
      yield* say(two, "pong")
      assert.deepStrictEqual(spoken, [`${a}: ping`, `${b}: pong`])
    })
  )
})
