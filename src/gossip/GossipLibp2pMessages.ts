/**
 * GossipSub messages as bytes: their IDs, how a signed one is kept and opened again, and the names of their signers.
 * The bytes are those that servers written in Go speak.
 */
import { subtle, type webcrypto } from "node:crypto"
import { publicKeyFromProtobuf, publicKeyToProtobuf } from "@libp2p/crypto/keys"
import type { Message, SignedMessage } from "@libp2p/gossipsub"
import { RPC } from "@libp2p/gossipsub/message"
import type { PeerId as Libp2pPeerId, PrivateKey, PublicKey } from "@libp2p/interface"
import { peerIdFromMultihash } from "@libp2p/peer-id"
import { Effect } from "effect"
import { decode as decodeDigest } from "multiformats/hashes/digest"
import { fromCanonical, type PeerId } from "../identity/PeerId.ts"
import { type Claim, Unverifiable, type Verified } from "./Gossip.ts"
import { type Topic, topics } from "./Topic.ts"

const signPrefix = new TextEncoder().encode("libp2p-pubsub:")

const seqnoBytes = (sequenceNumber: bigint) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(sequenceNumber)
  return bytes
}

/** `from`, then the sequence number, as Go computes it: with other IDs a mixed mesh would punish honest peers. */
export const messageId = (message: Message): Uint8Array =>
  message.type === "signed"
    ? Buffer.concat([message.from.toMultihash().bytes, seqnoBytes(message.sequenceNumber)])
    : new Uint8Array()

const latin1 = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? "" : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")

/** The same ID from a message that is not yet verified, so that a copy costs no second signature check. */
export const fastMessageId = (message: RPC.Message): string => latin1(message.from) + latin1(message.seqno)

/**
 * A message in GossipSub's own encoding. As Go sends it: without a key that `from` already holds, which every Ed25519
 * one does. In bytes of its own, because it is kept for long: the encoder's share 8 KiB with all that was encoded
 * beside it, and would keep that too.
 */
export const seal = (message: SignedMessage): Uint8Array =>
  new Uint8Array(
    RPC.Message.encode({
      from: message.from.toMultihash().bytes,
      data: message.data,
      seqno: seqnoBytes(message.sequenceNumber),
      topic: message.topic,
      signature: message.signature,
      ...(message.from.publicKey === undefined ? { key: publicKeyToProtobuf(message.key) } : {})
    })
  )

/** Longest signed message that is opened: 8 KiB of payload, and what GossipSub adds. */
const maxSignedBytes = 9 * 1024

/** A signer, and the key its signatures are verified with, made when the first is. */
interface Signer {
  readonly peer: Libp2pPeerId
  readonly name: PeerId
  ed25519: Promise<webcrypto.CryptoKey> | undefined
}

/** Signers known again. In a directory the messages of one server stand side by side. */
const keptSigners = 256
const signers = new Map<string, Signer>()

const signerOf = (from: Uint8Array): Signer => {
  const bytes = latin1(from)
  const known = signers.get(bytes)
  if (known !== undefined) return known
  const peer = peerIdFromMultihash(decodeDigest(from))
  const signer: Signer = { peer, name: fromCanonical(peer.toString()), ed25519: undefined }
  signers.set(bytes, signer)
  const oldest = signers.size > keptSigners ? signers.keys().next().value : undefined
  if (oldest !== undefined) signers.delete(oldest)
  return signer
}

/** Ed25519 is verified on the thread pool, so that a long list of messages does not stop the event loop. */
const holds = async (signer: Signer, key: PublicKey, data: Uint8Array, signature: Uint8Array): Promise<boolean> => {
  if (key.type !== "Ed25519") return key.verify(data, signature)
  signer.ed25519 ??= subtle.importKey("raw", key.raw, "Ed25519", false, ["verify"])
  return subtle.verify("Ed25519", await signer.ed25519, signature, data)
}

const unverifiable = (cause: unknown) =>
  new Unverifiable({ problem: cause instanceof Error ? cause.message.slice(0, 200) : "unreadable message" })

const open = (signed: Uint8Array): Claim => {
  if (signed.byteLength > maxSignedBytes) throw new Error(`${signed.byteLength} bytes are over ${maxSignedBytes}`)
  const message = RPC.Message.decode(signed)
  // The decoder passes over what it does not know; bytes that say more or other than the message are not passed on.
  if (!Buffer.from(RPC.Message.encode(message)).equals(signed)) throw new Error("not GossipSub's own encoding")
  const { from, seqno, signature, data = new Uint8Array() } = message
  const topic = topics.find((one) => one === message.topic)
  if (topic === undefined) throw new Error("not of a topic of service discovery")
  if (from === undefined || seqno?.byteLength !== 8 || signature === undefined) {
    throw new Error("not signed: from, seqno or signature is missing")
  }
  const signer = signerOf(from)
  const prove = async (): Promise<Verified> => {
    const key = message.key === undefined ? signer.peer.publicKey : publicKeyFromProtobuf(message.key)
    if (key === undefined || !signer.peer.equals(key.toMultihash().bytes)) {
      throw new Error("no key that belongs to its signer")
    }
    const words = Buffer.concat([signPrefix, RPC.Message.encode({ from, data, seqno, topic })])
    if (!(await holds(signer, key, words, signature))) throw new Error("its signature does not hold")
    return { topic, data, signer: signer.name, signed: () => signed }
  }
  return { topic, data, claimedSigner: signer.name, proof: Effect.tryPromise({ try: prove, catch: unverifiable }) }
}

/** Opens a message, with the key in it or, as Go sends it, without. Its signature is verified where it is asked for. */
export const read = (signed: Uint8Array): Effect.Effect<Claim, Unverifiable> =>
  Effect.try({ try: () => open(signed), catch: unverifiable })

/** Opens a message as StrictSign does. */
export const verify = (signed: Uint8Array): Effect.Effect<Verified, Unverifiable> =>
  Effect.flatMap(read(signed), ({ proof }) => proof)

/**
 * A message signed as GossipSub would, for those who are handed it another way. Its sequence number is 0: where anybody
 * feeds it to a topic after all, it is behind all that this server has published there.
 */
export const sign = async (key: PrivateKey, topic: Topic, data: Uint8Array): Promise<Uint8Array> => {
  const words = { from: key.publicKey.toMultihash().bytes, data, seqno: seqnoBytes(0n), topic }
  const signature = await key.sign(Buffer.concat([signPrefix, RPC.Message.encode(words)]))
  return RPC.Message.encode({ ...words, signature })
}

/** Peer IDs as text: printing one costs more than parsing a message, and the same few speak all the time. */
export const makeNames = (limit: number): ((peer: Libp2pPeerId) => PeerId) => {
  const names = new Map<string, PeerId>()
  return (peer) => {
    const bytes = latin1(peer.toMultihash().bytes)
    const known = names.get(bytes)
    const name = known ?? fromCanonical(peer.toString())
    names.delete(bytes)
    names.set(bytes, name)
    const oldest = names.size > limit ? names.keys().next().value : undefined
    if (oldest !== undefined) names.delete(oldest)
    return name
  }
}
