import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { generateKeyPair } from "@libp2p/crypto/keys"
import { transportSymbol } from "@libp2p/interface"
import { noise } from "@libp2p/noise"
import { peerIdFromString } from "@libp2p/peer-id"
import { tcp } from "@libp2p/tcp"
import { yamux } from "@libp2p/yamux"
import { Context, Duration, Effect, Layer, Logger, Metric, type Scope, Stream } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createLibp2p, type ServiceFactoryMap } from "libp2p"
import {
  Announcer,
  Database,
  Discovery,
  type DiscoveryConfig,
  discoveryServices,
  ExtraServices,
  type ExtraTransport,
  ExtraTransports,
  Gossip,
  GossipNode,
  OpsServer,
  Readiness,
  type Server,
  Servers,
  type ServersEvent
} from "../../../src/index.ts"
import { peerIdOf } from "../../../src/testing/VirtualPeerId.ts"
import { eventually } from "../../process/Eventually.ts"
import { make as makePostgres } from "../../storage/PostgresServer.ts"

const temporaryDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "ricochet-composed-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

const onLoopback = { "server.listen_addresses": ["/ip4/127.0.0.1/tcp/0"] }

/** With a scope of its own, and no log. */
const quietly = <A, E>(test: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  test.pipe(Effect.scoped, Effect.provide(Logger.layer([])))

/** A server without a database, in the scope. */
const light = Effect.fnUntraced(function* (config: DiscoveryConfig = {}) {
  const directory = yield* temporaryDirectory
  const layer = Discovery.layerServer.pipe(
    Layer.provideMerge(Layer.mergeAll(Discovery.layerNetwork, Discovery.layerReadiness, Discovery.layerStorageNone)),
    Layer.provideMerge(Discovery.layerIdentity),
    Layer.provide(Discovery.layerConfig({ ...onLoopback, "storage.data_directory": directory, ...config }))
  )
  return yield* Layer.build(layer)
})

const addresses = (context: Context.Context<Gossip>) => Context.get(context, Gossip).addresses

const serversOf = (event: ServersEvent): ReadonlyArray<Server> =>
  event._tag === "Snapshot" ? event.servers : event._tag === "Changed" ? [event.server] : []

/** Waits until the server knows another, and gives it. */
const firstKnown = (context: Context.Context<Servers>) =>
  Context.get(context, Servers).changes.pipe(
    Stream.flatMap((event) => Stream.fromIterable(serversOf(event))),
    Stream.runHead,
    Effect.flatMap(Effect.fromOption)
  )

const makeNode = (services: ServiceFactoryMap = {}) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const privateKey = await generateKeyPair("Ed25519")
      const libp2p = await createLibp2p({
        privateKey,
        addresses: { listen: ["/ip4/127.0.0.1/tcp/0"] },
        transports: [tcp()],
        connectionEncrypters: [noise()],
        streamMuxers: [yamux()],
        services: { ...discoveryServices({ otherTopics: ["/news"] }), ...services }
      })
      return { libp2p, privateKey }
    }),
    ({ libp2p }) => Effect.promise(async () => libp2p.stop())
  )

type Node = Effect.Success<ReturnType<typeof makeNode>>

const brought = (node: Node, config: DiscoveryConfig = {}) =>
  Discovery.layerServer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(Discovery.layerNetworkBrought(node), Discovery.layerReadiness, Discovery.layerStorageNone)
    ),
    Layer.provide(Discovery.layerConfig(config))
  )

const echo = "/echo/1.0.0"

/** What a node answers on the protocol. */
const askEcho = async (libp2p: Pick<Node["libp2p"], "dialProtocol">, server: string, word: string) => {
  const stream = await libp2p.dialProtocol(peerIdFromString(server), echo)
  stream.send(new TextEncoder().encode(word))
  for await (const answer of stream) {
    await stream.close()
    return new TextDecoder().decode(answer.subarray())
  }
  return undefined
}

const serveEcho = (libp2p: Pick<Node["libp2p"], "handle">) =>
  Effect.promise(async () =>
    libp2p.handle(echo, async (stream) => {
      for await (const word of stream) stream.send(word)
      await stream.close()
    })
  )

