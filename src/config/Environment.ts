/** Settings from environment variables. An empty variable is an unset one (R22, L06). */
import { Redacted, Result } from "effect"
import { inert } from "../logging/InertText.ts"
import { Problem } from "./ConfigurationProblems.ts"
import * as DatabaseUrl from "./DatabaseUrl.ts"
import { bare, type Entry, type Warning } from "./Entry.ts"
import { type Path, paths, variableOf } from "./Keys.ts"
import { nearest } from "./Nearest.ts"

export type Environment = Readonly<Record<string, string | undefined>>

/** The file to read, as `--config` names it. */
export const configVariable = "RICOCHET_CONFIG"
/** Another place for `/etc/ricochet/config.yaml`: read when it exists. For packagers. */
export const defaultConfigVariable = "RICOCHET_DEFAULT_CONFIG"
/** The identity's Ed25519 seed, 64 hex digits. */
export const seedVariable = "RICOCHET_SEED_HEX"
/** The database password. `RICOCHET_DATABASE_PASSWORD` is the same and comes first. */
export const passwordVariable = "RICOCHET_PG_PASSWORD"

const variables = new Set([
  configVariable,
  defaultConfigVariable,
  seedVariable,
  passwordVariable,
  ...paths.map(variableOf)
])

export interface FromEnvironment {
  readonly entries: ReadonlyArray<Entry>
  readonly seedHex: Redacted.Redacted | undefined
  readonly problems: ReadonlyArray<Problem>
  readonly warnings: ReadonlyArray<Warning>
}

/** The value of a variable, where it is set and not empty. */
export const nonEmpty = (environment: Environment, variable: string): string | undefined =>
  environment[variable] === "" ? undefined : environment[variable]

const prefix = "RICOCHET_"
const seedForm = /^[\da-f]{64}$/i

/** Everything the environment sets, lowest precedence first. */
export const read = (environment: Environment): FromEnvironment => {
  const entries: Array<Entry> = []
  const problems: Array<Problem> = []
  const warnings: Array<Warning> = []
  const set = (path: Path, text: string, source: string) =>
    entries.push({ path, raw: bare(path, [text]), from: "environment", source })

  const url = nonEmpty(environment, DatabaseUrl.variable)
  if (url !== undefined) {
    Result.match(DatabaseUrl.parse(url), {
      onFailure: (problem) => problems.push(problem),
      onSuccess: ({ settings, withoutEffect }) => {
        for (const { path, text } of settings) set(path, text, DatabaseUrl.variable)
        if (withoutEffect.length > 0) {
          const parameters = inert(withoutEffect.join(", "), 200)
          warnings.push({ message: "parameters of DATABASE_URL have no effect here", facts: { parameters } })
        }
      }
    })
  }
  const password = nonEmpty(environment, passwordVariable)
  if (password !== undefined) set("database.password", password, passwordVariable)
  for (const path of paths) {
    const text = nonEmpty(environment, variableOf(path))
    if (text !== undefined) set(path, text, variableOf(path))
  }

  const seed = nonEmpty(environment, seedVariable)
  if (seed !== undefined && !seedForm.test(seed)) {
    const found = "a text of another form (not shown)"
    problems.push(new Problem({ from: "environment", source: seedVariable, found, allowed: "64 hex digits" }))
  }

  // Other software may use the prefix, so an unknown variable is no problem, only probably one.
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(prefix) || variables.has(variable)) continue
    const hint = nearest(
      variable.slice(prefix.length),
      Array.from(variables, (known) => known.slice(prefix.length))
    )
    warnings.push({
      message: "unknown environment variable has no effect",
      facts: { variable: inert(variable, 100), ...(hint === undefined ? {} : { did_you_mean: prefix + hint }) }
    })
  }
  return { entries, seedHex: seed === undefined ? undefined : Redacted.make(seed), problems, warnings }
}
