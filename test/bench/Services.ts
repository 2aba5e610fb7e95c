/**
 * `/services` in requests a second, against a bare Node server that sends the same bytes, taking turns in one run: while
 * nothing changes, and while every server sends its heartbeats. And how long after a heartbeat came in a watch has it.
 */
import { fork } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Context, Duration, Effect, Layer, Logger, Result, Schedule, type Scope, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { keyAt } from "../../src/config/Keys.ts"
import { announceTopic, heartbeatTopic, type Topic } from "../../src/gossip/Topic.ts"
import { OpsClient } from "../../src/ops/OpsClient.ts"
import { OpsServer } from "../../src/ops/OpsServer.ts"
import { Intake } from "../../src/registry/Intake.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../../src/registry/Wire.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { now } from "../../src/time/Now.ts"
import * as Timestamp from "../../src/time/Timestamp.ts"
import * as Doubles from "../ops/Doubles.ts"
import { print, summary } from "./Figures.ts"
import type { Reading } from "./HttpReader.ts"

const sizes = [10, 1_000, 10_000]
const rounds = 5
const roundMillis = 1_000
const heartbeats = 1_000

const reader = Effect.acquireRelease(
  Effect.sync(() => fork(new URL("HttpReader.ts", import.meta.url))),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
)

const serverOf = (world: Doubles.World): Effect.Effect<string, never, Scope.Scope> =>
  Layer.build(OpsServer.layer.pipe(Layer.provide(Doubles.layer(world)))).pipe(
    Effect.map((context) => Context.get(context, OpsServer).url ?? ""),
    Effect.orDie
  )

const bareServerOf = (body: Uint8Array): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<readonly [string, () => void]>((resume) => {
      const server = createServer((_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": body.length })
        response.end(body)
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed([`http://127.0.0.1:${port}/`, () => void server.close().closeAllConnections()]))
      })
    }),
    ([, close]) => Effect.sync(close)
  ).pipe(Effect.map(([url]) => url))

/** In milliseconds, between two heartbeats of the network: every server sends one in each interval. */
const betweenHeartbeats = (size: number) =>
  Duration.toMillis(keyAt("intervals.health_check_min").default as Duration.Duration) / size

/** Listed, from now on. */
const entriesOf = (size: number) =>
  Effect.map(now, ({ steadyMillis, wallNanos }) => {
    const lastHeard = { steadyMillis, wallMillis: Timestamp.toMillis(wallNanos) }
    return Array.from({ length: size }, (_, index) =>
      Doubles.known(peerIdOf(index), lastHeard.wallMillis, {}, { lastHeard })
    )
  })

const requests = Effect.fnUntraced(function* (size: number) {
  const entries = yield* entriesOf(size)
  const world = Doubles.world(entries)
  const ours = `${yield* serverOf(Doubles.world(entries))}/services`
  const busy = `${yield* serverOf(world)}/services`
  let beats = 0
  yield* Effect.sync(() => {
    const entry = entries[beats++ % size]
    if (entry !== undefined) world.change(entry.serverId, { ...entry }, "heartbeat")
  }).pipe(Effect.repeat(Schedule.fixed(betweenHeartbeats(size))), Effect.forkScoped)
  const body = new Uint8Array(yield* Effect.promise(() => fetch(ours).then((response) => response.arrayBuffer())))
  const bare = yield* bareServerOf(body)
  const child = yield* reader
  const read = (url: string) =>
    Effect.callback<number>((resume) => {
      child.once("message", (rate) => resume(Effect.succeed(Number(rate))))
      child.send({ url, millis: roundMillis } satisfies Reading)
    })
  const urls = { "bare Node, the same bytes": bare, "/services, nothing changes": ours, "/services, heartbeats": busy }
  const rates = new Map(Object.keys(urls).map((name) => [name, [] as Array<number>]))
  for (let round = -1; round < rounds; round++) {
    for (const [name, url] of Object.entries(urls)) {
      const rate = yield* read(url)
      // The first round warms all of them up.
      if (round >= 0) rates.get(name)?.push(rate)
    }
  }
  const [pace, kilobytes] = [1_000 / betweenHeartbeats(size), body.length / 1_000]
  print(`  ${size} servers, ${kilobytes.toFixed(1)} kB, ${pace.toFixed(2)} heartbeats a second`)
  for (const [name, figures] of rates) print(`    ${name.padEnd(28)} ${summary(figures, "requests/s")}`)
}, Effect.scoped)

const percentile = (sorted: ReadonlyArray<number>, share: number) =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN

const announcement = {
  capabilities: ["store-and-forward", "mailbox", "document-sync"],
  maxStorage: "10GB",
  retentionPolicy: "720h0m0s",
  region: "eu-west",
  regions: ["eu-west"],
  uptimeScore: 1,
  healthy: true,
  port: 55_223
}

/** A server whose HTTP tells of what its Intake lets in. */
const believing = Effect.gen(function* () {
  const rooms = Intake.layer.pipe(
    Layer.provideMerge([RegistryMemory.layerBounded(50_000), OwnWords.layer, Tally.layer]),
    Layer.provideMerge(Doubles.layer(Doubles.world()))
  )
  const context = yield* Layer.build(OpsServer.layer.pipe(Layer.provideMerge(rooms)))
  return { intake: Context.get(context, Intake), url: Context.get(context, OpsServer).url ?? "" }
})

/** Each heartbeat waits until the watch has the one before. */
const watchDelay = Effect.gen(function* () {
  const { intake, url } = yield* believing
  const { wallNanos } = yield* now
  const receive = Effect.fnUntraced(function* (topic: Topic, sender: number, seconds: number) {
    const serverId = peerIdOf(sender)
    const timestamp = wallNanos + BigInt(seconds * 1e9)
    const said = { ...announcement, serverId, timestamp }
    const data = topic === announceTopic ? encodeAnnouncement(said) : encodeHeartbeat(said)
    const received = { topic, data, signer: serverId, neighbour: serverId, signed: () => data }
    const outcome = yield* intake.consider(received, { kind: "topic" })
    if (Result.isFailure(outcome)) yield* Effect.die(outcome.failure)
  })
  for (let sender = 0; sender < heartbeats; sender++) yield* receive(announceTopic, sender, 0)

  const millis: Array<number> = []
  let [sent, sender] = [0, 0]
  const client = yield* OpsClient.pipe(Effect.provide(OpsClient.layer(url)), Effect.provide(FetchHttpClient.layer))
  const events = yield* client.services.watch({ headers: {} })
  yield* events.pipe(
    Stream.tap(({ event }) =>
      Effect.suspend(() => {
        if (event === "change") millis.push(performance.now() - sent)
        sent = performance.now()
        return receive(heartbeatTopic, sender++, 1)
      })
    ),
    Stream.take(heartbeats),
    Stream.runDrain
  )
  const sorted = millis.toSorted((left, right) => left - right)
  const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)]
  print(`  heartbeat received to watch event read, ${heartbeats} servers known`)
  print(`    p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`)
}).pipe(Effect.scoped, Effect.orDie)

export const services: Effect.Effect<void> = Effect.gen(function* () {
  print(
    `the list over HTTP: ${rounds} rounds of ${roundMillis / 1_000} s, four connections of another process, taking turns`
  )
  yield* Effect.forEach(sizes, requests, { discard: true })
  yield* watchDelay
  print()
}).pipe(Effect.provide(Logger.layer([])))
