/**
 * The settings in force: preset, then file, then environment, then flags, each over the one before (R22). Nothing is
 * guessed: what cannot be read stops the start, with everything that is wrong told at once.
 */
import { homedir } from "node:os"
import { type Duration, Effect, type Redacted, Result } from "effect"
import { inert } from "../logging/InertText.ts"
import * as ConfigFile from "./ConfigFile.ts"
import { type ConfigurationProblems, nearestPath, Problem } from "./ConfigurationProblems.ts"
import { bare, type Entry, type Warning } from "./Entry.ts"
import * as Environment from "./Environment.ts"
import * as FileText from "./FileText.ts"
import { isPath, keyAt, type Path, paths, type Values } from "./Keys.ts"
import type { Raw } from "./Kind.ts"
import { type Effective, type Preset, type Resolved, resolve } from "./Resolve.ts"
import type { SettingsShape } from "./Settings.ts"

/** What the command line says: texts as they were written, more than one where a flag is given again. */
export interface Flags {
  readonly presets: ReadonlyArray<Preset>
  readonly config: string | undefined
  readonly values: { readonly [P in Path]?: ReadonlyArray<string> }
}

export interface Loaded {
  readonly settings: SettingsShape
  /** Every setting in force with its source, for `ricochet config`. */
  readonly sources: ReadonlyArray<Effective>
  /** For the log, once there is one. */
  readonly warnings: ReadonlyArray<Warning>
  /** The configuration file that was read, if any. */
  readonly file: string | undefined
}

const defaultFile = "/etc/ricochet/config.yaml"

/** Reads file, environment and flags. Fails with every problem in all of them. */
export const load = Effect.fn("Configuration.load")(function* (input: {
  readonly flags: Flags
  readonly environment: Environment.Environment
}) {
  const { flags, environment } = input
  const file = yield* readFile(flags, environment)
  const fromEnvironment = Environment.read(environment)
  const fromFlags = paths.flatMap((path): ReadonlyArray<Entry> => {
    const texts = flags.values[path] ?? []
    return texts.length === 0
      ? []
      : [{ path, raw: bare(path, texts), from: "flags", source: `--${keyAt(path).flag ?? path}` }]
  })
  const resolved: Resolved = yield* Effect.fromResult(
    resolve({
      preset: flags.presets[0],
      entries: [...file.entries, ...fromEnvironment.entries, ...fromFlags],
      seedHex: fromEnvironment.seedHex,
      home: Environment.nonEmpty(environment, "HOME") ?? homedir(),
      problems: [...file.problems, ...fromEnvironment.problems, ...presetProblems(flags.presets)]
    })
  )
  const withoutEffect: ReadonlyArray<Warning> =
    file.withoutEffect.length === 0
      ? []
      : [{ message: "settings without effect here", facts: { keys: inert(file.withoutEffect.join(", "), 1_000) } }]
  const loaded: Loaded = {
    settings: resolved.settings,
    sources: resolved.sources,
    warnings: [...withoutEffect, ...fromEnvironment.warnings, ...resolved.warnings],
    file: file.name
  }
  return loaded
})

/** A setting as a program gives it: as the file would hold it, an interval as minutes, another duration as `"2s"`. */
type Given<A> = A extends Duration.Duration
  ? number | string
  : A extends Redacted.Redacted
    ? string
    : A extends ReadonlyArray<string>
      ? ReadonlyArray<string>
      : A

export type GivenValues = { readonly [P in Path]?: Given<NonNullable<Values[P]>> | undefined }

/** Values by their path, as entries of the program that gives them. */
export const entriesOf = (values: GivenValues): ReadonlyArray<Entry> =>
  paths.flatMap((path): ReadonlyArray<Entry> => {
    const value: unknown = values[path]
    return value === undefined ? [] : [{ path, raw: rawOf(value), from: "program", source: "program" }]
  })

/**
 * The settings for a program that composes the server itself: defaults, a preset, and values by their path in the
 * file, held to the same rules: `fromValues({ "server.port": 0, "ops.drain_delay": "2s" })`. It reads neither file nor
 * environment.
 */
export const fromValues = (
  values: GivenValues,
  preset?: Preset
): Result.Result<SettingsShape, ConfigurationProblems> => {
  const problems = Object.keys(values)
    .filter((path) => !isPath(path))
    .map((path) => {
      const nearest = nearestPath(path, paths)
      return new Problem({ from: "program", source: "program", path: inert(path, 100), found: "unknown key", nearest })
    })
  return Result.map(
    resolve({ preset, entries: entriesOf(values), seedHex: undefined, home: homedir(), problems }),
    ({ settings }) => settings
  )
}

const rawOf = (value: unknown): Raw =>
  Array.isArray(value)
    ? { type: "list", items: value.map(rawOf) }
    : { type: "scalar", text: String(value), quoted: typeof value === "string" }

const presetProblems = (presets: ReadonlyArray<Preset>): ReadonlyArray<Problem> => {
  if (presets.length < 2) return []
  const source = presets.map((preset) => `--${preset}`).join(" ")
  return [new Problem({ from: "flags", source, found: "presets that contradict each other", allowed: "one of them" })]
}

/** The file that a flag or a variable names, which has to be there, or else the one in its usual place. */
const readFile = Effect.fnUntraced(function* (flags: Flags, environment: Environment.Environment) {
  const variable = Environment.nonEmpty(environment, Environment.configVariable)
  const [from, name, asked] =
    flags.config !== undefined
      ? (["flags", flags.config, "--config "] as const)
      : variable !== undefined
        ? (["environment", variable, `${Environment.configVariable} `] as const)
        : (["file", Environment.nonEmpty(environment, Environment.defaultConfigVariable) ?? defaultFile, ""] as const)
  const shown = inert(name, 200)
  const nothing = { name: undefined, entries: [], withoutEffect: [], problems: [] }
  return yield* FileText.read(name).pipe(
    Effect.map((text) => ({ name, ...ConfigFile.parse(shown, text) })),
    Effect.catch(({ found, isMissing }) =>
      Effect.succeed(
        isMissing && asked === ""
          ? nothing
          : { ...nothing, problems: [new Problem({ from, source: `${asked}${shown}`, found })] }
      )
    )
  )
})
