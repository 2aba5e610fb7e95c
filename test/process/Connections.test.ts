/** Servers that stay connected, or are again: whatever their seeds, their links and they themselves go through. */
import { readdir } from "node:fs/promises"
import { connect } from "node:net"
import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { PostgresServer } from "../storage/PostgresServer.ts"
import * as Child from "./Child.ts"
import { eventually } from "./Eventually.ts"
import * as Link from "./Link.ts"
import * as LinkedServers from "./LinkedServers.ts"
import { beatSeconds, onPostgres } from "./OnPostgres.ts"
import { launch, type Running, start } from "./ServerProcess.ts"
import { isMissing, named } from "./Tools.ts"

const neverAccepts = `
  const server = require("node:net").createServer()
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port))`

/** A port where even the system answers nobody: who listens stands still, and has no place left for who dials. */
const mutePort = Effect.gen(function* () {
  const listener = yield* Child.start({ command: process.execPath, args: ["-e", neverAccepts], cwd: "/", env: {} })
  const port = yield* listener.line("its port", (line) => Number(line) || undefined)
  yield* listener.signal("SIGSTOP")
  yield* Effect.acquireRelease(
    Effect.sync(() => Array.from({ length: 4 }, () => connect(port, "127.0.0.1").on("error", () => {}))),
    (places) => Effect.sync(() => places.forEach((socket) => void socket.destroy()))
  )
  return port
})

/** A port that is taken, where whoever dials hears nothing. */
const silentPort = (target: number) =>
  Effect.gen(function* () {
    const link = yield* Link.make(target)
    yield* link.become("silent")
    return link.port
  })

const timeNow = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis).toISOString())

/** The longest wait between two dials (R15), and a while for the machine. */
const reconnectsWithin = "75 seconds"

/** The two are connected, by one connection, and each hears words of the other that it said after now. */
const hearEachOther = Effect.fnUntraced(function* (one: Running, other: Running) {
  const since = yield* timeNow
  for (const [from, to] of [
    [one, other],
    [other, one]
  ] as const) {
    yield* eventually(
      "it hears the other",
      from.service(to.peerId),
      ({ connected, service }) => connected && (service?.timestamp ?? "") > since,
      reconnectsWithin
    )
  }
})

/** What a server warned of after a moment, or worse, but that nobody was there to hear it. */
const complaints = ({ logs }: Running, since: string) =>
  logs().filter(
    ({ level, msg, time }) =>
      time > since && level !== "INFO" && level !== "DEBUG" && !msg.startsWith("failed to publish")
  )

/** Milliseconds. They wait more than they compute, so they run side by side; each takes longer so. */
const sideBySide = 180_000

