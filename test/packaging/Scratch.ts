/**
 * An empty project outside the repository that has the packed package, what the examples import beside it, and the
 * examples. It knows nothing of what is tried in it.
 */
import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import manifest from "../../package.json" with { type: "json" }

const root = new URL("../..", import.meta.url).pathname
const run = promisify(execFile)

export interface Scratch {
  readonly directory: string
  readonly tarball: string
  /** The oldest Node that the package takes, and the one of the suite. */
  readonly nodes: Readonly<Record<"22" | "24", string>>
  readonly remove: () => Promise<void>
}

const oldest = manifest.engines.node.replace(">=", "")

const versions: Readonly<Record<string, string>> = { ...manifest.dependencies, ...manifest.devDependencies }

/** What the examples import beside the package, and what compiles and runs them, in the versions of this project. */
const beside = [
  "@effect/platform-node",
  "@effect/vitest",
  "@libp2p/crypto",
  "@libp2p/interface",
  "@libp2p/noise",
  "@libp2p/peer-id",
  "@libp2p/tcp",
  "@libp2p/yamux",
  "@types/node",
  "effect",
  "libp2p",
  "vite",
  "vitest"
].map((name) => `${name}@${versions[name]}`)

const install = (directory: string, packages: ReadonlyArray<string>) =>
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...packages], { cwd: directory })

const project = async (directory: string) => {
  await mkdir(directory, { recursive: true })
  // A package `node` fetches its program when it is installed, which npm does for those that are listed alone.
  const content = { private: true, type: "module", allowScripts: { node: true } }
  await writeFile(join(directory, "package.json"), JSON.stringify(content))
}

/** Packs and installs. */
export const makeScratch = async (): Promise<Scratch> => {
  const directory = await mkdtemp(join(tmpdir(), "ricochet-scratch-"))
  const [packed, runtime] = [join(directory, "packed"), join(directory, "runtime")]
  await Promise.all([project(directory), project(packed), project(runtime)])
  const packing = run("npm", ["pack", "--pack-destination", packed], { cwd: root })
  await Promise.all([packing, install(runtime, [`node@${oldest}`])])
  const tarball = join(packed, (await readdir(packed)).find((name) => name.endsWith(".tgz")) ?? "nothing was packed")
  await install(directory, [tarball, ...beside])
  await cp(join(root, "test/examples"), join(directory, "examples"), { recursive: true })
  return {
    directory,
    tarball,
    nodes: { 22: join(runtime, "node_modules/.bin/node"), 24: process.execPath },
    remove: () => rm(directory, { recursive: true, force: true })
  }
}
