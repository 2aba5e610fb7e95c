/** `node test/fuzz/main.ts --count 1000000 --seed N`: prints what it found, and exits with 1 if that is a breach. */
import { parseArgs } from "node:util"
import { fuzz } from "./Fuzz.ts"

const { values } = parseArgs({ options: { count: { type: "string" }, seed: { type: "string" } } })
const count = Number(values.count ?? 1_000_000)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))

const { breaches, slowest, ...report } = fuzz(count, seed)
const ratio = report.slowestMicros / report.medianMicros
process.stdout.write(`${JSON.stringify({ seed, ...report, ratio, slowest: slowest.slice(0, 200) }, null, 2)}\n`)
for (const breach of breaches) process.stderr.write(`${breach}\n`)
process.exitCode = breaches.length > 0 || ratio >= 20 ? 1 : 0
