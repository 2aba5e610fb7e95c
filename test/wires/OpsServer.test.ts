/** The HTTP listener over real sockets. */
import { Agent, request } from "node:http"
import { connect, type Socket } from "node:net"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Schedule, Scope, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { OpsClient } from "../../src/ops/OpsClient.ts"
import { IdleMillis } from "../../src/ops/OpsHttpServer.ts"
import { OpsListenUnavailable } from "../../src/ops/OpsListenUnavailable.ts"
import { OpsServer } from "../../src/ops/OpsServer.ts"
import { maxWatchers } from "../../src/ops/Watch.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import * as Doubles from "../ops/Doubles.ts"
import { known } from "../ops/Doubles.ts"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

type Ops = Parameters<typeof Doubles.settings>[0]

const a = peerIdOf("a")

/** Listens on a free port of the loopback until the scope closes. */
const start = Effect.fnUntraced(function* (
  world: Doubles.World,
  ops: Ops = {},
  log: CapturedLog.CapturedLog = CapturedLog.make()
): Effect.fn.Return<string, OpsListenUnavailable, Scope.Scope> {
  const rooms = Layer.merge(Doubles.layer(world, Doubles.settings(ops)), log.layer)
  const context = yield* Layer.build(OpsServer.layer.pipe(Layer.provide(rooms)))
  return Context.get(context, OpsServer).url ?? "off"
})

/** So many servers that their list does not fit into the buffers of a connection. */
const many = () => Doubles.world(Array.from({ length: 20_000 }, (_, index) => known(peerIdOf(index), 0)))

/** Asks until it holds. */
const eventually = (holds: Effect.Effect<boolean>) =>
  holds.pipe(
    Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (is) => is }),
    Effect.timeout("20 seconds"),
    Effect.asVoid
  )

const statusOf = (url: string, options: Parameters<typeof request>[1] = {}) =>
  Effect.callback<number>((resume) => {
    const sent = request(url, options, (response) => {
      response.resume()
      response.on("end", () => resume(Effect.succeed(response.statusCode ?? 0)))
    })
    sent.on("error", (error) => resume(Effect.die(error)))
    sent.end()
  })

/** What a connection that sends this text is answered, until it is closed. */
const exchange = (url: string, text: string) =>
  Effect.callback<string>((resume) => {
    const { hostname, port } = new URL(url)
    let answer = ""
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on("data", (data) => {
      answer += data
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(answer)))
  })

/** A client that opens a watch and reads its head, then no more. One that is cut off before that is a client all the same. */
const silentWatcher = (url: string) =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname, () =>
        socket.write("GET /services/watch HTTP/1.1\r\nhost: localhost\r\n\r\n")
      )
      socket.on("error", () => {})
      socket.once("close", () => resume(Effect.succeed(socket)))
      socket.once("data", () => {
        socket.pause()
        resume(Effect.succeed(socket))
      })
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

