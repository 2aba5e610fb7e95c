import { createServer, type Server } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { BadAddress } from "../../src/gossip/GossipLibp2pAddresses.ts"
import { ListenUnavailable } from "../../src/gossip/GossipLibp2pListeners.ts"
import { announceTopic } from "../../src/gossip/Topic.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import {
  addressAhead,
  anySeed,
  dial,
  type LiveOptions,
  layerOf,
  liveNode,
  onTopic,
  until,
  untilTheyHear
} from "./LiveNodes.ts"

/** Takes a port until the scope closes. */
const take = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<Server>((resolve) => {
          const server = createServer().listen(port, "127.0.0.1", () => resolve(server))
        })
    ),
    (server) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
  )

const failure = (options: LiveOptions) => Effect.flip(Layer.build(layerOf(options)))

describe("listeners of the node", () => {
  it.live("M01 R23 stop the start where a port is taken, name it, and leave nothing listening", () =>
    Effect.gen(function* () {
      const [taken, free] = [yield* addressAhead(anySeed()), yield* addressAhead(anySeed())]
      yield* take(taken.port)
      const error = yield* failure({ listen: [free.listen, taken.listen] })
      assert.instanceOf(error, ListenUnavailable)
      assert.deepStrictEqual(
        [error.exitCode, error.message],
        [69, `cannot listen for peers on ${taken.listen}: port ${taken.port} is in use`]
      )
      yield* take(free.port)
    })
  )

  it.live("stop the start at an address that this machine does not have", () =>
    Effect.gen(function* () {
      const error = yield* failure({ listen: ["/ip4/192.0.2.1/tcp/0"] })
      assert.strictEqual(
        error.message,
        "cannot listen for peers on /ip4/192.0.2.1/tcp/0: this machine has no such address"
      )
    })
  )

  it.live("D09 do without an address of another transport, but not without any", () =>
    Effect.gen(function* () {
      const log = CapturedLog.make()
      const udx = "/ip4/127.0.0.1/udp/55223/udx"
      const node = yield* liveNode({ listen: [udx, "/ip4/127.0.0.1/tcp/0"] }).pipe(Effect.provide(log.layer))
      assert.match(node.address, /^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\//)
      assert.deepStrictEqual(log.of("address needs the transport udx, which this server does not have"), [
        { level: "Warn", facts: { listener: udx } }
      ])
      const error = yield* failure({ listen: [udx] })
      assert.instanceOf(error, BadAddress)
      assert.deepStrictEqual(
        [error.exitCode, error.message],
        [78, "server.listen_addresses: none of 1 can be listened on by this server"]
      )
    })
  )

  it.live("R22 D07 stop the start at what is no address, wherever it is written", () =>
    Effect.gen(function* () {
      const messages = yield* Effect.forEach(
        [
          { listen: ["127.0.0.1:55223"] },
          { bootstrapPeers: ["/ip4/192.0.2.1/tcp/1"] },
          { externalAddresses: ["here"] },
          { trustedPeers: ["me"] }
        ],
        (options) =>
          Effect.map(failure(options), (error) => {
            assert.instanceOf(error, BadAddress)
            return error.message.replace(/:.*/, "")
          })
      )
      assert.deepStrictEqual(messages, [
        'server.listen_addresses[0] "127.0.0.1',
        'server.bootstrap_peers[0] "/ip4/192.0.2.1/tcp/1"',
        'server.external_addresses[0] "here"',
        'security.trusted_peers[0] "me"'
      ])
    })
  )

  it.live("speak WebSocket beside TCP, and tell others the external address", () =>
    Effect.gen(function* () {
      const web = yield* onTopic({ listen: ["/ip4/127.0.0.1/tcp/0/ws"] })
      assert.match(web.node.address, /\/tcp\/\d+\/ws\/p2p\//)
      const tcp = yield* onTopic({ externalAddresses: ["/dns4/server.example.org/tcp/55223"] })
      yield* dial(tcp.node, web.node)
      yield* untilTheyHear(tcp, web)
      assert.deepStrictEqual(yield* tcp.node.addresses, [`/dns4/server.example.org/tcp/55223/p2p/${tcp.node.self}`])
    })
  )
})

describe("a node", () => {
  it.live("outlives a listener that throws, and says so", () =>
    Effect.gen(function* () {
      const log = CapturedLog.make()
      const [a, b] = [yield* liveNode().pipe(Effect.provide(log.layer)), yield* liveNode()]
      yield* a.listen(a.libp2p, "peer:connect", () => {
        throw new Error("bug in a listener")
      })
      yield* dial(b, a)
      yield* until(Effect.sync(() => log.of("listener of peer:connect failed").length === 1))
      assert.strictEqual((yield* a.connections).length, 1)
    })
  )

  it.live("R13 gets its last words out before it leaves", () =>
    Effect.gen(function* () {
      const stays = yield* onTopic()
      for (let round = 0; round < 5; round++) {
        const scope = yield* Scope.make()
        const leaves = yield* Scope.provide(onTopic({ bootstrapPeers: [stays.node.address] }), scope)
        yield* untilTheyHear(leaves, stays)
        yield* leaves.node.publish(announceTopic, new TextEncoder().encode(`goodbye ${round}`))
        yield* Scope.close(scope, Exit.void)
        yield* until(
          Effect.sync(() => stays.heard.includes(`goodbye ${round}`)),
          1_000
        )
      }
    })
  )
})
