/** Neighbours on a virtual network that speak the directory protocol by hand: well, badly, or not at all. */
import { Context, Effect, Layer, type Scope } from "effect"
import * as Bounds from "../../src/directory/Bounds.ts"
import { prefixOf } from "../../src/directory/Frames.ts"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { sign } from "../../src/gossip/GossipMemorySignature.ts"
import { type ByteStream, type StreamBroken, Streams } from "../../src/gossip/Streams.ts"
import { announceTopic, heartbeatTopic, topics } from "../../src/gossip/Topic.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import { peerIdOf, type VirtualNetwork, type VirtualServer, VirtualWords } from "../../src/testing.ts"

export const framed = (...messages: ReadonlyArray<Uint8Array>): Uint8Array =>
  Buffer.concat(messages.flatMap((message) => [prefixOf(message), message]))

/** The question of who knows nothing. */
export const everything = framed(new Uint8Array(16))

type Serve = (stream: ByteStream) => Effect.Effect<void, StreamBroken>

export interface Neighbour {
  readonly peerId: PeerId
  readonly streams: Streams["Service"]
}

/** A neighbour of a server, on both topics, that answers what it is asked as it likes, or speaks no protocol. */
export const neighbour = Effect.fnUntraced(function* (
  network: VirtualNetwork,
  name: string,
  to: VirtualServer,
  serve?: Serve
): Effect.fn.Return<Neighbour, never, Scope.Scope> {
  const peerId = peerIdOf(name)
  const context = yield* Layer.build(network.memory.node(peerId, { at: name }))
  const [gossip, streams] = [Context.get(context, Gossip), Context.get(context, Streams)]
  if (serve !== undefined) yield* streams.handle(Bounds.protocol, serve)
  for (const topic of topics) yield* gossip.join(topic, () => Effect.succeed("accept"))
  yield* network.connect(name, to)
  return { peerId, streams }
})

/** Reads the question, then writes these bytes in pieces of at most 64 KiB, and ends. */
export const saying =
  (bytes: Uint8Array): Serve =>
  (stream) =>
    Effect.gen(function* () {
      yield* readAll(stream)
      for (let from = 0; from < bytes.length; from += 65_536) yield* stream.write(bytes.subarray(from, from + 65_536))
    })

export const readAll = Effect.fnUntraced(function* (stream: ByteStream) {
  const pieces: Array<Uint8Array> = []
  for (let piece = yield* stream.read; piece !== undefined; piece = yield* stream.read) pieces.push(piece)
  return Buffer.concat(pieces)
})

/** Asks a server as a neighbour, and gives all the bytes it answers with. */
export const ask = (from: Neighbour, to: VirtualServer, question: Uint8Array = everything) =>
  Effect.scoped(
    Effect.gen(function* () {
      const stream = yield* from.streams.open(to.peerId, Bounds.protocol)
      yield* stream.write(question)
      yield* stream.end
      return yield* readAll(stream)
    })
  )

let sequence = 1_000n

/** Messages of servers that are nowhere, as they would be signed there. `signer` is who signs them in fact. */
export const announced = (
  name: string | number,
  timestamp: bigint,
  words: Parameters<typeof VirtualWords.announcement>[0] | object = {},
  signer?: PeerId
): Uint8Array => {
  const serverId = peerIdOf(name)
  const data = VirtualWords.announcement({ serverId, timestamp, ...words })
  return sign({ from: serverId, sequence: sequence++, topic: announceTopic, data }, signer ?? serverId)
}

export const beaten = (name: string | number, timestamp: bigint, healthy = true): Uint8Array => {
  const serverId = peerIdOf(name)
  const data = VirtualWords.heartbeat({ serverId, timestamp, healthy })
  return sign({ from: serverId, sequence: sequence++, topic: heartbeatTopic, data }, serverId)
}
