/**
 * A libp2p node that the application makes itself, with a protocol of its own beside discovery: it asks every server
 * that it discovers, and that speaks the protocol, for a greeting.
 *
 *     node ComposedNode.ts [multiaddr of a server]…
 */
import { NodeRuntime } from "@effect/platform-node"
import { generateKeyPair } from "@libp2p/crypto/keys"
import { noise } from "@libp2p/noise"
import { peerIdFromString } from "@libp2p/peer-id"
import { tcp } from "@libp2p/tcp"
import { yamux } from "@libp2p/yamux"
import { Console, Context, Effect, Layer, Option, Stream } from "effect"
import { createLibp2p } from "libp2p"
import {
  type BroughtNode,
  Discovery,
  discoveryServices,
  type PeerId,
  type Server,
  Servers,
  type ServersEvent
} from "ricochet-discovery"

const protocol = "/example/greeting/1.0.0"
const encoder = new TextEncoder()
const decoder = new TextDecoder()

const makeNode = async () => {
  const privateKey = await generateKeyPair("Ed25519")
  const libp2p = await createLibp2p({
    privateKey,
    addresses: { listen: ["/ip4/127.0.0.1/tcp/0"] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: discoveryServices()
  })
  await libp2p.handle(protocol, async (stream) => {
    for await (const word of stream) {
      stream.send(encoder.encode(`${decoder.decode(word.subarray())} from ${libp2p.peerId}`))
    }
    await stream.close()
  })
  return { libp2p, privateKey }
}

const greetingOf = async ({ libp2p }: BroughtNode, serverId: PeerId) => {
  const stream = await libp2p.dialProtocol(peerIdFromString(serverId), protocol)
  stream.send(encoder.encode("hello"))
  for await (const greeting of stream) {
    await stream.close()
    return decoder.decode(greeting.subarray())
  }
  return "not a word"
}

/** The servers that are new to this one. */
const newcomers = (event: ServersEvent): ReadonlyArray<Server> => {
  if (event._tag === "Snapshot") return event.servers
  return event._tag === "Changed" && event.before === undefined ? [event.server] : []
}

const app = Effect.gen(function* () {
  // The node is the application's: discovery lives on it, and the application stops it, once discovery has ended.
  const node = yield* Effect.acquireRelease(Effect.promise(makeNode), ({ libp2p }) =>
    Effect.promise(async () => libp2p.stop())
  )
  yield* Console.log(`this node is at ${node.libp2p.getMultiaddrs()[0]}`)

  const discovery = Discovery.layerServer.pipe(
    Layer.provide([Discovery.layerNetworkBrought(node), Discovery.layerReadiness, Discovery.layerStorageNone]),
    Layer.provide(Discovery.layerConfig({ "server.bootstrap_peers": process.argv.slice(2) }))
  )
  const { changes } = Context.get(yield* Layer.build(discovery), Servers)
  yield* Stream.flatMap(changes, (event) => Stream.fromIterable(newcomers(event))).pipe(
    Stream.mapEffect(({ serverId }) => Effect.option(Effect.tryPromise(() => greetingOf(node, serverId)))),
    Stream.runForEach((greeting) => Option.match(greeting, { onNone: () => Effect.void, onSome: Console.log }))
  )
})

NodeRuntime.runMain(Effect.scoped(app))
