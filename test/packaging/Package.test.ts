/** What is published: packed and installed in an empty project, looked at by the tools of its readers, and used. */
import { execFile, spawnSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { build } from "vite"
import manifest from "../../package.json" with { type: "json" }
import { eventually } from "../process/Eventually.ts"
import { isMissing, named, oldNodePath } from "../process/Tools.ts"
import * as Examples from "./Examples.ts"
import { makeScratch, type Scratch } from "./Scratch.ts"

const root = new URL("../..", import.meta.url).pathname
const run = promisify(execFile)

let scratch: Scratch
beforeAll(async () => {
  scratch = await makeScratch()
}, 240_000)
afterAll(() => scratch?.remove())

const tool = (...args: ReadonlyArray<string>) =>
  run(
    process.execPath,
    args.map((arg, index) => (index === 0 ? join(root, "node_modules", arg) : arg))
  ).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => assert.fail(`${stdout}${stderr}`)
  )

describe("the package", () => {
  it("is one that publint has nothing to say of", async () => {
    const said = await tool("publint/src/cli.js", "run", scratch.tarball, "--strict")
    assert.match(said, /All good!/)
  })

  it("has types that resolve wherever the package does, which is from ES modules and bundlers", async () => {
    const said = await tool("@arethetypeswrong/cli/dist/index.js", scratch.tarball, "--profile", "esm-only")
    assert.match(said, /"ricochet-discovery\/testing"\s+node16 \(from ESM\): 🟢 \(ESM\)\s+bundler: 🟢/u)
  })

  it("is a `ricochet` that works", async () => {
    const ricochet = join(scratch.directory, "node_modules/.bin/ricochet")
    for (const node of Object.values(scratch.nodes)) {
      const { stdout } = await run(node, [ricochet, "--version"])
      assert.strictEqual(stdout, `ricochet v${manifest.version}\n`)
    }
  })

  it.skipIf(isMissing("old-node"))(named("says in one line that a Node is too old", "old-node"), () => {
    const oldNode = oldNodePath() ?? assert.fail("there is no Node older than 22 on the PATH")
    const ricochet = join(scratch.directory, "node_modules/.bin/ricochet")
    const { status, stderr, stdout } = spawnSync(oldNode, [ricochet, "--version"], { encoding: "utf8" })
    assert.strictEqual(status, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /^ricochet: Node \d+\.\d+\.\d+ is too old; Node 22\.19 or newer is needed\n$/)
  })
})

/** What a bundler makes of a program: the modules that are left, by their place in `node_modules`. */
const bundled = async (program: string): Promise<ReadonlyArray<string>> => {
  const input = join(scratch.directory, "program.js")
  await writeFile(input, program)
  const options = { ssr: true, write: false, rolldownOptions: { input } }
  const config = { root: scratch.directory, configFile: false, logLevel: "silent" } as const
  const results = await build({ ...config, ssr: { noExternal: true }, build: options })
  return [results]
    .flat()
    .flatMap((result) => ("output" in result ? result.output : []))
    .flatMap((chunk) => (chunk.type === "chunk" ? Object.entries(chunk.modules) : []))
    .flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? (id.split("/node_modules/").at(-1) ?? id) : []))
}

const heavy = /^(libp2p|@libp2p|@chainsafe|@electric-sql|@effect\/sql-pg|@effect\/platform-node|yaml)\//

describe("a bundle", () => {
  it("of a constant has nothing but the constant's module", async () => {
    const modules = await bundled(`export { announceTopic } from "ricochet-discovery"`)
    assert.deepStrictEqual(modules, ["ricochet-discovery/dist/gossip/Topic.js"])
  })

  it("of an application's part, which names services, has neither libp2p nor a database", async () => {
    const modules = await bundled(`export { Readiness, Servers } from "ricochet-discovery"`)
    assert.include(modules, "ricochet-discovery/dist/library/Servers.js")
    assert.deepStrictEqual(
      modules.filter((module) => heavy.test(module)),
      []
    )
  })
})

