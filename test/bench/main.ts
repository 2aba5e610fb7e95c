/**
 * `npm run bench [name…] [-- --flag=…]`: the benchmarks by name, or all of them. Each prints what it compared, with
 * units. The flags are those of the benchmarks themselves.
 */
import { Cause, Effect, Exit, Fiber } from "effect"
import { crowd } from "./Crowd.ts"
import { discovery } from "./Discovery.ts"
import { endToEnd } from "./EndToEnd.ts"
import { machine, print } from "./Figures.ts"
import { memory } from "./Memory.ts"
import { services } from "./Services.ts"
import { verdicts } from "./Verdicts.ts"

const benchmarks: Readonly<Record<string, Effect.Effect<void>>> = {
  verdicts,
  "end-to-end": endToEnd,
  discovery,
  services,
  memory,
  crowd
}

const asked = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))
const unknown = asked.filter((name) => !Object.hasOwn(benchmarks, name))
if (unknown.length > 0) {
  process.stderr.write(`no such benchmark: ${unknown.join(", ")}; there are ${Object.keys(benchmarks).join(", ")}\n`)
  process.exit(2)
}
print(machine())
const chosen = Object.entries(benchmarks).filter(([name]) => asked.length === 0 || asked.includes(name))
const running = Effect.runFork(Effect.scoped(Effect.forEach(chosen, ([, benchmark]) => benchmark, { discard: true })))
// Whatever was started ends with it, also where somebody loses patience.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => running.interruptUnsafe())
const exit = await Effect.runPromise(Fiber.await(running))
if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
process.exit(Exit.isSuccess(exit) ? 0 : 1)
