/** The whole command line: which commands there are, and how a misuse is told. */
import { Console, Effect, Layer } from "effect"
import { CliConfig, type CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import { keyAt, paths } from "../config/Keys.ts"
import { nearest } from "../config/Nearest.ts"
import type { Settings } from "../config/Settings.ts"
import { inert } from "../logging/InertText.ts"
import { version } from "../ops/Version.ts"
import { configCommand } from "./ConfigCommand.ts"
import { identityCommand } from "./IdentityCommand.ts"
import { serve, serveCommand } from "./ServeCommand.ts"
import { configurationOf, ricochet } from "./ServerFlags.ts"
import { servicesCommand } from "./ServicesCommand.ts"

const flagNames = [
  ...paths.flatMap((path) => keyAt(path).flag ?? []),
  "development",
  "production",
  "config",
  "version",
  "completions",
  "help",
  "check",
  "create"
]

const hint = (meant: string | undefined) => (meant === undefined ? "" : `; did you mean ${meant}?`)

/** One line: what is wrong, and what was probably meant. */
const usageText = (error: CliError.NonShowHelpErrors): string => {
  switch (error._tag) {
    case "UnrecognizedOption": {
      const meant = nearest(error.option.replace(/^-+/, ""), flagNames)
      return `unknown flag ${error.option}${hint(meant === undefined ? undefined : `--${meant}`)}`
    }
    case "UnknownSubcommand":
      return `unknown command "${error.subcommand}"${hint(error.suggestions[0])}`
    default:
      return error.message
  }
}

/** The value of an unknown flag looks like a command, which is no second mistake. */
const mistakes = (errors: ReadonlyArray<CliError.NonShowHelpErrors>) => {
  const flags = errors.filter(({ _tag }) => _tag === "UnrecognizedOption")
  return flags.length > 0 ? flags : errors
}

/** Help that was asked for is an answer; a misuse is told in as many lines as it has mistakes, on standard error. */
const layerPresenter = CliOutput.layerPresenter({
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
          [
            ...mistakes(event.errors).map((error) => `ricochet: ${inert(usageText(error))}`),
            "Try ricochet --help."
          ].join("\n")
        )
      : CliOutput.defaultPresenter.present(event)
})

const layerFlags = CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })

/** Runs what the arguments say. `server` is the server as a layer. */
export const run = <E>(server: Layer.Layer<never, E, Settings>, argv: ReadonlyArray<string>) =>
  ricochet.pipe(
    Command.withDescription("A Ricochet server's service discovery"),
    Command.withHandler((flags) => Effect.flatMap(configurationOf(flags), (loaded) => serve(server, loaded))),
    Command.withSubcommands([serveCommand(server), servicesCommand, configCommand, identityCommand]),
    (command) => Command.runWith(command, { version })(argv),
    Effect.provide(Layer.merge(layerPresenter, layerFlags))
  )
