/**
 * The program that tests start: the sources in one file, made once a run, since a start then computes less than half.
 * Where no run has made it, the sources themselves. That these run as they are, and as they are published, is
 * Starting's and Package's to show.
 */
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"

const root = new URL("../..", import.meta.url).pathname
const variable = "RICOCHET_TEST_PROGRAM"

/** The sources, as `npm start` runs them. */
export const sources = join(root, "src/bin.ts")

export const program = process.env[variable] ?? sources

/** For Vitest, before the first test. Gives what is to be done after the last. */
export const setup = async () => {
  if (process.env[variable] !== undefined) return
  const { build } = await import("vite")
  const cache = join(root, "node_modules/.cache")
  await mkdir(cache, { recursive: true })
  const directory = await mkdtemp(join(cache, "program-"))
  // As deep as the sources lie, for they look for the package beside them.
  const outDir = join(directory, "dist/program")
  await build({
    root,
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: true, external: ["@electric-sql/pglite"] },
    build: {
      ssr: sources,
      outDir,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { output: { chunkFileNames: "[name]-[hash].js" } }
    }
  })
  await cp(join(root, "package.json"), join(directory, "package.json"))
  await cp(join(root, "src/ops/page"), join(outDir, "page"), { recursive: true })
  process.env[variable] = join(outDir, "bin.js")
  return () => rm(directory, { recursive: true, force: true })
}
