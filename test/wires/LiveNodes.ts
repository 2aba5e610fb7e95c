/** Live nodes in this process, on loopback sockets: how the tests of the wires make, join and watch them. */
import { randomBytes, randomUUID } from "node:crypto"
import { createServer } from "node:net"
import { generateKeyPairFromSeed } from "@libp2p/crypto/keys"
import { peerIdFromPrivateKey } from "@libp2p/peer-id"
import { multiaddr } from "@multiformats/multiaddr"
import { Clock, Context, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { Settings, type SettingsShape } from "../../src/config/Settings.ts"
import { Connectivity } from "../../src/gossip/Connectivity.ts"
import { Gossip } from "../../src/gossip/Gossip.ts"
import * as GossipLibp2p from "../../src/gossip/GossipLibp2p.ts"
import { Libp2pNode } from "../../src/gossip/GossipLibp2pNode.ts"
import { Streams } from "../../src/gossip/Streams.ts"
import { announceTopic } from "../../src/gossip/Topic.ts"
import { Identity } from "../../src/identity/Identity.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"

export interface LiveOptions {
  readonly seedHex?: string
  readonly listen?: ReadonlyArray<string>
  readonly bootstrapPeers?: ReadonlyArray<string>
  readonly trustedPeers?: ReadonlyArray<string>
  readonly externalAddresses?: ReadonlyArray<string>
  readonly mdns?: boolean
  readonly maxConnections?: number
}

export const anySeed = (): string => randomBytes(32).toString("hex")

export const settingsOf = (options: LiveOptions): SettingsShape => {
  const defaults = VirtualSettings.make({})
  return {
    ...defaults,
    server: {
      ...defaults.server,
      listenAddresses: options.listen ?? ["/ip4/127.0.0.1/tcp/0"],
      bootstrapPeers: options.bootstrapPeers ?? [],
      externalAddresses: options.externalAddresses ?? []
    },
    performance: { maxConcurrentConnections: options.maxConnections ?? defaults.performance.maxConcurrentConnections },
    features: { ...defaults.features, enableAuthentication: options.trustedPeers !== undefined },
    discovery: { ...defaults.discovery, mdns: options.mdns ?? false },
    security: { trustedPeers: options.trustedPeers ?? [] },
    seedHex: Redacted.make(options.seedHex ?? anySeed())
  }
}

/** The layer of a live node with an identity of its own. */
export const layerOf = (options: LiveOptions = {}) =>
  GossipLibp2p.layerWithNode.pipe(
    Layer.provideMerge(Identity.layer),
    Layer.provide(Layer.succeed(Settings, Settings.of(settingsOf(options))))
  )

export interface LiveNode extends Context.Service.Shape<typeof Gossip> {
  readonly libp2p: Context.Service.Shape<typeof Libp2pNode>["libp2p"]
  readonly listen: Context.Service.Shape<typeof Libp2pNode>["listen"]
  readonly nearby: EventTarget
  readonly streams: Context.Service.Shape<typeof Streams>
  readonly connectivity: Context.Service.Shape<typeof Connectivity>
  /** One of its addresses, with its peer ID. */
  readonly address: string
}

/** A live node, up until the scope closes. A start that fails is a bug of the test. */
export const liveNode = Effect.fnUntraced(function* (
  options: LiveOptions = {}
): Effect.fn.Return<LiveNode, never, Scope.Scope> {
  const context = yield* Effect.orDie(Layer.build(layerOf(options)))
  const gossip = Context.get(context, Gossip)
  const { libp2p, listen, nearby } = Context.get(context, Libp2pNode)
  const [address = ""] = yield* gossip.addresses
  const [streams, connectivity] = [Context.get(context, Streams), Context.get(context, Connectivity)]
  return { ...gossip, libp2p, listen, nearby, streams, connectivity, address }
})

/** A live node on the announce topic that takes whatever it hears for good, and writes it down. */
export const onTopic = Effect.fnUntraced(function* (options: LiveOptions = {}) {
  const node = yield* liveNode(options)
  const heard: Array<string> = []
  yield* node.join(announceTopic, ({ data }) =>
    Effect.sync(() => {
      heard.push(new TextDecoder().decode(data))
      return "accept"
    })
  )
  return { node, heard }
})

export type OnTopic = Effect.Success<ReturnType<typeof onTopic>>

/** Waits until words of each come to the other, said again while they do not. */
export const untilTheyHear = (a: OnTopic, b: OnTopic, withinMillis?: number): Effect.Effect<void> => {
  const word = randomUUID()
  const say = ({ node }: OnTopic) => Effect.ignore(node.publish(announceTopic, new TextEncoder().encode(word)))
  const attempt = Effect.andThen(Effect.andThen(say(a), say(b)), Effect.sleep("50 millis"))
  return until(
    Effect.map(attempt, () => a.heard.includes(word) && b.heard.includes(word)),
    withinMillis
  )
}

/** The peer ID that a seed makes. */
export const peerIdOfSeed = (seedHex: string): Effect.Effect<string> =>
  Effect.promise(async () =>
    peerIdFromPrivateKey(await generateKeyPairFromSeed("Ed25519", Buffer.from(seedHex, "hex"))).toString()
  )

/** A free port, and the address a node with this seed has on it. */
export const addressAhead = Effect.fnUntraced(function* (seedHex: string) {
  const port = yield* Effect.promise(
    () =>
      new Promise<number>((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => {
          const address = server.address()
          server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
        })
      })
  )
  const listen = `/ip4/127.0.0.1/tcp/${port}`
  return { port, listen, address: `${listen}/p2p/${yield* peerIdOfSeed(seedHex)}` }
})

/** Opens one connection, as a bootstrap address would. */
export const dial = (from: LiveNode, to: LiveNode): Effect.Effect<void> =>
  Effect.promise(() => from.libp2p.dial(multiaddr(to.address)))

/** Polls until the condition holds, and dies when it does not within the time. */
export const until = (condition: Effect.Effect<boolean>, withinMillis = 40_000): Effect.Effect<void> =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    yield* condition.pipe(
      Effect.repeat({
        until: (holds) => holds,
        schedule: Schedule.spaced("10 millis")
      }),
      Effect.timeoutOrElse({
        duration: withinMillis,
        orElse: () => Effect.die(new Error(`it did not come to that within ${withinMillis} ms of ${start}`))
      }),
      Effect.asVoid
    )
  })
