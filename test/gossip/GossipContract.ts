/** What every network behind Gossip holds, in memory or live: one suite, called once for each. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Exit, Queue, Scope } from "effect"
import { type Gossip, type Judge, PublishRefused, type Received, Unverifiable } from "../../src/gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

export interface ContractNetwork {
  /** A node with an identity of its own, up until the scope closes. */
  readonly node: Effect.Effect<Gossip["Service"], never, Scope.Scope>
  connect(a: Gossip["Service"], b: Gossip["Service"]): Effect.Effect<void>
  /** Waits until the condition holds: polling where time is real, moving the clock where it is not. Dies when it never does. */
  until(condition: Effect.Effect<boolean>): Effect.Effect<void>
  /** Waits so long that whatever was going to arrive has arrived. */
  readonly settle: Effect.Effect<void>
}

const bytes = (text: string) => new TextEncoder().encode(text)
const textOf = ({ data }: { readonly data: Uint8Array }) => new TextDecoder().decode(data)

/** Joins the announce topic and writes down what is heard. */
const listen = Effect.fnUntraced(function* (gossip: Gossip["Service"], verdict: Effect.Success<ReturnType<Judge>>) {
  const heard: Array<Received> = []
  yield* gossip.join(announceTopic, (message) =>
    Effect.sync(() => {
      heard.push(message)
      return verdict
    })
  )
  return heard
})