describe("the ops listener", () => {
  it.live("is reached by its own typed client, a watch included", () => {
    const world = Doubles.world([
      known(a, 0, {}, { lastHeard: { wallMillis: 0, steadyMillis: Number.MAX_SAFE_INTEGER } })
    ])
    return Effect.gen(function* () {
      const url = yield* start(world)
      yield* Effect.gen(function* () {
        const client = yield* OpsClient
        assert.deepStrictEqual(yield* client.healthz(), { status: "ok" })
        const { services } = yield* client.services.list({ query: { limit: 5 } })
        assert.deepStrictEqual(
          services.map(({ server_id }) => server_id),
          [a]
        )
        assert.strictEqual((yield* client.services.find({ params: { peerId: a } })).listed, true)
        assert.strictEqual((yield* client.self()).database, "embedded")

        const stream = yield* client.services.watch({ headers: {} })
        const [snapshot, change] = yield* stream.pipe(
          Stream.tap(({ event }) =>
            Effect.sync(() => event === "snapshot" && world.change(a, known(a, 1), "heartbeat"))
          ),
          Stream.take(2),
          Stream.runCollect
        )
        assert.deepStrictEqual(snapshot?.event === "snapshot" && snapshot.data.services.map((s) => s.server_id), [a])
        assert.deepStrictEqual(change?.event === "change" && change.data.cause, "heartbeat")
      }).pipe(Effect.provide(OpsClient.layer(url)), Effect.provide(FetchHttpClient.layer))
    }).pipe(Effect.scoped)
  })

  it.live("says where it listens, and takes a free port for port 0", () => {
    const log = CapturedLog.make()
    return Effect.gen(function* () {
      const url = yield* start(Doubles.world(), {}, log)
      assert.match(url, /^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
      assert.deepStrictEqual(log.of("ops listening"), [{ level: "Info", facts: { url } }])
    }).pipe(Effect.scoped)
  })

  it.live("listens on IPv6", () =>
    Effect.gen(function* () {
      const url = yield* start(Doubles.world(), { bind: "::1" })
      assert.match(url, /^http:\/\/\[::1\]:\d+$/)
      assert.strictEqual(yield* statusOf(`${url}/healthz`), 200)
    }).pipe(Effect.scoped)
  )

  it.live("does not listen when it is off", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* start(Doubles.world(), { enabled: false }), "off")
    }).pipe(Effect.scoped)
  )

  it.live("M01 R23 names a port that is taken, and the way out", () =>
    Effect.gen(function* () {
      const port = Number(new URL(yield* start(Doubles.world())).port)
      const error = yield* Effect.flip(start(Doubles.world(), { port }))
      assert.instanceOf(error, OpsListenUnavailable)
      assert.strictEqual(error.exitCode, 69)
      assert.strictEqual(
        error.message,
        `ops HTTP cannot listen on 127.0.0.1:${port}: the port is in use by another process; stop that one, or choose another port with ops.port or --ops-port`
      )
    }).pipe(Effect.scoped)
  )

  it.live("M01 names an address that this machine does not have", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start(Doubles.world(), { bind: "192.0.2.1", port: 9090 }))
      assert.strictEqual(
        error.message,
        "ops HTTP cannot listen on 192.0.2.1:9090: this machine has no such address; set ops.bind to one that it has"
      )
    }).pipe(Effect.scoped)
  )

  it.live("DNS rebinding: is served under its own names only", () =>
    Effect.gen(function* () {
      const url = yield* start(Doubles.world(), { allowedHosts: ["ops.example"] })
      const under = (host: string) => statusOf(`${url}/services`, { headers: { host } })
      assert.deepStrictEqual(
        yield* Effect.forEach(["evil.example", "ops.example:1", "localhost", "127.0.0.1"], under),
        [421, 200, 200, 200]
      )
    }).pipe(Effect.scoped)
  )

  it.live("takes no more of a request than it needs", () =>
    Effect.gen(function* () {
      const url = yield* start(Doubles.world())
      const head = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
      const huge = yield* exchange(url, `${head}x: ${"x".repeat(20_000)}\r\n\r\n`)
      assert.match(huge, /^HTTP\/1\.1 431 /)
      const garbage = yield* exchange(url, "\u0000\u0001 nonsense\r\n\r\n")
      assert.match(garbage, /^HTTP\/1\.1 400 /)
      const nameless = yield* exchange(url, "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")
      assert.match(nameless, /^HTTP\/1\.1 400 /)
      const fine = yield* exchange(url, `${head}\r\n`)
      assert.match(fine, /^HTTP\/1\.1 200 /)
    }).pipe(Effect.scoped)
  )

  it.live("answers HEAD with the length of the body that GET has", () =>
    Effect.gen(function* () {
      const url = yield* start(Doubles.world([known(a, 0)]))
      const head = yield* exchange(url, "HEAD /openapi.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
      const get = yield* exchange(url, "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
      const length = (answer: string) => /content-length: (\d+)/i.exec(answer)?.[1]
      assert.strictEqual(length(head), length(get))
      assert.strictEqual(head.split("\r\n\r\n")[1], "")
    }).pipe(Effect.scoped)
  )

  it.live("N01 N03 stops at once, whatever is open: watches, clients that stopped reading, idle connections", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const url = yield* start(many()).pipe(Scope.provide(scope))
      const watchers = yield* Effect.forEach(Array.from({ length: 10 }), () => silentWatcher(url))
      assert.strictEqual(yield* statusOf(`${url}/healthz`, { agent: new Agent({ keepAlive: true }) }), 200)
      const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.isBelow(Duration.toMillis(took), 2_000)
      for (const socket of watchers) socket.resume()
      yield* eventually(Effect.sync(() => watchers.every((socket) => socket.destroyed)))
      const { hostname, port } = new URL(url)
      const refused = yield* Effect.callback<string>((resume) => {
        connect(Number(port), hostname).on("error", (error) =>
          resume(Effect.succeed("code" in error ? String(error.code) : ""))
        )
      })
      assert.strictEqual(refused, "ECONNREFUSED")
    }).pipe(Effect.scoped)
  )

  it.live("serves 256 watches and refuses the next with 503", () =>
    Effect.gen(function* () {
      const url = yield* start(Doubles.world())
      const watchers = yield* Effect.forEach(Array.from({ length: maxWatchers }), () => silentWatcher(url), {
        concurrency: "unbounded"
      })
      assert.strictEqual(yield* statusOf(`${url}/services/watch`), 503)
      assert.strictEqual(yield* statusOf(`${url}/services`), 200)
      watchers[0]?.destroy()
      yield* eventually(Effect.map(statusOf(`${url}/services/watch`, { method: "HEAD" }), (status) => status === 200))
    }).pipe(Effect.scoped)
  )

  const watchersOf = (url: string) =>
    Effect.promise(async () => {
      const text = await fetch(`${url}/metrics`).then((response) => response.text())
      return Number(/^ricochet_watch_clients (\d+)$/m.exec(text)?.[1])
    })

  /** In bytes, in the heap and beside it. */
  const memory = Effect.sync(() => {
    collectGarbage()
    const { external, heapUsed } = process.memoryUsage()
    return heapUsed + external
  })

  /** What was held beside the heap is given back a moment later. */
  const untilFlat = (before: number) => eventually(Effect.map(memory, (bytes) => bytes - before < 4_000_000))

  const untilWatched = (url: string, by: number) => eventually(Effect.map(watchersOf(url), (open) => open === by))

  it.live("cuts off a hundred clients that never read, and keeps nothing for them", () =>
    Effect.gen(function* () {
      const url = yield* start(many())
      const read = (path: string) => Effect.promise(() => fetch(`${url}${path}`).then((response) => response.text()))
      // What is made for the first reader is kept for all.
      yield* read("/services")
      yield* read("/services?limit=1")
      const before = yield* memory
      yield* Effect.scoped(
        Effect.andThen(
          Effect.forEach(Array.from({ length: 100 }), () => silentWatcher(url), { concurrency: "unbounded" }),
          untilWatched(url, 0)
        )
      )
      yield* read("/services?limit=1")
      yield* untilFlat(before)
    }).pipe(Effect.scoped, Effect.provideService(IdleMillis, 300))
  )

  it.live("holds no more for a hundred that never read, however much there is to tell them", () => {
    const world = many()
    return Effect.gen(function* () {
      const url = yield* start(world)
      yield* Effect.forEach(Array.from({ length: 100 }), () => silentWatcher(url), { concurrency: "unbounded" })
      yield* untilWatched(url, 100)
      const entries = [...world.entries.values()].slice(0, 2_000)
      const all = Effect.gen(function* () {
        for (const entry of entries) world.change(entry.serverId, entry, "heartbeat")
        const response = yield* Effect.promise(() => fetch(`${url}/services?limit=1`))
        yield* Effect.promise(() => response.text())
      })
      yield* all
      const before = yield* memory
      yield* Effect.repeat(all, { times: 5 })
      assert.strictEqual(yield* watchersOf(url), 100)
      yield* untilFlat(before)
    }).pipe(Effect.scoped)
  })

  it.live("forgets a thousand watchers that came and went", () =>
    Effect.gen(function* () {
      const url = yield* start(Doubles.world(Array.from({ length: 100 }, (_, index) => known(peerIdOf(index), 0))))
      const comeAndGo = (times: number) =>
        Effect.forEach(Array.from({ length: times }), () => Effect.scoped(silentWatcher(url)), { concurrency: 50 })
      yield* comeAndGo(200)
      yield* untilWatched(url, 0)
      const before = yield* memory
      yield* comeAndGo(1_000)
      yield* untilWatched(url, 0)
      yield* untilFlat(before)
    }).pipe(Effect.scoped)
  )
})
