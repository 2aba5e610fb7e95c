/**
 * `npm run soak -- --minutes 10 --servers 6 --seed 1`: a network of real servers under random troubles. Prints what it
 * does and, at the end, a summary; exits with 1 if a server or a list was ever other than it had to be.
 */
import { parseArgs } from "node:util"
import { Cause, Effect, Exit, Fiber } from "effect"
import { soak, succeeds, summary } from "./Soak.ts"

const print = (line: string) => void process.stdout.write(`${line}\n`)
const fail = (problem: string): never => {
  process.stderr.write(`${problem}\nusage: npm run soak -- [--minutes N] [--servers N] [--seed N]\n`)
  process.exit(2)
}
const number = (name: string, text: string, least: number, most: number): number => {
  const value = Number(text)
  return text !== "" && value >= least && value <= most
    ? value
    : fail(`--${name} has to be a number from ${least} to ${most}`)
}

const read = () => {
  try {
    const text = { type: "string" } as const
    return parseArgs({ options: { minutes: text, servers: text, seed: text } }).values
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}
const values = read()
const options = {
  // Two servers have no third to tell them anything; a crashed one is listed for two hours, no round is that long.
  minutes: number("minutes", values.minutes ?? "10", 0, 10_000),
  servers: Math.floor(number("servers", values.servers ?? "6", 3, 25)),
  seed: Math.floor(number("seed", values.seed ?? String(Math.floor(Math.random() * 2 ** 31)), 0, 2 ** 32 - 1)),
  print
}
const again = `--minutes ${options.minutes} --servers ${options.servers} --seed ${options.seed}`
print(`soak ${again}`)
const running = Effect.runFork(Effect.scoped(soak(options)))
// Whatever was started ends with it, also where somebody loses patience.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => running.interruptUnsafe())
const exit = await Effect.runPromise(Fiber.await(running))
if (Exit.isSuccess(exit)) for (const line of summary(exit.value)) print(line)
else if (!Exit.hasInterrupts(exit)) process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
print(`the same troubles again: npm run soak -- ${again}`)
process.exit(succeeds(exit) ? 0 : 1)
