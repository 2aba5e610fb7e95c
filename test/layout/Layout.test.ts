/**
 * The laws of the layout: that the linter's import laws bite, and what the linter cannot say (names of files, who may
 * be imported for its types alone).
 */
import { execFile } from "node:child_process"
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, extname, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"

const root = new URL("../..", import.meta.url).pathname
const run = promisify(execFile)

interface Finding {
  readonly category: string
  readonly message: string
  readonly location: { readonly path: string; readonly start: { readonly line: number } }
}

/** What the linter, with this project's laws, finds in files that are not this project's. */
const lint = async (directory: string): Promise<ReadonlyArray<Finding>> => {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome")
  const options = ["lint", "--vcs-enabled=false", "--max-diagnostics=none", "--reporter=json", "."]
  const { stdout } = await run(process.execPath, [biome, ...options], { cwd: directory }).catch((error) => error)
  return JSON.parse(stdout).diagnostics
}

/** A file that one line would make break a law, and the same line where it is lawful. */
const laws: ReadonlyArray<{ law: string; line: string; broken: string; lawful: string }> = [
  {
    law: "a pure room imports data modules of effect only",
    line: `export { Effect } from "effect"`,
    broken: "src/registry/Judge.ts",
    lawful: "src/registry/Intake.ts"
  },
  {
    law: "a pure room does not read a clock",
    line: `export { now } from "../time/Now.ts"`,
    broken: "src/registry/Query.ts",
    lawful: "src/registry/Served.ts"
  },
  {
    law: "a pure room does not touch the machine",
    line: `export { readFile } from "node:fs/promises"`,
    broken: "src/health/UptimeScore.ts",
    lawful: "src/config/File.ts"
  },
  {
    law: "libp2p is known only to its gossip and to identity",
    line: `export { createLibp2p } from "libp2p"`,
    broken: "src/gossip/Gossip.ts",
    lawful: "src/gossip/GossipLibp2pNode.ts"
  },
  {
    law: "the modules of libp2p are known only to its gossip and to identity",
    line: `export { noise } from "@libp2p/noise"`,
    broken: "src/announcing/Goodbye.ts",
    lawful: "src/identity/Key.ts"
  },
  {
    law: "a deferred import is an import",
    line: `export const open = () => import("libp2p")`,
    broken: "src/ops/Handlers.ts",
    lawful: "src/identity/Loaded.ts"
  },
  {
    law: "SQL is known only to storage",
    line: `export { SqlClient } from "effect/sql"`,
    broken: "src/registry/Kept.ts",
    lawful: "src/storage/Kept.ts"
  },
  {
    law: "the embedded database is known only to storage",
    line: `export { PGlite } from "@electric-sql/pglite"`,
    broken: "src/main.ts",
    lawful: "src/storage/Embedded.ts"
  },
  {
    law: "the platform is known only to the front door and the serving file of ops",
    line: `export { NodeServices } from "@effect/platform-node"`,
    broken: "src/ops/OpsApi.ts",
    lawful: "src/ops/OpsServer.ts"
  },
  {
    law: "nothing imports main.ts",
    line: `export { main } from "../main.ts"`,
    broken: "src/testing/Server.ts",
    lawful: "src/cli/Serve.ts"
  },
  {
    law: "nothing imports cli/",
    line: `export { flags } from "../cli/Flags.ts"`,
    broken: "src/config/Layers.ts",
    lawful: "src/cli/Config.ts"
  },
  {
    law: "time comes from the clock",
    line: "export const at = Date.now()",
    broken: "src/ops/Ages.ts",
    lawful: "test/ops/Ages.ts"
  }
]

describe("the linter's laws", () => {
  let directory: string
  let findings: ReadonlyArray<Finding>

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "ricochet-laws-"))
    await copyFile(join(root, "biome.json"), join(directory, "biome.json"))
    for (const path of new Set(laws.flatMap(({ broken, lawful }) => [broken, lawful]))) {
      await mkdir(join(directory, dirname(path)), { recursive: true })
      const lines = laws.flatMap(({ broken, lawful, line }) => (path === broken || path === lawful ? [line] : []))
      await writeFile(join(directory, path), `${lines.join("\n")}\n`)
    }
    findings = await lint(directory)
  })
  afterAll(() => rm(directory, { recursive: true }))

  it.each(laws)("$law", ({ broken, lawful }) => {
    const found = (path: string) =>
      findings
        .filter(({ category, location }) => category.startsWith("lint/style/noRestricted") && location.path === path)
        .map(({ location }) => location.start.line)
    assert.deepStrictEqual({ broken: found(broken), lawful: found(lawful) }, { broken: [1], lawful: [] })
  })
})

describe("the rooms", () => {
  let sources: ReadonlyArray<string>

  beforeAll(async () => {
    const entries = await readdir(join(root, "src"), { recursive: true, withFileTypes: true })
    sources = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  })

  it("hold modules named after their main noun, and lower-case front doors at the top", () => {
    const strange = sources
      .filter((path) => extname(path) === ".ts")
      .map((path) => path.slice(root.length))
      .filter((path) =>
        dirname(path) === "src"
          ? !/^[A-Za-z]+\.ts$/.test(basename(path))
          : !/^[A-Z][A-Za-z0-9]*\.ts$/.test(basename(path))
      )
    assert.deepStrictEqual(strange, [])
  })

  it("have no drawer for odds and ends", async () => {
    const tests = await readdir(join(root, "test"), { recursive: true })
    const drawers = [...sources, ...tests].filter((path) =>
      /(^|\/)(utils?|commons?|helpers?|types?|misc|shared)(\.ts)?(\/|$)/i.test(path)
    )
    assert.deepStrictEqual(drawers, [])
  })

  it("know the services of pure rooms' neighbours by their types alone", async () => {
    const pure = ["registry/Wire.ts", "registry/Judge.ts", "registry/Query.ts", "health/UptimeScore.ts"]
    const acting = /^import (?!type )[^"]*"[./]*(?:gossip\/Gossip|(?:registry\/)?Registry)\.ts"/gm
    const found = await Promise.all(
      pure.map(async (path) => ({ path, imports: (await readFile(join(root, "src", path), "utf8")).match(acting) }))
    )
    assert.deepStrictEqual(
      found,
      pure.map((path) => ({ path, imports: null }))
    )
  })
})
