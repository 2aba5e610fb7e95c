/** A libp2p node with bare GossipSub, made by hand: what strangers on the network can do that our publisher does not. */
import { generateKeyPair } from "@libp2p/crypto/keys"
import { type GossipSub, gossipsub } from "@libp2p/gossipsub"
import { RPC } from "@libp2p/gossipsub/message"
import { type Identify, identify } from "@libp2p/identify"
import type { PrivateKey, Stream } from "@libp2p/interface"
import { noise } from "@libp2p/noise"
import { peerIdFromPrivateKey } from "@libp2p/peer-id"
import { type Ping, ping } from "@libp2p/ping"
import { tcp } from "@libp2p/tcp"
import { yamux } from "@libp2p/yamux"
import { multiaddr } from "@multiformats/multiaddr"
import { Effect } from "effect"
import { createLibp2p } from "libp2p"
import type { Topic } from "../../src/gossip/Topic.ts"
import { until } from "./LiveNodes.ts"

type Services = { identify: Identify; ping: Ping; pubsub: GossipSub }

/** A stranger, up until the scope closes. It listens nowhere; it dials. */
export const rawGossip = Effect.gen(function* () {
  const libp2p = yield* Effect.acquireRelease(
    Effect.promise(() =>
      createLibp2p<Services>({
        transports: [tcp()],
        connectionEncrypters: [noise()],
        streamMuxers: [yamux()],
        services: {
          identify: identify(),
          ping: ping(),
          pubsub: gossipsub({ scoreParams: { IPColocationFactorWeight: 0 } })
        }
      })
    ),
    (node) => Effect.promise(async () => node.stop())
  )
  const { pubsub } = libp2p.services
  const heard: Array<string> = []
  pubsub.addEventListener("message", ({ detail }) => heard.push(new TextDecoder().decode(detail.data)))
  return {
    peerId: libp2p.peerId.toString(),
    heard,
    libp2p,
    connect: (address: string) => Effect.promise(() => libp2p.dial(multiaddr(address))),
    /** Joins, and waits until the other side is there. */
    join: Effect.fnUntraced(function* (topic: Topic) {
      pubsub.subscribe(topic)
      yield* until(Effect.sync(() => pubsub.getSubscribers(topic).length > 0))
    }),
    say: (topic: Topic, text: string) => Effect.promise(() => pubsub.publish(topic, new TextEncoder().encode(text)))
  }
})

export type RawGossip = Effect.Success<typeof rawGossip>

let sequence = BigInt(Date.now()) * 1_000_000n

export interface RawMessage {
  readonly topic: Topic
  readonly text: string
  /** Whose words they are said to be. Default: the signer's. */
  readonly from?: PrivateKey
}

/** A message signed by a key, as bytes of GossipSub's own encoding. */
export const rawMessage = async (key: PrivateKey, { topic, text, from = key }: RawMessage): Promise<RPC.Message> => {
  const seqno = Buffer.alloc(8)
  seqno.writeBigUInt64BE(sequence++)
  const words = {
    from: peerIdFromPrivateKey(from).toMultihash().bytes,
    data: new TextEncoder().encode(text),
    seqno,
    topic
  }
  const signature = await key.sign(Buffer.concat([Buffer.from("libp2p-pubsub:"), RPC.Message.encode(words)]))
  return { ...words, signature }
}

export const anyKey = (): Promise<PrivateKey> => generateKeyPair("Ed25519")

const varint = (length: number): Buffer => {
  const bytes: Array<number> = []
  for (let rest = length; ; rest >>>= 7) {
    bytes.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80)
    if (rest < 0x80) return Buffer.from(bytes)
  }
}

/** Opens a GossipSub stream beside the node's own and hands over messages on it, as a neighbour that relays would. */
export const inject = (node: RawGossip, messages: ReadonlyArray<RPC.Message>): Effect.Effect<Stream> =>
  Effect.promise(async () => {
    const [connection] = node.libp2p.getConnections()
    if (connection === undefined) throw new Error("not connected")
    const stream = await connection.newStream("/meshsub/1.1.0")
    for (const message of messages) {
      const rpc = RPC.encode({ subscriptions: [], messages: [message] })
      if (!stream.send(Buffer.concat([varint(rpc.byteLength), rpc]))) await stream.onDrain()
    }
    return stream
  })
