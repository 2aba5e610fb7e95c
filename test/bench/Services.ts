/**
 * `/services` in requests a second, against a bare Node server that sends the same bytes, taking turns in one run; and
 * how long after a heartbeat was admitted a watch has it.
 */
import { fork } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Context, Effect, Layer, Logger, type Scope, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { OpsClient } from "../../src/ops/OpsClient.ts"
import { OpsServer } from "../../src/ops/OpsServer.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
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

const requests = Effect.fnUntraced(function* (size: number) {
  const entries = Array.from({ length: size }, (_, index) => Doubles.known(peerIdOf(index), 0))
  const ours = `${yield* serverOf(Doubles.world(entries))}/services`
  const body = new Uint8Array(yield* Effect.promise(() => fetch(ours).then((response) => response.arrayBuffer())))
  const bare = yield* bareServerOf(body)
  const child = yield* reader
  const read = (url: string) =>
    Effect.callback<number>((resume) => {
      child.once("message", (rate) => resume(Effect.succeed(Number(rate))))
      child.send({ url, millis: roundMillis } satisfies Reading)
    })
  yield* read(ours)
  const rates = { ours: [] as number[], bare: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    rates.ours.push(yield* read(ours))
    rates.bare.push(yield* read(bare))
  }
  print(`${size} servers, ${body.length} bytes: /services ${summary(rates.ours, "requests/s")}`)
  print(`  bare Node, the same bytes: ${summary(rates.bare, "requests/s")}`)
}, Effect.scoped)

const percentile = (sorted: ReadonlyArray<number>, share: number) =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN

/** Each heartbeat waits until the watch has the one before. */
const watchDelay = Effect.gen(function* () {
  const entry = Doubles.known(peerIdOf(0), 0)
  const world = Doubles.world([entry])
  const url = yield* serverOf(world)
  const millis: Array<number> = []
  let sent = 0
  const client = yield* OpsClient.pipe(Effect.provide(OpsClient.layer(url)), Effect.provide(FetchHttpClient.layer))
  const events = yield* client.services.watch({ headers: {} })
  yield* events.pipe(
    Stream.tap(({ event }) =>
      Effect.sync(() => {
        if (event === "change") millis.push(performance.now() - sent)
        sent = performance.now()
        world.change(entry.serverId, { ...entry }, "heartbeat")
      })
    ),
    Stream.take(heartbeats),
    Stream.runDrain
  )
  const sorted = millis.toSorted((left, right) => left - right)
  print(
    `heartbeat to watch event: p50 ${percentile(sorted, 0.5).toFixed(2)} ms, p99 ${percentile(sorted, 0.99).toFixed(2)} ms`
  )
}).pipe(Effect.scoped, Effect.orDie)

export const services: Effect.Effect<void> = Effect.gen(function* () {
  print("services: the list over HTTP")
  yield* Effect.forEach(sizes, requests, { discard: true })
  yield* watchDelay
  print()
}).pipe(Effect.provide(Logger.layer([])))
