import { assert, describe, it } from "@effect/vitest"
import { generateKeyPair, generateKeyPairFromSeed, publicKeyToProtobuf } from "@libp2p/crypto/keys"
import type { Message } from "@libp2p/gossipsub"
import { RPC } from "@libp2p/gossipsub/message"
import type { PrivateKey } from "@libp2p/interface"
import { peerIdFromPrivateKey } from "@libp2p/peer-id"
import { Effect, Result } from "effect"
import { fastMessageId, makeNames, messageId, seal, verify } from "../../src/gossip/GossipLibp2pMessages.ts"
import { announceTopic } from "../../src/gossip/Topic.ts"

const data = new TextEncoder().encode('{"server_id":"…"}')
const keyOf = (byte: number) => generateKeyPairFromSeed("Ed25519", new Uint8Array(32).fill(byte))
const fromOf = (key: PrivateKey) => peerIdFromPrivateKey(key).toMultihash().bytes

interface Forgery {
  readonly from?: PrivateKey
  readonly topic?: string
  readonly withKey?: PrivateKey
  readonly seqno?: Uint8Array
}

/** A message as GossipSub signs it; like one from Go without the key, unless one is given. */
const sign = async (key: PrivateKey, { from = key, topic = announceTopic, withKey, seqno }: Forgery = {}) => {
  const words = { from: fromOf(from), data, seqno: seqno ?? Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 255), topic }
  const signed = Buffer.concat([Buffer.from("libp2p-pubsub:"), RPC.Message.encode(words)])
  const signature = await key.sign(signed)
  return { ...words, signature, ...(withKey === undefined ? {} : { key: publicKeyToProtobuf(withKey.publicKey) }) }
}

const outcome = (signed: Uint8Array) =>
  Effect.map(Effect.result(verify(signed)), (result) =>
    Result.isFailure(result)
      ? result.failure.problem
      : { topic: result.success.topic, data: result.success.data, signer: String(result.success.signer) }
  )

describe("a signed message", () => {
  it.effect("is opened with its key in it or, as Go sends it, without", () =>
    Effect.gen(function* () {
      const key = yield* Effect.promise(() => keyOf(1))
      for (const withKey of [undefined, key]) {
        const signed = RPC.Message.encode(yield* Effect.promise(() => sign(key, { ...(withKey && { withKey }) })))
        assert.deepStrictEqual(yield* outcome(signed), {
          topic: announceTopic,
          data,
          signer: peerIdFromPrivateKey(key).toString()
        })
        assert.strictEqual((yield* verify(signed)).signed(), signed)
      }
    })
  )

  it.effect("may be signed with a key that its peer ID does not hold", () =>
    Effect.gen(function* () {
      const rsa = yield* Effect.promise(() => generateKeyPair("RSA", 2048))
      const signer = peerIdFromPrivateKey(rsa).toString()
      const withKey = RPC.Message.encode(yield* Effect.promise(() => sign(rsa, { withKey: rsa })))
      assert.deepStrictEqual(yield* outcome(withKey), { topic: announceTopic, data, signer })
      const keyless = RPC.Message.encode(yield* Effect.promise(() => sign(rsa)))
      assert.strictEqual(yield* outcome(keyless), "no key that belongs to its signer")
    })
  )

  it.effect("S8 is refused when it names another signer, with the key of either", () =>
    Effect.gen(function* () {
      const [victim, forger] = yield* Effect.promise(() => Promise.all([keyOf(1), keyOf(2)]))
      const forged = (forgery: Forgery) =>
        Effect.flatMap(
          Effect.promise(() => sign(forger, { from: victim, ...forgery })),
          (message) => outcome(RPC.Message.encode(message))
        )
      assert.strictEqual(yield* forged({}), "its signature does not hold")
      assert.strictEqual(yield* forged({ withKey: victim }), "its signature does not hold")
      assert.strictEqual(yield* forged({ withKey: forger }), "no key that belongs to its signer")
    })
  )

  it.effect("is refused without a signature, with another seqno, of another topic, too long, or with more in it", () =>
    Effect.gen(function* () {
      const key = yield* Effect.promise(() => keyOf(1))
      const message = yield* Effect.promise(() => sign(key))
      const { signature, ...unsigned } = message
      const encode = (changed: Partial<RPC.Message>) => RPC.Message.encode(changed)
      assert.strictEqual(yield* outcome(encode(unsigned)), "not signed: from, seqno or signature is missing")
      const short = yield* Effect.promise(() => sign(key, { seqno: Uint8Array.of(1) }))
      assert.strictEqual(yield* outcome(encode(short)), "not signed: from, seqno or signature is missing")
      const elsewhere = yield* Effect.promise(() => sign(key, { topic: "/other" }))
      assert.strictEqual(yield* outcome(encode(elsewhere)), "not of a topic of service discovery")
      assert.strictEqual(
        yield* outcome(encode({ ...message, data: new Uint8Array(9 * 1024) })),
        "9366 bytes are over 9216"
      )
      assert.strictEqual(
        yield* outcome(encode({ ...message, signature: signature.slice(1) })),
        "its signature does not hold"
      )
      const field15 = Uint8Array.of(0x7a, 1, 0)
      assert.strictEqual(yield* outcome(Buffer.concat([encode(message), field15])), "not GossipSub's own encoding")
    })
  )

  it.effect("has the ID that Go computes: its signer's bytes, then its sequence number", () =>
    Effect.gen(function* () {
      const key = yield* Effect.promise(() => keyOf(1))
      const raw = yield* Effect.promise(() => sign(key, { withKey: key }))
      const message: Message = {
        type: "signed",
        from: peerIdFromPrivateKey(key),
        topic: announceTopic,
        data,
        sequenceNumber: 0x00_01_02_03_04_05_06_ffn,
        signature: raw.signature,
        key: key.publicKey
      }
      assert.deepStrictEqual(messageId(message), Buffer.concat([raw.from, raw.seqno]))
      assert.strictEqual(fastMessageId(raw), Buffer.concat([raw.from, raw.seqno]).toString("latin1"))
      const { key: _, ...keyless } = raw
      assert.deepStrictEqual(seal(message), RPC.Message.encode(keyless))
    })
  )

  it.effect("is by a peer whose name is printed once while it is remembered", () =>
    Effect.gen(function* () {
      const peers = yield* Effect.promise(() =>
        Promise.all([1, 2, 3].map(async (n) => peerIdFromPrivateKey(await keyOf(n))))
      )
      let printed = 0
      const counting = peers.map((peer) => ({
        ...peer,
        toMultihash: () => peer.toMultihash(),
        toString: () => {
          printed++
          return peer.toString()
        }
      })) as unknown as typeof peers
      const nameOf = makeNames(2)
      const [first, second, third] = counting
      if (first === undefined || second === undefined || third === undefined) throw new Error("three peers")
      assert.deepStrictEqual([first, first, second, first, third, first].map(nameOf), [
        ...[peers[0], peers[0], peers[1], peers[0], peers[2], peers[0]].map(String)
      ])
      assert.strictEqual(printed, 3)
      nameOf(second)
      assert.strictEqual(printed, 4)
    })
  )
})