export const gossipContract = (
  name: string,
  it: Vitest.Tester<Scope.Scope>,
  makeNetwork: Effect.Effect<ContractNetwork, never, Scope.Scope>
): void => {
  describe(name, () => {
    /** A line of three, all on the announce topic; the one in the middle gives the verdict. */
    const line = Effect.fnUntraced(function* (verdict: "accept" | "ignore" | "reject" = "accept") {
      const network = yield* makeNetwork
      const [a, b, c] = [yield* network.node, yield* network.node, yield* network.node]
      const [heardA, heardB, heardC] = [
        yield* listen(a, "accept"),
        yield* listen(b, verdict),
        yield* listen(c, "accept")
      ]
      yield* network.connect(a, b)
      yield* network.connect(b, c)
      yield* network.until(
        Effect.map(
          Effect.all([a.topicPeers(announceTopic), b.topicPeers(announceTopic), c.topicPeers(announceTopic)]),
          ([ofA, ofB, ofC]) => ofA.length === 1 && ofB.length === 2 && ofC.length === 1
        )
      )
      return { network, a, b, c, heardA, heardB, heardC }
    })

    it("R1 brings a message through a relay, with its signer and the neighbour it came from", () =>
      Effect.gen(function* () {
        const { network, a, b, c, heardA, heardC } = yield* line()
        const { recipients } = yield* a.publish(announceTopic, bytes("hello"))
        assert.strictEqual(recipients, 1)
        yield* network.until(Effect.sync(() => heardC.length > 0))
        yield* network.settle
        assert.deepStrictEqual(
          heardC.map((message) => ({
            topic: message.topic,
            text: textOf(message),
            signer: message.signer,
            neighbour: message.neighbour
          })),
          [{ topic: announceTopic, text: "hello", signer: a.self, neighbour: b.self }]
        )
        assert.deepStrictEqual(heardA, [])
        assert.notStrictEqual(c.self, a.self)
      }))

    for (const verdict of ["ignore", "reject"] as const) {
      it(`R2 does not relay what a node answers with ${verdict}`, () =>
        Effect.gen(function* () {
          const { network, a, heardB, heardC } = yield* line(verdict)
          yield* a.publish(announceTopic, bytes("bad"))
          yield* network.until(Effect.sync(() => heardB.length > 0))
          yield* network.settle
          assert.deepStrictEqual(heardB.map(textOf), ["bad"])
          assert.deepStrictEqual(heardC, [])
        }))
    }

    it("S24 refuses to publish for a node that is alone", () =>
      Effect.gen(function* () {
        const network = yield* makeNetwork
        const alone = yield* network.node
        yield* listen(alone, "accept")
        const refused = yield* Effect.flip(alone.publish(announceTopic, bytes("hello")))
        assert.instanceOf(refused, PublishRefused)
        assert.deepStrictEqual(
          { topic: refused.topic, reason: refused.reason },
          { topic: announceTopic, reason: "no-topic-peers" }
        )
      }))

    it("tells once of each peer that appears on a topic, and lists it", () =>
      Effect.gen(function* () {
        const network = yield* makeNetwork
        const [a, b] = [yield* network.node, yield* network.node]
        yield* listen(a, "accept")
        yield* listen(b, "accept")
        const appearances = yield* a.appearances
        yield* network.connect(a, b)
        yield* network.until(Effect.map(a.topicPeers(announceTopic), (peers) => peers.includes(b.self)))
        yield* network.settle
        assert.deepStrictEqual(yield* Queue.clear(appearances), [{ topic: announceTopic, peer: b.self }])
        assert.deepStrictEqual(yield* a.topicPeers(announceTopic), [b.self])
        assert.deepStrictEqual(yield* a.topicPeers(heartbeatTopic), [])
        assert.deepStrictEqual(
          (yield* a.connections).map(({ peer }) => peer),
          [b.self]
        )
      }))

    it("R15 R21 knows where others can be dialled, whoever dialled, and when they are gone too", () =>
      Effect.gen(function* () {
        const network = yield* makeNetwork
        const [a, scope] = [yield* network.node, yield* Scope.make()]
        const b = yield* Scope.provide(network.node, scope)
        yield* listen(a, "accept")
        yield* listen(b, "accept")
        yield* network.connect(a, b)
        const knows = (one: Gossip["Service"], other: Gossip["Service"]) =>
          Effect.map(one.addressBook, (book) => book.has(other.self))
        yield* network.until(knows(a, b))
        yield* network.until(knows(b, a))
        const told = yield* b.addresses
        assert.deepStrictEqual([...(yield* b.addressBook)], [[a.self, yield* a.addresses]])
        for (const [one, other] of [
          [a, b],
          [b, a]
        ] as const) {
          const { addresses, connections } = { addresses: yield* other.addresses, connections: yield* one.connections }
          for (const { address, direction } of connections) {
            assert.deepStrictEqual(address, direction === "outbound" ? addresses[0] : undefined)
          }
        }
        yield* Scope.close(scope, Exit.void)
        yield* network.until(Effect.map(a.connections, (connections) => connections.length === 0))
        assert.deepStrictEqual([...(yield* a.addressBook)], [[b.self, told]])

        const earlier = { peer: peerIdOf("long gone"), addresses: ["/ip4/192.0.2.1/tcp/1"] }
        yield* a.remember([{ peer: b.self, addresses: ["/ip4/192.0.2.2/tcp/2"] }, earlier])
        assert.deepStrictEqual(
          [...(yield* a.addressBook)],
          [
            [earlier.peer, earlier.addresses],
            [b.self, told]
          ]
        )
      }))

    it("opens a signed message that was handed on, and no other", () =>
      Effect.gen(function* () {
        const { network, a, b, heardC } = yield* line()
        yield* a.publish(announceTopic, bytes("signed words"))
        yield* network.until(Effect.sync(() => heardC.length > 0))
        const signed = heardC[0]?.signed() ?? new Uint8Array()
        const opened = yield* b.verify(signed)
        assert.deepStrictEqual(
          { topic: opened.topic, text: textOf(opened), signer: opened.signer },
          { topic: announceTopic, text: "signed words", signer: a.self }
        )
        assert.deepStrictEqual(opened.signed(), signed)
        for (let at = 0; at < signed.length; at += 7) {
          const altered = signed.slice()
          altered[at] = (altered[at] ?? 0) ^ 0x01
          assert.instanceOf(yield* Effect.flip(b.verify(altered)), Unverifiable, `byte ${at} altered`)
        }
        for (const other of [new Uint8Array(), signed.slice(0, -1), bytes("garbage")]) {
          assert.instanceOf(yield* Effect.flip(b.verify(other)), Unverifiable)
        }
      }))

    it("R12 reads a signed message without a proof, and proves it where it is asked to", () =>
      Effect.gen(function* () {
        const { network, a, b, heardC } = yield* line()
        yield* a.publish(announceTopic, bytes("signed words"))
        yield* network.until(Effect.sync(() => heardC.length > 0))
        const signed = heardC[0]?.signed() ?? new Uint8Array()
        const claim = yield* b.read(signed)
        assert.deepStrictEqual(
          { topic: claim.topic, text: textOf(claim), signer: claim.claimedSigner },
          { topic: announceTopic, text: "signed words", signer: a.self }
        )
        const proven = yield* claim.proof
        assert.deepStrictEqual([proven.signer, textOf(proven), proven.signed()], [a.self, "signed words", signed])

        const at = Buffer.from(signed).indexOf("signed words")
        const altered = Uint8Array.from(signed, (byte, index) => (index === at ? byte ^ 0x20 : byte))
        const claimed = yield* b.read(altered)
        assert.deepStrictEqual([claimed.claimedSigner, textOf(claimed)], [a.self, "Signed words"])
        assert.instanceOf(yield* Effect.flip(claimed.proof), Unverifiable)
        assert.instanceOf(yield* Effect.flip(b.read(bytes("garbage"))), Unverifiable)
      }))

    it("R12 has its own last words at hand, signed, also where nobody was there to hear them", () =>
      Effect.gen(function* () {
        const network = yield* makeNetwork
        const [alone, other] = [yield* network.node, yield* network.node]
        assert.deepStrictEqual(yield* alone.said, [])
        for (const text of ["first", "second"]) yield* Effect.ignore(alone.publish(announceTopic, bytes(text)))
        yield* Effect.ignore(alone.publish(heartbeatTopic, bytes("beat")))
        const said = yield* alone.said
        assert.deepStrictEqual(
          said.map((words) => [words.topic, textOf(words), words.signer]),
          [
            [announceTopic, "second", alone.self],
            [heartbeatTopic, "beat", alone.self]
          ]
        )
        for (const words of said) {
          const { signed, ...opened } = yield* other.verify(words.signed())
          assert.deepStrictEqual(
            [opened.topic, textOf(opened), opened.signer, signed()],
            [words.topic, textOf(words), alone.self, words.signed()]
          )
        }
      }))

    it("leaves a topic when the scope that joined it closes", () =>
      Effect.gen(function* () {
        const network = yield* makeNetwork
        const [a, b] = [yield* network.node, yield* network.node]
        yield* listen(a, "accept")
        const scope = yield* Scope.make()
        const heard = yield* Scope.provide(listen(b, "accept"), scope)
        yield* network.connect(a, b)
        yield* network.until(Effect.map(a.topicPeers(announceTopic), (peers) => peers.length === 1))
        yield* Scope.close(scope, Exit.void)
        yield* network.until(Effect.map(a.topicPeers(announceTopic), (peers) => peers.length === 0))
        yield* Effect.ignore(a.publish(announceTopic, bytes("too late")))
        yield* network.settle
        assert.deepStrictEqual(heard, [])
      }))
  })
}
