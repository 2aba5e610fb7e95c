/**
 * The other process of the end-to-end benchmark: a libp2p node that signs messages of many servers beforehand and then
 * sends them, one a frame, as fast as its connection takes them. Told what to do by its parent process.
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { gossipsub } from "@libp2p/gossipsub"
import { RPC } from "@libp2p/gossipsub/message"
import { identify } from "@libp2p/identify"
import { noise } from "@libp2p/noise"
import { tcp } from "@libp2p/tcp"
import { yamux } from "@libp2p/yamux"
import { multiaddr } from "@multiformats/multiaddr"
import { createLibp2p } from "libp2p"
import { base58btc } from "multiformats/bases/base58"
import { announceTopic, heartbeatTopic, topics } from "../../src/gossip/Topic.ts"
import { fromCanonical } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../../src/registry/Wire.ts"

export type Order =
  | { readonly order: "meet"; readonly addresses: ReadonlyArray<string> }
  | { readonly order: "sign"; readonly kind: "announcement" | "heartbeat" }
  /** Sends what was signed last to the receiver of that index: all of it, or the part of these bounds. */
  | { readonly order: "send"; readonly receiver: number; readonly part?: readonly [from: number, to: number] }
export type Done = { readonly done: Order["order"]; readonly payloadBytes: number }

const servers = Number(process.argv[2])

interface Signer {
  readonly key: KeyObject
  readonly from: Uint8Array
}

/** A peer ID of an Ed25519 key: the identity multihash of the key as libp2p encodes it. */
const makeSigner = (): Signer => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32)
  return { key: privateKey, from: Buffer.concat([Uint8Array.of(0x00, 0x24, 0x08, 0x01, 0x12, 0x20), raw]) }
}

const prefix = Buffer.from("libp2p-pubsub:")
let seqno = BigInt(Date.now()) * 1_000_000n

const frame = ({ from, key }: Signer, topic: string, data: Uint8Array): Uint8Array => {
  const number = Buffer.alloc(8)
  number.writeBigUInt64BE(++seqno)
  const words = { from, data, seqno: number, topic }
  const signature = sign(null, Buffer.concat([prefix, RPC.Message.encode(words)]), key)
  return RPC.encode({ subscriptions: [], messages: [{ ...words, signature }] })
}

const wordsOf = ({ from }: Signer): Announcement => ({
  serverId: fromCanonical(base58btc.baseEncode(from)),
  capabilities: ["store-and-forward", "mailbox", "document-sync"],
  maxStorage: "10GB",
  retentionPolicy: "720h0m0s",
  region: "eu-west",
  regions: ["eu-west"],
  uptimeScore: 1,
  healthy: true,
  timestamp: BigInt(Date.now()) * 1_000_000n,
  port: 55_223
})

interface Streams {
  readonly streamsOutbound: ReadonlyMap<string, { push(frame: Uint8Array): void }>
}

const signers = Array.from({ length: servers }, makeSigner)
const node = await createLibp2p({
  addresses: { listen: [] },
  transports: [tcp()],
  connectionEncrypters: [noise()],
  streamMuxers: [yamux()],
  // Whoever is flooded answers a ping late.
  connectionMonitor: { enabled: false },
  services: {
    identify: identify(),
    mesh: gossipsub({ allowedTopics: [...topics], scoreParams: { IPColocationFactorWeight: 0 } })
  }
})
const { streamsOutbound } = node.services.mesh as unknown as Streams
let receivers: ReadonlyArray<string> = []
let frames: ReadonlyArray<Uint8Array> = []
let payloadBytes = 0

const streamTo = async (peer: string) => {
  for (;;) {
    const stream = streamsOutbound.get(peer)
    if (stream !== undefined) return stream
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

process.on("message", async (order: Order) => {
  switch (order.order) {
    case "meet": {
      for (const address of order.addresses) await node.dial(multiaddr(address))
      receivers = order.addresses.map((address) => address.slice(address.lastIndexOf("/") + 1))
      for (const receiver of receivers) await streamTo(receiver)
      break
    }
    case "sign": {
      const isAnnouncement = order.kind === "announcement"
      frames = signers.map((signer) => {
        const data = (isAnnouncement ? encodeAnnouncement : encodeHeartbeat)(wordsOf(signer))
        payloadBytes = data.byteLength
        return frame(signer, isAnnouncement ? announceTopic : heartbeatTopic, data)
      })
      break
    }
    case "send": {
      const stream = await streamTo(receivers[order.receiver] ?? "")
      for (const one of frames.slice(...(order.part ?? []))) stream.push(one)
    }
  }
  process.send?.({ done: order.order, payloadBytes } satisfies Done)
})
process.on("disconnect", () => process.exit(0))
