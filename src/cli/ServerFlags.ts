/**
 * The flags that say what a server is like, made from the table of settings, and the command that carries them. Every
 * command takes those that say where a server is. Their values are read where those of the file are, so that one
 * message tells everything that is wrong.
 */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Configuration from "../config/Configuration.ts"
import { keyAt, type Path, paths } from "../config/Keys.ts"

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

type SettingFlags = Readonly<Record<string, Flag.Flag<ReadonlyArray<string>>>>

const settingFlags = (chosen: ReadonlyArray<Path>): SettingFlags =>
  Object.fromEntries(
    chosen.flatMap((path) => {
      const { flag } = keyAt(path)
      return flag === undefined ? [] : [[path, settingFlag(path, flag)]]
    })
  )

/** A flag that is given or not. */
export const toggle = (name: string, doc: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(doc), Flag.withDefault(false), Flag.withoutNegation)

/** Settings that also those commands read which only ask a server. */
const settingsOfAll: ReadonlyArray<Path> = ["ops.port"]

const sharedFlags = {
  development: toggle("development", "Settings for trying it out: short intervals, mDNS, debug log."),
  production: toggle("production", "Settings for servers with room: larger storage budget and pool."),
  config: Flag.String("config").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("Configuration file. Default /etc/ricochet/config.yaml where it exists."),
    Flag.optional
  ),
  whereabouts: settingFlags(settingsOfAll)
}

/** The flags of a command that reads the whole configuration of a server. */
export const serverFlags = { settings: settingFlags(paths.filter((path) => !settingsOfAll.includes(path))) }

/** The flags of a command that asks where a server keeps its key. */
export const identityFlags = { settings: settingFlags(["storage.data_directory", "server.identity_file"]) }

/** `ricochet` with the flags of the server, before it does anything. */
export const ricochet = Command.make("ricochet", serverFlags).pipe(Command.withSharedFlags(sharedFlags))

type Shared = Command.Command.Config.Infer<typeof sharedFlags>
type Given = Command.Command.Config.Infer<typeof serverFlags>

/** The configuration that file, environment and these flags make. */
export const configurationOf = (given: Shared & Given) =>
  Configuration.load({
    flags: {
      presets: (["development", "production"] as const).filter((name) => given[name]),
      config: Option.getOrUndefined(given.config),
      values: { ...given.whereabouts, ...given.settings }
    },
    environment: process.env
  })

/** The same, for a command below `ricochet` with what it was given itself. */
export const configuration = ({ settings }: Given = { settings: {} }) =>
  Effect.flatMap(ricochet, (shared) => configurationOf({ ...shared, settings }))
