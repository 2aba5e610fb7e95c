/**
 * The signatures of a network in memory: bytes that only open unaltered, and only under the name they were signed for.
 * They stand in for GossipSub's and keep no secret; nothing that faces strangers may use them.
 */
import { Result } from "effect"
import { isPeerId, type PeerId } from "../identity/PeerId.ts"
import { Unverifiable, type Verified } from "./Gossip.ts"
import { topics } from "./Topic.ts"

/** A message and who is said to have signed it. GossipSub's message ID is `from` and `sequence` together. */
export interface Envelope extends Omit<Verified, "signed" | "signer"> {
  /** Whose words it claims to be. */
  readonly from: PeerId
  /** Told apart from the sender's other messages by it, 0 to 2^64 - 1. */
  readonly sequence: bigint
}

// One byte each: version, topic, length of `from`. Then eight of sequence, eight of tag, `from`, and the data.
const version = 1
const fixedBytes = 19
const tagAt = 11

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const writeTag = (bytes: Uint8Array, signer: PeerId): void => {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  const mix = (byte: number) => {
    high = Math.imul(high ^ byte, 2_654_435_761)
    low = Math.imul(low ^ byte, 1_597_334_677)
    high ^= low >>> 15
  }
  for (const byte of encoder.encode(signer)) mix(byte)
  for (let at = 0; at < bytes.length; at++) if (at < tagAt || at >= fixedBytes) mix(bytes[at] ?? 0)
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  view.setUint32(tagAt, high >>> 0)
  view.setUint32(tagAt + 4, low >>> 0)
}

/** The bytes of a message with the tag of `signer`. A signer that is not `from` makes a forgery, which does not open. */
export const sign = (envelope: Envelope, signer: PeerId = envelope.from): Uint8Array => {
  const from = encoder.encode(envelope.from)
  const bytes = new Uint8Array(fixedBytes + from.length + envelope.data.length)
  bytes.set([version, topics.indexOf(envelope.topic), from.length])
  new DataView(bytes.buffer).setBigUint64(3, envelope.sequence)
  bytes.set(from, fixedBytes)
  bytes.set(envelope.data, fixedBytes + from.length)
  writeTag(bytes, signer)
  return bytes
}

/** Opens signed bytes without a look at their tag. Fails on what is no message of anybody. */
export const peek = (signed: Uint8Array): Result.Result<Envelope, Unverifiable> => {
  const dataAt = fixedBytes + (signed[2] ?? 0)
  const topic = topics[signed[1] ?? topics.length]
  if (signed[0] !== version || topic === undefined || signed.length < dataAt) {
    return Result.fail(new Unverifiable({ problem: "not a signed message" }))
  }
  const from = decoder.decode(signed.subarray(fixedBytes, dataAt))
  if (!isPeerId(from)) return Result.fail(new Unverifiable({ problem: "signed by nobody: its signer is no peer ID" }))
  const sequence = new DataView(signed.buffer, signed.byteOffset).getBigUint64(3)
  return Result.succeed({ topic, sequence, data: signed.slice(dataAt), from })
}

/** Opens signed bytes. Fails on what `sign` would not have written for the signer they name. */
export const open = (signed: Uint8Array): Result.Result<Envelope, Unverifiable> =>
  Result.flatMap(peek(signed), (envelope) => {
    const expected = signed.slice()
    writeTag(expected, envelope.from)
    return expected.every((byte, at) => byte === signed[at])
      ? Result.succeed(envelope)
      : Result.fail(new Unverifiable({ problem: `the signature is not that of ${envelope.from}` }))
  })
