/**
 * `node test/interop/differential.ts --count 1000000 --seed N`: prints where this server and the Go peer differ on
 * generated and mutated messages, and exits with 1 if a ruling does not say so.
 */
import { parseArgs } from "node:util"
import { differences } from "./Differences.ts"
import { build } from "./GoPeer.ts"

const { values } = parseArgs({ options: { count: { type: "string" }, seed: { type: "string" } } })
const count = Number(values.count ?? 1_000_000)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))

const { unexplained, ...report } = await differences(await build(), count, seed)
process.stdout.write(`${JSON.stringify({ seed, ...report }, null, 2)}\n`)
for (const difference of unexplained) process.stderr.write(`${difference.slice(0, 2_000)}\n`)
process.exitCode = unexplained.length > 0 ? 1 : 0
