/** A start that fails: with the exit code and the line that say why, nothing published, and nothing left behind. */
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { launch, type ServerOptions, sideBySide, start, temporaryDirectory } from "./ServerProcess.ts"

/** How such a start ends and what it says on stderr. */
const refused = Effect.fnUntraced(function* (options: ServerOptions) {
  const server = yield* launch(options)
  const { code } = yield* server.ending.pipe(Effect.timeout("40 seconds"))
  return { code, text: server.stderr.join("\n"), server }
})

/** A TCP port of the loopback that is taken. */
const takenPort = Effect.map(
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer()
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  ),
  (server) => (server.address() as AddressInfo).port
)

const listenOn = (port: number) => ({ RICOCHET_SERVER_LISTEN_ADDRESSES: `/ip4/127.0.0.1/tcp/${port}` })

describe("a start that fails", sideBySide, () => {
  it.live("R22 R23 L02 a mistyped key and a wrong variable are told at once, with 78; with a wrong flag it is 2", () =>
    Effect.gen(function* () {
      const wrong = { config: "intervals:\n  helth_check_min: 1\n", env: { RICOCHET_OPS_DRAIN_DELAY: "soon" } }
      assert.strictEqual((yield* refused(wrong)).code, 78)
      const { code, server, text } = yield* refused({ ...wrong, args: ["--ops-port", "70000"] })
      assert.strictEqual(code, 2)
      for (const part of [
        "helth_check_min",
        "health_check_min",
        "config.yaml:2",
        "RICOCHET_OPS_DRAIN_DELAY",
        "soon",
        "--ops-port",
        "70000"
      ]) {
        assert.include(text, part)
      }
      assert.deepStrictEqual(server.logs(), [])
    })
  )

  it.live("L01 a file that is named and not there is told: with 78, or 2 where a flag names it", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* refused({ env: { RICOCHET_CONFIG: "/nowhere/config.yaml" } })).code, 78)
      const { code, text } = yield* refused({ args: ["--config", "/nowhere/config.yaml"] })
      assert.strictEqual(code, 2)
      assert.include(text, "/nowhere/config.yaml")
    })
  )

  it.live("R23 bad usage ends with 2", () =>
    Effect.gen(function* () {
      const { code, text } = yield* refused({ args: ["--prot", "1"] })
      assert.strictEqual(code, 2)
      assert.include(text, "--prot")
    })
  )

  it.live("M01 the libp2p port taken is told with its listener, with 69", () =>
    Effect.gen(function* () {
      const port = yield* takenPort
      const { code, text } = yield* refused({ env: listenOn(port) })
      assert.strictEqual(code, 69)
      assert.include(text, `/ip4/127.0.0.1/tcp/${port}`)
      assert.include(text, `port ${port} is in use`)
      assert.strictEqual(text.split("\n").length, 1)
    })
  )

  it.live("M01 M05 R23 the HTTP port taken is told with 69, and nobody has heard of the server", () =>
    Effect.gen(function* () {
      const port = yield* takenPort
      const neighbour = yield* start({ args: ["--log-level", "debug"] })
      const { code, text } = yield* refused({ args: ["--ops-port", String(port), "--bootstrap", neighbour.address] })
      assert.strictEqual(code, 69)
      assert.include(text, `127.0.0.1:${port}`)
      assert.include(text, "ops")
      const { services } = yield* neighbour.services
      assert.deepStrictEqual(services, [])
      assert.notInclude(neighbour.stdout.join("\n"), "discovered server")
    })
  )

  it.live("M01 with both ports taken, one of them is told, with 69", () =>
    Effect.gen(function* () {
      const [libp2p, http] = [yield* takenPort, yield* takenPort]
      const { code, text } = yield* refused({ env: listenOn(libp2p), args: ["--ops-port", String(http)] })
      assert.strictEqual(code, 69)
      assert.match(text, new RegExp(`${libp2p}|${http}`))
    })
  )

  it.live("R23 a data directory in use is told with the process that holds it, with 69", () =>
    Effect.gen(function* () {
      const holder = yield* start()
      const { code, text } = yield* refused({ directory: holder.directory })
      assert.strictEqual(code, 69)
      assert.include(text, `process ${holder.pid}`)
      assert.include(text, join(holder.directory, "data"))
    })
  )

  it.live("R18 H01 a damaged key file is told with 78 and stays as it is", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const file = join(directory, "data", "peer_identity.key")
      const damaged = Buffer.alloc(64, 7)
      yield* Effect.promise(async () => {
        await mkdir(join(directory, "data"), { mode: 0o700 })
        await writeFile(file, damaged, { mode: 0o600 })
      })
      const { code, text } = yield* refused({ directory })
      assert.strictEqual(code, 78)
      assert.include(text, file)
      assert.deepStrictEqual(yield* Effect.promise(() => readFile(file)), damaged)
    })
  )

  it.live("H02 a seed that is no seed is told with 78, and not printed", () =>
    Effect.gen(function* () {
      const seed = "0x7e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d"
      const { code, text } = yield* refused({ env: { RICOCHET_SEED_HEX: seed } })
      assert.strictEqual(code, 78)
      assert.include(text, "RICOCHET_SEED_HEX")
      assert.notInclude(text, seed.slice(2))
    })
  )
})
