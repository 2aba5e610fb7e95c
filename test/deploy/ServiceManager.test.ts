/**
 * A server that a service manager waits for. systemd-notify is a stand-in first on the path, which writes down what it
 * was to say; once it is the real one, and what it says is received as systemd receives it.
 */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Exit, Layer, Scope } from "effect"
import { OpsServer } from "../../src/ops/OpsServer.ts"
import * as ServiceManager from "../../src/ops/ServiceManager.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import * as Doubles from "../ops/Doubles.ts"
import * as Child from "../process/Child.ts"
import { eventually } from "../process/Eventually.ts"
import { start, temporaryDirectory } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"

/** A directory with a systemd-notify that runs this instead, and the file `told` to write to. */
const standIn = Effect.fnUntraced(function* (script: string) {
  const directory = yield* temporaryDirectory
  const notify = join(directory, "systemd-notify")
  yield* Effect.promise(async () => {
    await writeFile(notify, `#!/bin/sh\n${script.replace("told", join(directory, "told"))}\n`)
    await chmod(notify, 0o755)
  })
  const told = Effect.promise(() => readFile(join(directory, "told"), "utf8").catch(() => ""))
  return { path: `${directory}:/usr/bin:/bin`, told }
})

/** The path of this process, until the scope closes. */
const onPath = (path: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.env.PATH
      process.env.PATH = path
      return before
    }),
    (before) =>
      Effect.sync(() => {
        process.env.PATH = before
      })
  )

/** The part of a server that tells, over rooms that a test commands; `stop` is what a stop is to it. */
const tellingServer = Effect.fnUntraced(function* (path: string, variables: Readonly<Record<string, string>>) {
  yield* onPath(path)
  const world = Doubles.world()
  const log = CapturedLog.make()
  const scope = yield* Scope.make()
  const url = Layer.succeed(OpsServer, OpsServer.of({ url: "http://127.0.0.1:9090" }))
  yield* ServiceManager.layer.pipe(
    Layer.provide([Doubles.layer(world), url, log.layer]),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(variables))),
    Layer.buildWithScope(scope)
  )
  return { world, log, stop: Scope.close(scope, Exit.void) }
})

const check = (errorClass: string | undefined) => ({
  startedWallMillis: 0,
  durationMillis: 1,
  ok: errorClass === undefined,
  errorClass
})

const up = `announced as ${Doubles.self}, ops at http://127.0.0.1:9090`
const untold = "the service manager cannot be told how this server is"

describe("telling the service manager", () => {
  it.live("says that it is up, when its self-checks begin to fail and pass again, and that it stops", () =>
    Effect.gen(function* () {
      const { path, told } = yield* standIn('echo "$NOTIFY_SOCKET $*" >> told')
      const { stop, world } = yield* tellingServer(path, { NOTIFY_SOCKET: "/run/told" })
      const lines = [`READY=1 STATUS=${up}`]
      const untilTold = (next: ReadonlyArray<string>) => {
        lines.push(...next)
        const expected = lines.map((line) => `/run/told ${line}\n`).join("")
        return eventually("all that, and no more, is told", told, (text) => text === expected)
      }
      yield* untilTold([])
      world.check(check(undefined))
      world.check(check("postgres: refused"))
      world.check(check("postgres: refused"))
      world.check(check(undefined))
      yield* untilTold([`STATUS=self-check failed (postgres: refused); ${up}`, `STATUS=${up}`])
      // One line, however it is worded: a second would pass for a variable of its own.
      world.check(check("postgres: refused\nMAINPID=1"))
      yield* untilTold([`STATUS=self-check failed (postgres: refused\\u{a}MAINPID=1); ${up}`])
      yield* stop
      yield* untilTold(["STOPPING=1 STATUS=stopping"])
    })
  )

  it.live("is given up, with one warning, where there is no systemd-notify", () =>
    Effect.gen(function* () {
      const empty = yield* temporaryDirectory
      const { log, stop, world } = yield* tellingServer(empty, { NOTIFY_SOCKET: "/run/told" })
      yield* eventually(
        "it warns",
        Effect.sync(() => log.of(untold)),
        (warnings) => warnings.length > 0
      )
      world.check(check("postgres: refused"))
      yield* stop
      assert.deepStrictEqual(log.of(untold), [{ level: "Warn", facts: { error: "spawn systemd-notify ENOENT" } }])
    })
  )

  it.live("N03 holds up no stop where systemd-notify hangs", () =>
    Effect.gen(function* () {
      const { path, told } = yield* standIn("echo begun >> told; exec sleep 6")
      const { stop } = yield* tellingServer(path, { NOTIFY_SOCKET: "/run/told" })
      yield* eventually("it hangs", told, (text) => text === "begun\n")
      const [took] = yield* Effect.timed(stop)
      assert.isBelow(Duration.toMillis(took), 500)
    })
  )

  it.live.each([{}, { NOTIFY_SOCKET: "" }])("is left where nobody asks for it: %o", (variables) =>
    Effect.gen(function* () {
      const { world } = yield* tellingServer("", variables)
      assert.strictEqual(world.records.size, 0)
    })
  )
})

describe("a server under a service manager", () => {
  it.live("says that it is up once it has spoken, and that it stops before it says goodbye", () =>
    Effect.gen(function* () {
      const { path, told } = yield* standIn('echo "$*" >> told')
      const env = { PATH: path, NOTIFY_SOCKET: "/run/told", RICOCHET_OPS_DRAIN_DELAY: "2s" }
      const server = yield* start({ env })
      const { url } = yield* server.log("ops listening")
      const ready = `READY=1 STATUS=announced as ${server.peerId}, ops at ${url}\n`
      yield* eventually("it says that it is up", told, (text) => text === ready)
      yield* server.signal("SIGTERM")
      const both = `${ready}STOPPING=1 STATUS=stopping\n`
      yield* eventually("it says that it stops", told, (text) => text === both, "1800 millis")
      assert.strictEqual((yield* server.readiness).status, 503)
      assert.deepStrictEqual(yield* server.ending, { code: 0, signal: null })
    })
  )

  it.live.skipIf(isMissing("systemd"))(named("is understood by systemd's side of the socket", "systemd"), () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.promise(() => mkdir(join(directory, "run")))
      const socket = join(directory, "run", "notify")
      const receiver = yield* Child.start({
        command: "python3",
        args: [new URL("receive.py", import.meta.url).pathname, socket],
        cwd: directory,
        env: { PATH: process.env.PATH }
      })
      const line = (expected: string) => receiver.line(expected, (text) => (text.includes(expected) ? text : undefined))
      yield* line("listening")
      const server = yield* start({ env: { PATH: process.env.PATH ?? "", NOTIFY_SOCKET: socket } })
      const { url } = yield* server.log("ops listening")
      assert.strictEqual(yield* line("READY"), `told READY=1 | STATUS=announced as ${server.peerId}, ops at ${url}`)
      assert.deepStrictEqual(yield* server.stop(), { code: 0, signal: null })
      assert.strictEqual(yield* line("STOPPING"), "told STOPPING=1 | STATUS=stopping")
    })
  )
})
