/** What a server process may write to its log, and how it may end. It knows nothing of lists. */
import type { Ending } from "../process/Child.ts"

/** What was last done to it that ends a process. */
export type Fate = "none" | "stop" | "crash"

/** Words for an operator that no honest network of servers on one clock has reason for. */
const unfounded = [
  "rejected message",
  "more rejected messages, not a fault of this server",
  "another server is publishing as this one",
  "two servers seem to publish as one",
  "more servers seem to publish as one",
  "clock of a server is off",
  "more clocks of servers are off",
  "this server's clock is off",
  "neighbour kept out",
  "registry is full",
  "directory not received",
  "farewell failed",
  "farewell not ended within the shutdown timeout",
  "libp2p did not stop in time"
]

/** What is wrong with a line of its output, if anything. `isLast`: nothing came after it. */
export const judgeLine = (line: string, fate: Fate, isLast: boolean): string | undefined => {
  const parsed = parseLine(line)
  // A process that is killed is cut off in the middle of a word.
  if (parsed === undefined) return fate === "crash" && isLast ? undefined : "writes what is no log line"
  if (parsed.level === "ERROR" || parsed.level === "FATAL") return `logs at ${parsed.level}`
  return parsed.level === "WARN" && unfounded.includes(String(parsed.msg)) ? "warns without reason" : undefined
}

/** The facts of a log line; nothing of what is none, or only half of one. */
export const parseLine = (line: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const parsed: unknown = JSON.parse(line)
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : undefined
  } catch {
    return undefined
  }
}

/** What is wrong with its end, if anything. `hasBegun`: its first line was out before it was told to stop. */
export const judgeEnding = ({ code, signal }: Ending, fate: Fate, hasBegun: boolean): string | undefined => {
  const end = signal === null ? `with code ${code}` : `by ${signal}`
  if (fate === "none") return `ends by itself, ${end}`
  if (fate === "crash") return signal === "SIGKILL" ? undefined : `ends ${end}, and was killed`
  // Before that the process is Node's, which ends without a word.
  const isLawful = code === 0 || (signal === "SIGTERM" && !hasBegun)
  return isLawful ? undefined : `ends ${end}, and was told to stop`
}