describe("the metrics of a server", () => {
  const build = Effect.map(Layer.build(Layer.fresh(Discovery.layerMetrics)), Context.get(Metric.MetricRegistry))

  it.effect("are its own, in the registry that the application provides where it does", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* build, yield* build]
      const ofAll = yield* Metric.MetricRegistry
      assert.strictEqual(new Set([first, second, ofAll]).size, 3)
      const exported: Metric.MetricRegistry = new Map()
      assert.strictEqual(yield* Effect.provideService(build, Metric.MetricRegistry, exported), exported)
    }).pipe(Effect.scoped)
  )
})

describe("a libp2p node that an application brings", () => {
  it.live("carries discovery beside protocols and topics of its own, and is not stopped with it", () =>
    Effect.gen(function* () {
      const node = yield* makeNode()
      yield* serveEcho(node.libp2p)
      const other = yield* light()
      const otherNode = Context.get(other, GossipNode)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(brought(node, { "server.bootstrap_peers": yield* addresses(other) }))
          assert.strictEqual(Context.get(context, Gossip).self, node.libp2p.peerId.toString())
          assert.strictEqual((yield* firstKnown(other)).serverId, node.libp2p.peerId.toString())
          assert.strictEqual((yield* firstKnown(context)).serverId, otherNode.peerId)
          const mesh = node.libp2p.services.mesh
          mesh.subscribe("/news")
          assert.deepStrictEqual(new Set(mesh.getTopics()).has("/news"), true)
        })
      )
      assert.strictEqual(node.libp2p.status, "started")
      assert.deepStrictEqual(node.libp2p.services.mesh.getTopics(), ["/news"])
      const answer = yield* Effect.promise(() => askEcho(otherNode.libp2p, node.libp2p.peerId.toString(), "still here"))
      assert.strictEqual(answer, "still here")
      // And discovery comes back to it.
      yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(brought(node))
          assert.strictEqual((yield* firstKnown(context)).serverId, otherNode.peerId)
        })
      )
    }).pipe(quietly)
  )

  it.live("is refused, with the reason, where it cannot carry discovery", () =>
    Effect.gen(function* () {
      const problemOf = (node: Node) =>
        Layer.build(brought(node)).pipe(
          Effect.flip,
          Effect.map((error) => error.message)
        )
      const suitable = yield* makeNode()
      const stranger = yield* makeNode()
      assert.strictEqual(
        yield* problemOf({ ...suitable, privateKey: stranger.privateKey }),
        `discovery cannot live on this libp2p node: it is ${suitable.libp2p.peerId}, and the key is that of ${stranger.libp2p.peerId}`
      )
      yield* Effect.promise(async () => suitable.libp2p.stop())
      assert.strictEqual(
        yield* problemOf(suitable),
        "discovery cannot live on this libp2p node: it is stopped, not started"
      )
      const bare = yield* makeNode({ mesh: () => ({}) })
      assert.strictEqual(
        yield* problemOf(bare),
        "discovery cannot live on this libp2p node: its service `mesh` is not that of discoveryServices()"
      )
    }).pipe(quietly)
  )
})

describe("a libp2p node of discovery's own", () => {
  it.live("carries the services and protocols that an application adds", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const clock = () => ({ start: () => events.push("start"), stop: () => events.push("stop") })
      const one = yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* light().pipe(Effect.provideService(ExtraServices, { clock }))
          const { libp2p, peerId } = Context.get(context, GossipNode)
          yield* serveEcho(libp2p)
          assert.deepStrictEqual(events, ["start"])
          const other = yield* light({ "server.bootstrap_peers": yield* addresses(context) })
          assert.strictEqual((yield* firstKnown(other)).serverId, peerId)
          return yield* Effect.promise(() => askEcho(Context.get(other, GossipNode).libp2p, peerId, "hello"))
        })
      )
      assert.strictEqual(one, "hello")
      assert.deepStrictEqual(events, ["start", "stop"])
    }).pipe(quietly)
  )
})

describe("a transport that an application adds", () => {
  it.live("is what addresses of its kind are dialled with", () =>
    Effect.gen(function* () {
      const dialled: Array<string> = []
      const quic: ExtraTransport = {
        name: "quic-v1",
        make: () => ({
          [transportSymbol]: true,
          [Symbol.toStringTag]: "quic",
          listenFilter: () => [],
          dialFilter: (addresses) => addresses.filter((address) => address.toString().includes("/quic-v1")),
          createListener: () => assert.fail("nobody asked it to listen"),
          dial: async (address) => {
            dialled.push(address.toString())
            throw new Error("nobody is there")
          }
        })
      }
      const address = `/ip4/127.0.0.1/udp/4001/quic-v1/p2p/${peerIdOf("far away")}`
      yield* Effect.provideService(light({ "server.bootstrap_peers": [address] }), ExtraTransports, [quic])
      yield* eventually(
        "it is dialled",
        Effect.sync(() => dialled),
        ([first]) => first !== undefined
      )
      assert.strictEqual(dialled[0], address)
    }).pipe(quietly)
  )
})

