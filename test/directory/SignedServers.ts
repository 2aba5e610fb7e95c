/** Servers that exist only as what they signed: real Ed25519 keys, messages as GossipSub signs them. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { RPC } from "@libp2p/gossipsub/message"
import { base58btc } from "multiformats/bases/base58"
import { announceTopic, heartbeatTopic, type Topic } from "../../src/gossip/Topic.ts"
import { fromCanonical, type PeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import * as VirtualWords from "../../src/testing/VirtualWords.ts"

export interface SignedServer {
  readonly peerId: PeerId
  announcement(timestamp: bigint, words?: Partial<Announcement>): Signed
  heartbeat(timestamp: bigint, words?: Partial<Heartbeat>): Signed
  sign(topic: Topic, data: Uint8Array): Signed
}

/** One message: the payload, and the whole of it as its server signed it. */
export interface Signed {
  readonly topic: Topic
  readonly data: Uint8Array
  readonly signer: PeerId
  readonly signed: () => Uint8Array
}

const prefix = Buffer.from("libp2p-pubsub:")
let seqno = 1n

const signWith = (key: KeyObject, from: Uint8Array, topic: Topic, data: Uint8Array): Uint8Array => {
  const number = Buffer.alloc(8)
  number.writeBigUInt64BE(seqno++)
  const words = { from, data, seqno: number, topic }
  return RPC.Message.encode({
    ...words,
    signature: sign(null, Buffer.concat([prefix, RPC.Message.encode(words)]), key)
  })
}

/** A server with a new key. Its peer ID is the identity multihash of the key as libp2p encodes it. */
export const make = (): SignedServer => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32)
  const from = Buffer.concat([Uint8Array.of(0x00, 0x24, 0x08, 0x01, 0x12, 0x20), raw])
  const serverId = fromCanonical(base58btc.baseEncode(from))
  const signed = (topic: Topic, data: Uint8Array): Signed => {
    const bytes = signWith(privateKey, from, topic, data)
    return { topic, data, signer: serverId, signed: () => bytes }
  }
  return {
    peerId: serverId,
    announcement: (timestamp, words) =>
      signed(announceTopic, VirtualWords.announcement({ serverId, timestamp, ...words })),
    heartbeat: (timestamp, words) => signed(heartbeatTopic, VirtualWords.heartbeat({ serverId, timestamp, ...words })),
    sign: signed
  }
}