describe.skipIf(isMissing("postgres"))(named("with PostgreSQL", "postgres"), () => {
  layer(PostgresServer.layer(), { excludeTestServices: true, concurrent: true })("servers", (it) => {
    it.effect(
      "D05 D09 M03 R15 start at once beside seeds that never answer, that no way leads to, and of another transport",
      () =>
        Effect.gen(function* () {
          const on = onPostgres(yield* PostgresServer)
          const good = yield* start(on)
          const goodPort = Number(/tcp\/(\d+)/.exec(good.address)?.[1])
          const dead = [yield* mutePort, yield* silentPort(goodPort), yield* silentPort(goodPort)].map(
            (port, index) => `/ip4/127.0.0.1/tcp/${port}/p2p/${peerIdOf(index)}`
          )
          const foreign = `/ip4/127.0.0.1/udp/55223/udx/p2p/${peerIdOf(3)}`
          // Nobody listens there, and a machine without IPv6 has no way there.
          const nowhere = `/ip6/::1/tcp/9/p2p/${peerIdOf(4)}`
          const missing = "address needs the transport udx, which this server does not have"
          const server = yield* start({
            ...on,
            args: ["--bootstrap", [...dead, foreign, nowhere, good.address].join(",")]
          })
          const [loaded, started] = [yield* server.log("configuration loaded"), yield* server.log("registry started")]
          assert.isBelow(Date.parse(started.time) - Date.parse(loaded.time), 5_000)
          assert.strictEqual((yield* server.readiness).status, 200)
          yield* server.lists([good.peerId])
          assert.include(yield* server.log(missing), { level: "WARN", address: foreign })

          const { bootstrap } = yield* eventually(
            "each dead seed is tried again",
            server.self,
            (self) => self.bootstrap.filter(({ last_error }) => last_error === "no answer in time").length === 3,
            "60 seconds"
          )
          assert.deepStrictEqual(
            bootstrap.map(({ address, connected, last_error }) => [
              address,
              connected,
              last_error?.replace(/^.*(ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH).*$/, "unreachable") ?? null
            ]),
            [
              ...dead.map((address) => [address, false, "no answer in time"]),
              [nowhere, false, "unreachable"],
              [good.address, true, null],
              [foreign, false, missing]
            ]
          )
          const said = server.logs().filter(({ msg }) => msg === "bootstrap peer cannot be reached")
          assert.deepStrictEqual(said.map(({ address }) => address).sort(), [...dead, nowhere].sort())
        }),
      sideBySide
    )

    it.effect(
      "R15 are connected by one connection, and hear each other, after their link was cut fifty times",
      () =>
        Effect.gen(function* () {
          const linked = yield* LinkedServers.make(2, onPostgres(yield* PostgresServer))
          const [a, b] = yield* Effect.all([start(linked.options(0)), start(linked.options(1))], { concurrency: 2 })
          yield* hearEachOther(a, b)
          const met = yield* timeNow
          for (let cut = 0; cut < 50; cut++) {
            yield* linked.between(0, 1, "cut")
            yield* Effect.sleep("300 millis")
            yield* linked.between(0, 1, "open")
            yield* Effect.sleep("500 millis")
          }
          yield* hearEachOther(a, b)
          for (const server of [a, b]) {
            yield* eventually("one connection is kept", server.self, ({ connections }) => connections === 1)
            // Of a dial that met a cut it speaks once, and not fifty times (D05).
            const said = complaints(server, met).map(({ msg }) => msg)
            assert.deepStrictEqual(said, said.length === 0 ? [] : ["bootstrap peer cannot be reached"])
          }
        }),
      sideBySide
    )

    it.effect(
      "R15 that met through a seed stay together without it, and meet again when one or all of them start anew",
      () =>
        Effect.gen(function* () {
          const on = onPostgres(yield* PostgresServer)
          const seed = yield* start(on)
          const address = { RICOCHET_SERVER_LISTEN_ADDRESSES: `/ip4/127.0.0.1/tcp/${yield* LinkedServers.lastingPort}` }
          const options = { ...on, args: ["--bootstrap", seed.address], env: { ...on.env, ...address } }
          const [a, b] = yield* Effect.all([start(options), start({ ...on, args: options.args })], { concurrency: 2 })
          for (const [one, other] of [
            [a, b],
            [b, a]
          ] as const) {
            yield* eventually("they are connected", one.self, ({ neighbours }) => neighbours.includes(other.peerId))
          }
          yield* seed.stop("SIGKILL")
          yield* hearEachOther(a, b)

          yield* a.stop("SIGKILL")
          yield* eventually("b is alone", b.readiness, ({ alone_since, ready }) => alone_since !== null && ready)
          const again = yield* start({ ...options, directory: a.directory })
          assert.strictEqual(again.peerId, a.peerId)
          yield* hearEachOther(again, b)
          assert.strictEqual((yield* again.readiness).alone_since, null)

          yield* Effect.all([again.stop(), b.stop()], { concurrency: 2 })
          const anew = yield* Effect.all(
            [
              start({ ...options, directory: a.directory }),
              start({ ...on, args: options.args, directory: b.directory })
            ],
            { concurrency: 2 }
          )
          yield* hearEachOther(...anew)
        }),
      sideBySide
    )

    it.effect(
      "B08 R15 go on where they were when one of them stands still for eight seconds",
      () =>
        Effect.gen(function* () {
          const linked = yield* LinkedServers.make(2, onPostgres(yield* PostgresServer))
          const [a, b] = yield* Effect.all([start(linked.options(0)), start(linked.options(1))], { concurrency: 2 })
          yield* hearEachOther(a, b)
          const met = yield* timeNow
          yield* a.signal("SIGSTOP")
          // Shorter than the bound of a self-check that may be running (R16).
          yield* Effect.sleep("8 seconds")
          yield* b.says(a.peerId, { listed: true, reason: "available", connected: true })
          const since = yield* timeNow
          yield* a.signal("SIGCONT")
          yield* hearEachOther(a, b)
          // One beat for all that it missed, then its old grid.
          const { recent } = yield* b.service(a.peerId)
          const anew = recent.filter(({ time }) => time > since)
          const lateSeconds = (Date.parse(yield* timeNow) - Date.parse(since)) / 1_000
          assert.isAtMost(anew.length, 1 + Math.ceil(lateSeconds / beatSeconds))
          assert.deepStrictEqual(complaints(a, met), [])
          assert.deepStrictEqual(complaints(b, met), [])
        }),
      sideBySide
    )
  })
})

describe("a server", () => {
  it.live("D07 R22 does not start with seeds that cannot be meant, and names each", () =>
    Effect.gen(function* () {
      const wrong = [
        "https://x",
        "/ip4/127.0.0.1/tcp/4001",
        `/ip4/127.0.0.1/tcp/4001/p2p/${peerIdOf(1)}/p2p/${peerIdOf(1)}`,
        `/ip4/127.0.0.1/tcp/4001/p2p/${peerIdOf(1)}x`
      ]
      const config = `server:\n  bootstrap_peers:\n${wrong.map((address) => `    - "${address}"\n`).join("")}`
      const server = yield* launch({
        withoutData: true,
        config: `${config}  external_addresses: [here]\nsecurity: {trusted_peers: [me]}\n`
      })
      assert.deepStrictEqual(yield* server.ending, { code: 78, signal: null })
      const said = server.stderr.join("\n")
      wrong.forEach((address, index) => {
        assert.include(said, `config.yaml:${3 + index}:7: server.bootstrap_peers[${index}]: found text "${address}": `)
      })
      assert.include(said, 'config.yaml:7:24: server.external_addresses[0]: found text "here": ')
      assert.include(said, 'config.yaml:8:28: security.trusted_peers[0]: found text "me": ')
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(server.directory)), ["config.yaml"])
    })
  )
})