describe("the test kit", () => {
  it("loads neither libp2p, whose peer IDs apart, nor a database, nor what serves HTTP", async () => {
    const program = `
      import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      await import("ricochet-discovery/testing")
      console.log(JSON.stringify(loaded))`
    await writeFile(join(scratch.directory, "loads.js"), program)
    const { stdout } = await run(scratch.nodes[24], ["loads.js"], { cwd: scratch.directory })
    const urls: ReadonlyArray<string> = JSON.parse(stdout)
    const packages = new Set(urls.map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+\/)/.exec(url)?.[1] ?? ""))
    const unexpected = [...packages].filter((name) => heavy.test(name))
    assert.deepStrictEqual(unexpected.toSorted(), ["@libp2p/crypto/", "@libp2p/interface/", "@libp2p/peer-id/"])
  })
})

describe("the examples", () => {
  it("compile against the declarations of the package", async () => {
    const compilerOptions = {
      ...{ target: "es2024", lib: ["es2024", "esnext.disposable"], module: "nodenext", types: ["node"] },
      ...{ strict: true, noEmit: true, skipLibCheck: true }
    }
    const tsconfig = join(scratch.directory, "tsconfig.json")
    await writeFile(tsconfig, JSON.stringify({ compilerOptions, include: ["examples"] }))
    assert.strictEqual(await tool("typescript/bin/tsc", "-p", tsconfig), "")
  })

  describe.each(["22", "24"] as const)("under Node %s", (version) => {
    it("travel in time", async () => {
      const vitest = join(scratch.directory, "node_modules/vitest/vitest.mjs")
      const { stdout } = await run(scratch.nodes[version], [vitest, "run", "--root", scratch.directory, "examples"], {
        env: { PATH: process.env.PATH, NO_COLOR: "1" }
      })
      assert.match(stdout, /Tests +1 passed \(1\)/)
    }, 60_000)

    it.live(
      "find each other, route by region, carry another protocol, and leave the lists while a check of their own fails",
      () =>
        Effect.gen(function* () {
          const settings = { node: scratch.nodes[version], scratch: scratch.directory }
          const first = yield* Examples.startServer({ ...settings, file: "ComposedNode.ts" })
          const through = { ...settings, bootstrap: first.address }
          const [second, plain, checked, gateway] = yield* Effect.all(
            [
              Examples.startServer({ ...through, file: "ComposedNode.ts" }),
              Examples.startServer({ ...through, file: "PlainScript.ts" }),
              Examples.startServer({ ...through, file: "HealthCheck.ts", env: { SERVER_REGION: "eu-west" } }),
              Examples.start({ ...through, file: "Gateway.ts" })
            ],
            { concurrency: "unbounded" }
          )
          yield* Examples.lineOf(second, new RegExp(`^hello from ${first.serverId}$`))
          yield* Examples.lineOf(first, new RegExp(`^hello from ${second.serverId}$`))

          const [, url] = yield* Examples.lineOf(gateway, /Listening on (http:\S+)/)
          const answer = (path: string) =>
            Effect.promise(async () => {
              const response = await fetch(`${url}${path}`)
              const body: unknown = await response.json()
              return { status: response.status, body }
            })
          const routed = yield* eventually(
            "the gateway knows the server of the region",
            answer("/eu-west/mailboxes/alice"),
            ({ status }) => status === 200,
            "60 seconds"
          )
          assert.propertyVal(routed.body, "serverId", checked.serverId)
          assert.deepStrictEqual(yield* answer("/mars/mailboxes/alice"), {
            status: 503,
            body: { problem: "no server in mars" }
          })

          yield* Examples.lineOf(checked, /^[1-9]\d* available$/)
          yield* Examples.lineOf(plain, new RegExp(`^${checked.serverId} is available$`))
          yield* Effect.promise(() => writeFile(join(checked.directory, "maintenance"), ""))
          yield* Examples.lineOf(plain, new RegExp(`^${checked.serverId} is unhealthy$`))

          yield* plain.signal("SIGTERM")
          assert.deepStrictEqual(yield* plain.ending, { code: 0, signal: null })
        }),
      120_000
    )
  })
})