describe("a capability that an application adds", () => {
  it.live("is told of over HTTP too", () =>
    Effect.gen(function* () {
      const context = yield* light({ "ops.enabled": true, "ops.port": 0 })
      yield* Context.get(context, Announcer).offer("translation")
      const { url } = Context.get(context, OpsServer)
      const listing: unknown = yield* Effect.promise(async () => (await fetch(`${url}/services`)).json())
      assert.deepNestedPropertyVal(listing, "self.capabilities", [
        "store-and-forward",
        "mailbox",
        "document-sync",
        "translation"
      ])
    }).pipe(quietly)
  )
})

describe("whole servers in one program", () => {
  it.live("are as many as there are layers, also where one is provided inside another", () =>
    Effect.gen(function* () {
      const layerOf = (directory: string) =>
        // A database that is away keeps nothing and fails nothing.
        Discovery.layer({
          ...onLoopback,
          "storage.data_directory": directory,
          "database.host": "127.0.0.1",
          "database.port": 1,
          "database.sslmode": "disable"
        })
      const [first, second] = [layerOf(yield* temporaryDirectory), layerOf(yield* temporaryDirectory)]
      const self = Effect.map(Gossip, (gossip) => gossip.self)
      const measured = Effect.map(Metric.snapshot, (series) => series.some(({ id }) => id === "gossipsub_mesh_peers"))
      const exported: Metric.MetricRegistry = new Map()
      const [outer, again, isMeasured, [inner, isExported]] = yield* Effect.all([
        self,
        Effect.provide(self, first),
        measured,
        Effect.all([self, measured]).pipe(
          Effect.provide(second),
          Effect.provideService(Metric.MetricRegistry, exported)
        )
      ]).pipe(Effect.provide(first))
      assert.strictEqual(outer, again)
      assert.notStrictEqual(outer, inner)
      assert.deepStrictEqual({ isMeasured, isExported }, { isMeasured: false, isExported: true })
    }).pipe(quietly)
  )
})

describe("a database that an application brings", () => {
  it.live("R14 S9 keeps what discovery knows beside the application's own tables, and is checked", () =>
    Effect.gen(function* () {
      const { settings } = yield* makePostgres()
      const sql = yield* Layer.build(
        PgClient.layer({
          host: settings.host,
          port: settings.port,
          database: settings.name,
          username: settings.username
        })
      )
      const layer = Discovery.layerServer.pipe(
        Layer.provide(Discovery.layerDatabaseCheck),
        Layer.provideMerge(Discovery.layerStorage),
        Layer.provideMerge(Layer.mergeAll(Discovery.layerNetwork, Discovery.layerReadiness)),
        Layer.provideMerge(Discovery.layerIdentity),
        Layer.provide(Discovery.layerConfig({ ...onLoopback, "storage.data_directory": yield* temporaryDirectory })),
        Layer.provideMerge(Discovery.layerDatabaseGiven),
        Layer.provide(Layer.succeedContext(sql))
      )
      const other = yield* light()
      const client = Context.get(sql, SqlClient)
      yield* client`CREATE TABLE orders (id int)`
      yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(layer)
          assert.deepInclude(Context.get(context, Database), { kind: "postgres", location: "of this application" })
          const { checks, ready } = yield* Context.get(context, Readiness).report(Duration.seconds(2))
          assert.deepStrictEqual({ checks, ready }, { checks: { postgres: { ok: true } }, ready: true })
          const { libp2p, peerId } = Context.get(other, GossipNode)
          const [address] = libp2p.getMultiaddrs()
          if (address !== undefined) yield* Effect.promise(() => Context.get(context, GossipNode).libp2p.dial(address))
          assert.strictEqual((yield* firstKnown(context)).serverId, peerId)
        })
      )
      const tables = yield* client`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`
      assert.deepStrictEqual(
        tables.map(({ tablename }) => tablename),
        ["discovery_checks", "discovery_migrations", "discovery_servers", "orders"]
      )
      assert.deepStrictEqual(yield* client`SELECT server_id FROM discovery_servers`, [
        { server_id: Context.get(other, GossipNode).peerId }
      ])
    }).pipe(quietly)
  )
})
