/** `npm run bench [name…]`: the benchmarks by name, or all of them. Each prints what it compared, with units. */
import { Effect } from "effect"
import { endToEnd } from "./EndToEnd.ts"
import { machine, print } from "./Figures.ts"
import { verdicts } from "./Verdicts.ts"

const benchmarks: Readonly<Record<string, Effect.Effect<void>>> = { verdicts, "end-to-end": endToEnd }

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(benchmarks, name))
if (unknown.length > 0) {
  process.stderr.write(`no such benchmark: ${unknown.join(", ")}; there are ${Object.keys(benchmarks).join(", ")}\n`)
  process.exit(2)
}
print(machine())
const chosen = Object.entries(benchmarks).filter(([name]) => asked.length === 0 || asked.includes(name))
await Effect.runPromise(Effect.scoped(Effect.forEach(chosen, ([, benchmark]) => benchmark, { discard: true })))
process.exit(0)
