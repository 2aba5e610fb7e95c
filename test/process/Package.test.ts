/** What is published: packed, installed in an empty folder, and run as a user runs it. */
import { execFile, spawnSync } from "node:child_process"
import { readdir, readFile } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryDirectory } from "./ServerProcess.ts"

const root = new URL("../..", import.meta.url).pathname
const run = promisify(execFile)

/** A Node on this machine that is older than the package takes, if there is one. */
const oldNode = (process.env.PATH ?? "")
  .split(delimiter)
  .map((directory) => join(directory, "node"))
  .find((node) => /^v(1\d|20|21)\./.test(spawnSync(node, ["--version"], { encoding: "utf8" }).stdout ?? ""))

describe("the package", () => {
  it.live(
    "installs from its tarball in an empty folder as a `ricochet` that works, and says in one line that a Node is too old",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const ricochet = join(directory, "node_modules", ".bin", "ricochet")
        const { version, output } = yield* Effect.promise(async () => {
          await run("npm", ["pack", "--pack-destination", directory], { cwd: root })
          const tarball = (await readdir(directory)).find((name) => name.endsWith(".tgz")) ?? ""
          await run("npm", ["init", "-y"], { cwd: directory })
          await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", `./${tarball}`], {
            cwd: directory
          })
          const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
          const { stdout } = await run(process.execPath, [ricochet, "--version"], { cwd: directory })
          return { version, output: stdout }
        })
        assert.strictEqual(output, `ricochet v${version}\n`)
        if (oldNode === undefined) return
        const { status, stderr, stdout } = spawnSync(oldNode, [ricochet, "--version"], { encoding: "utf8" })
        assert.strictEqual(status, 1)
        assert.strictEqual(stdout, "")
        assert.match(stderr, /^ricochet: Node \d+\.\d+\.\d+ is too old; Node 22\.19 or newer is needed\n$/)
      }),
    240_000
  )
})
