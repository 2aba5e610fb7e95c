/**
 * The flags that every command takes, made from the table of settings, and the command that carries them. Their values
 * are read where those of the file are, so that one message tells everything that is wrong.
 */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Configuration from "../config/Configuration.ts"
import { keyAt, type Path, paths } from "../config/Keys.ts"
import type { Preset } from "../config/Resolve.ts"

const metavars = { list: "address", literal: "number", text: "text" } as const

const settingFlag = (path: Path, name: string) => {
  const { kind, doc, default: standard } = keyAt(path)
  const written = kind.shape === "list" ? undefined : kind.write(standard)
  return Flag.String(name).pipe(
    Flag.withMetavar(metavars[kind.shape]),
    Flag.withDescription(written === undefined ? doc : `${doc} Default ${written}.`),
    Flag.atLeast(0)
  )
}

const settings: Readonly<Record<string, Flag.Flag<ReadonlyArray<string>>>> = Object.fromEntries(
  paths.flatMap((path) => {
    const { flag } = keyAt(path)
    return flag === undefined ? [] : [[path, settingFlag(path, flag)]]
  })
)

const preset = (name: Preset, doc: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(doc), Flag.withDefault(false), Flag.withoutNegation)

const flags = {
  development: preset("development", "Settings for trying it out: short intervals, mDNS, debug log."),
  production: preset("production", "Settings for servers with room: larger storage budget and pool."),
  config: Flag.String("config").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("Configuration file. Default /etc/ricochet/config.yaml where it exists."),
    Flag.optional
  ),
  settings
}

/** `ricochet` with the flags of the server, before it does anything. */
export const ricochet = Command.make("ricochet").pipe(Command.withSharedFlags(flags))

/** The configuration that file, environment and these flags make. */
export const configurationOf = (given: Command.Command.Config.Infer<typeof flags>) =>
  Configuration.load({
    flags: {
      presets: (["development", "production"] as const).filter((name) => given[name]),
      config: Option.getOrUndefined(given.config),
      values: given.settings
    },
    environment: process.env
  })

/** The same, for a command below `ricochet`. */
export const configuration = Effect.flatMap(ricochet, configurationOf)
