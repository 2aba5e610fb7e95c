/**
 * A server that a service manager waits for. systemd-notify is a stand-in first on the path, which writes down what it
 * was to say; once it is the real one, and what it says is received as systemd receives it.
 */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import * as Child from "../process/Child.ts"
import { eventually } from "../process/Eventually.ts"
import { start, temporaryDirectory } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"

/** A systemd-notify that runs this instead, alone on the path but for what the system has. */
const standIn = Effect.fnUntraced(function* (
  script: string
): Effect.fn.Return<Readonly<Record<string, string>>, never, Scope.Scope> {
  const directory = yield* temporaryDirectory
  yield* Effect.promise(async () => {
    await writeFile(join(directory, "systemd-notify"), `#!/bin/sh\n${script}\n`)
    await chmod(join(directory, "systemd-notify"), 0o755)
  })
  return { PATH: `${directory}:/usr/bin:/bin` }
})

const toldIn = (file: string) => Effect.promise(() => readFile(file, "utf8").catch(() => ""))

const untold = "the service manager cannot be told how this server is"

describe("a server that a service manager waits for", () => {
  it.live("says that it is up once it has spoken, and that it stops before it says goodbye", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const told = join(directory, "told")
      const path = yield* standIn(`echo "$NOTIFY_SOCKET $*" >> ${told}`)
      const server = yield* start({ env: { ...path, NOTIFY_SOCKET: "/run/told", RICOCHET_OPS_DRAIN_DELAY: "2s" } })
      const { url } = yield* server.log("ops listening")
      const ready = `/run/told READY=1 STATUS=announced as ${server.peerId}, ops at ${url}\n`
      yield* eventually("it says that it is up", toldIn(told), (text) => text === ready)
      yield* server.signal("SIGTERM")
      yield* eventually(
        "it says that it stops",
        toldIn(told),
        (text) => text === `${ready}/run/told STOPPING=1 STATUS=stopping\n`,
        "1500 millis"
      )
      assert.deepStrictEqual(yield* server.ending, { code: 0, signal: null })
      assert.deepStrictEqual(
        server.logs().filter(({ msg }) => msg === untold),
        []
      )
    })
  )

  it.live("S12 says when its self-checks begin to fail, and when they pass again", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const told = join(directory, "told")
      const path = yield* standIn(`echo "$*" >> ${told}`)
      const server = yield* start({
        env: { ...path, NOTIFY_SOCKET: "/run/told" },
        args: ["--pg-host", "127.0.0.1", "--pg-port", "9", "--pg-sslmode", "disable"]
      })
      const { url } = yield* server.log("ops listening")
      yield* eventually(
        "it says that it is up, and unhealthy",
        toldIn(told),
        (text) =>
          text ===
          `READY=1 STATUS=self-check failed (postgres: refused); announced as ${server.peerId}, ops at ${url}\n`
      )
      assert.deepStrictEqual(yield* server.stop(), { code: 0, signal: null })
    })
  )

  it.live("runs and stops all the same, with one warning, where there is no systemd-notify", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.promise(() => mkdir(join(directory, "empty")))
      const server = yield* start({ env: { PATH: join(directory, "empty"), NOTIFY_SOCKET: "/run/told" } })
      const { error, level } = yield* server.log(untold)
      assert.deepStrictEqual({ error, level }, { error: "spawn systemd-notify ENOENT", level: "WARN" })
      assert.strictEqual((yield* server.readiness).status, 200)
      assert.deepStrictEqual(yield* server.stop(), { code: 0, signal: null })
      assert.strictEqual(server.logs().filter(({ msg }) => msg === untold).length, 1)
    })
  )

  it.live("N03 is not held up by a systemd-notify that hangs", () =>
    Effect.gen(function* () {
      const path = yield* standIn("exec sleep 20")
      const server = yield* start({ env: { ...path, NOTIFY_SOCKET: "/run/told" } })
      assert.strictEqual((yield* server.readiness).status, 200)
      const ending = yield* server.stop().pipe(Effect.timeout("3 seconds"))
      assert.deepStrictEqual(ending, { code: 0, signal: null })
    })
  )

  it.live.each([{}, { NOTIFY_SOCKET: "" }])("says nothing to anyone with %o", (env) =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const told = join(directory, "told")
      const path = yield* standIn(`echo "$*" >> ${told}`)
      const server = yield* start({ env: { ...path, ...env } })
      yield* server.log("failed to publish announcement")
      assert.deepStrictEqual(yield* server.stop(), { code: 0, signal: null })
      assert.strictEqual(yield* toldIn(told), "")
    })
  )
})

describe.skipIf(isMissing("systemd"))(named("systemd's own systemd-notify", "systemd"), () => {
  it.live("is understood by systemd's side of the socket", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const socket = join(directory, "notify")
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
