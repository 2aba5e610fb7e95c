/** Everything that is wrong with the configuration, found at once and told at once (R22). */
import { Schema } from "effect"
import { inert } from "../logging/InertText.ts"
import { nearest } from "./Nearest.ts"

/** One thing that is wrong with the configuration, and who has to change it. */
export class Problem extends Schema.Class<Problem>("Problem")({
  /** Who has to change something. */
  from: Schema.Literals(["file", "environment", "flags", "program"]),
  /** `config.yaml:3:5`, `RICOCHET_SERVER_PORT`, `--port`. */
  source: Schema.String,
  /** The setting, where the problem is about one: `server.port`, or an item of it: `server.bootstrap_peers[1]`. */
  path: Schema.optional(Schema.String),
  /** What is there: its kind, and its text where it is no secret. */
  found: Schema.String,
  allowed: Schema.optional(Schema.String),
  nearest: Schema.optional(Schema.String)
}) {
  /** The problem in one line, inert, of at most 600 characters. */
  get text(): string {
    const subject = this.path === undefined ? this.source : `${this.source}: ${this.path}`
    const allowed = this.allowed === undefined ? "" : `; allowed: ${this.allowed}`
    const hint = this.nearest === undefined ? "" : `; did you mean ${this.nearest}?`
    return inert(`${subject}: ${this.found}${allowed}${hint}`, 600)
  }
}

const most = 50

/**
 * The configuration cannot be used. Exit code 2 (bad usage) where a flag is among the problems, else 78 (bad
 * configuration).
 */
export class ConfigurationProblems extends Schema.TaggedError<ConfigurationProblems>()("ConfigurationProblems", {
  problems: Schema.Array(Problem)
}) {
  get exitCode(): 2 | 78 {
    return this.problems.some((problem) => problem.from === "flags") ? 2 : 78
  }

  override get message(): string {
    const [first, ...others] = this.problems
    if (first !== undefined && others.length === 0) return `bad configuration: ${first.text}`
    const shown = this.problems.slice(0, most).map((problem) => `\n  ${problem.text}`)
    const rest = this.problems.length - shown.length
    return `bad configuration, ${this.problems.length} problems:${shown.join("")}${rest > 0 ? `\n  and ${rest} more` : ""}`
  }
}

/**
 * The known path that an unknown one was probably meant to be. The same name in another section comes first, then the
 * nearest name in its own section, then the nearest anywhere.
 */
export const nearestPath = (path: string, known: ReadonlyArray<string>): string | undefined => {
  const dot = path.indexOf(".")
  const [section, name] = [path.slice(0, Math.max(dot, 0)), path.slice(dot + 1)]
  const nameOf = (candidate: string) => candidate.slice(candidate.indexOf(".") + 1)
  const nearestIn = (candidates: ReadonlyArray<string>) => {
    const found = nearest(name, candidates.map(nameOf))
    return candidates.find((candidate) => nameOf(candidate) === found)
  }
  return (
    known.find((candidate) => nameOf(candidate) === name) ??
    nearestIn(known.filter((candidate) => candidate.startsWith(`${section}.`))) ??
    nearestIn(known)
  )
}
