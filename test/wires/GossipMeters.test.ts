/** What GossipSub and libp2p measure of themselves, in the metrics of live nodes. */

import { assert, describe, it } from "@effect/vitest"
import { gossipsub } from "@libp2p/gossipsub"
import { getMetrics, type MetricsRegister } from "@libp2p/gossipsub/metrics"
import { identify } from "@libp2p/identify"
import type { Metrics as Libp2pMetrics } from "@libp2p/interface"
import { kadDHT } from "@libp2p/kad-dht"
import { noise } from "@libp2p/noise"
import { ping } from "@libp2p/ping"
import { tcp } from "@libp2p/tcp"
import { yamux } from "@libp2p/yamux"
import { Effect, Metric } from "effect"
import { createLibp2p } from "libp2p"
import { gossipSubFamilies, libp2pFamilies } from "../../src/gossip/GossipLibp2pFamilies.ts"
import { dial, type LiveNode, liveNode, onTopic, until, untilTheyHear } from "./LiveNodes.ts"

/** Each node with metrics of its own, though they share a process. */
const apart = <A, E, R>(make: Effect.Effect<A, E, R>) => {
  const registry: Metric.MetricRegistry = new Map()
  const read = Effect.map(
    Effect.provideService(Metric.snapshot, Metric.MetricRegistry, registry),
    (series) =>
      new Map(
        series.map(({ attributes, id, state }) => {
          const labels = Object.entries(attributes ?? {}).map(([name, value]) => `${name}=${value}`)
          return [`${id}{${labels.join()}}`, "count" in state ? state.count : "value" in state ? state.value : NaN]
        })
      )
  )
  return Effect.map(Effect.provideService(make, Metric.MetricRegistry, registry), (made) => ({ made, read }))
}

const metricsOf = ({ libp2p }: LiveNode) => libp2p.metrics ?? assert.fail("there are none")

describe("what the libraries measure of themselves", () => {
  it.live("is there under the names that the libraries have now", () =>
    Effect.gen(function* () {
      const said = new Set<string>()
      const noted = (name: string) => {
        said.add(name)
        return { inc: () => {}, set: () => {}, addCollect: () => {}, update: () => {}, increment: () => {} }
      }
      const byConfig = ({ name }: { readonly name: string }) => noted(name)
      const register = { gauge: byConfig, histogram: byConfig, avgMinMax: byConfig } as unknown as MetricsRegister
      const times = { gossipPromiseExpireSec: 1, behaviourPenaltyThreshold: 1, maxMeshMessageDeliveriesWindowSec: 1 }
      getMetrics(register, new Map(), times)
      assert.deepStrictEqual(
        Object.keys(gossipSubFamilies).filter((name) => !said.has(name)),
        []
      )

      const recording = new Proxy({} as Libp2pMetrics, {
        get: (_, member) =>
          member === "traceFunction"
            ? (_name: string, traced: unknown) => traced
            : (name: unknown) => (typeof name === "string" ? noted(name) : undefined)
      })
      yield* Effect.acquireRelease(
        Effect.promise(() =>
          createLibp2p({
            addresses: { listen: ["/ip4/127.0.0.1/tcp/0"] },
            transports: [tcp()],
            connectionEncrypters: [noise()],
            streamMuxers: [yamux()],
            metrics: () => recording,
            services: {
              identify: identify(),
              ping: ping(),
              dht: kadDHT({ protocol: "/ipfs/kad/1.0.0" }),
              mesh: gossipsub()
            }
          })
        ),
        (node) => Effect.promise(async () => node.stop())
      )
      assert.deepStrictEqual(
        Object.keys(libp2pFamilies).filter((name) => !said.has(name)),
        []
      )
    }).pipe(Effect.scoped)
  )

  it.live("O01 R19 moves with what happens, in series that are all there from the start", () =>
    Effect.gen(function* () {
      const a = yield* apart(onTopic())
      const b = yield* apart(onTopic())
      const before = yield* a.read
      assert.deepStrictEqual(
        [...before].filter(([, value]) => value !== 0),
        []
      )
      yield* dial(a.made.node, b.made.node)
      yield* untilTheyHear(a.made, b.made)
      const moving = [
        "gossipsub_mesh_peers{topic=announce}",
        "gossipsub_peers{protocol=/meshsub/1.2.0}",
        "gossipsub_peers_by_score_threshold{threshold=mesh}",
        "gossipsub_msg_received_prevalidation_total{topic=announce}",
        "gossipsub_rpc_recv_bytes_total{}",
        "libp2p_connection_manager_connections{state=outbound}",
        "libp2p_connection_manager_dials_total{direction=outbound}",
        "libp2p_tcp_dialer_events_total{event=connect}",
        "libp2p_noise_xxhandshake_successes_total{}"
      ]
      yield* until(Effect.map(a.read, (series) => moving.every((name) => (series.get(name) ?? 0) > 0)))
      assert.strictEqual((yield* b.read).get("libp2p_connection_manager_dials_total{direction=inbound}"), 1)
      assert.deepStrictEqual([...(yield* a.read).keys()], [...before.keys()])
    }).pipe(Effect.scoped)
  )

  it.live("O01 R19 makes no series of what a stranger says", () =>
    Effect.gen(function* () {
      const { made, read } = yield* apart(liveNode())
      const before = yield* read
      const questions = metricsOf(made).registerCounterGroup("libp2p_kad_dht_inbound_rpc_requests_total")
      questions.increment({ PING: true, evil: 2, '"} 1\n': 3 })
      metricsOf(made).registerCounter("libp2p_evil_total").increment(7)
      const after = yield* read
      assert.deepStrictEqual([...after.keys()], [...before.keys()])
      assert.strictEqual(after.get("libp2p_kad_dht_inbound_rpc_requests_total{type=PING}"), 1)
      assert.strictEqual(after.get("libp2p_kad_dht_inbound_rpc_requests_total{type=other}"), 5)
    }).pipe(Effect.scoped)
  )

  it.live("is gone with the node", () =>
    Effect.gen(function* () {
      const { read } = yield* apart(Effect.scoped(liveNode()))
      assert.strictEqual((yield* read).size, 0)
    })
  )
})
