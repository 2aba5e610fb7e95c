/** The whole command line: which commands there are, and how a misuse is told. */
import { Console, Effect, Layer } from "effect"
import { CliConfig, type CliError, CliOutput, Command, GlobalFlag, type HelpDoc } from "effect/cli"
import { nearest } from "../config/Nearest.ts"
import type { Settings } from "../config/Settings.ts"
import { inert } from "../logging/InertText.ts"
import { version } from "../ops/Version.ts"
import { configCommand } from "./ConfigCommand.ts"
import { doctorCommand } from "./DoctorCommand.ts"
import { identityCommand } from "./IdentityCommand.ts"
import { serve, serveCommand } from "./ServeCommand.ts"
import { configurationOf, ricochet } from "./ServerFlags.ts"
import { serviceCommand } from "./ServiceCommand.ts"
import { servicesCommand } from "./ServicesCommand.ts"
import { statusCommand } from "./StatusCommand.ts"

const hint = (meant: string | undefined) => (meant === undefined ? "" : `; did you mean ${meant}?`)

/** The flags that the command takes that was misused. */
const flagNames = ({ flags, globalFlags = [], inheritedFlags = [] }: HelpDoc.HelpDoc) =>
  [...flags, ...inheritedFlags, ...globalFlags].map(({ name }) => name.replace(/^-+/, ""))

/** One line: what is wrong, and what was probably meant. */
const usageText = (error: CliError.NonShowHelpErrors, help: HelpDoc.HelpDoc): string => {
  switch (error._tag) {
    case "UnrecognizedOption": {
      const meant = nearest(error.option.replace(/^-+/, ""), flagNames(help))
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
            ...mistakes(event.errors).map((error) => `ricochet: ${inert(usageText(error, event.helpDoc))}`),
            `Try ${event.commandPath.join(" ")} --help.`
          ].join("\n")
        )
      : CliOutput.defaultPresenter.present(event)
})

const layerFlags = CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })

/** Runs what the arguments say. `server` is the server as a layer. */
export const run = <E>(server: Layer.Layer<never, E, Settings>, argv: ReadonlyArray<string>) =>
  ricochet.pipe(
    Command.withDescription(
      "Service discovery of a Ricochet server. Without a subcommand it runs the server. Exit codes: 0 well, 1 failed, 2 bad usage, 3 the answer is no, 69 a port or the data directory is unavailable, 78 bad configuration or identity, 130 and 143 forced by a second signal."
    ),
    Command.withHandler((flags) => Effect.flatMap(configurationOf(flags), (loaded) => serve(server, loaded))),
    Command.withSubcommands([
      serveCommand(server),
      servicesCommand,
      serviceCommand,
      statusCommand,
      doctorCommand,
      configCommand,
      identityCommand
    ]),
    (command) => Command.runWith(command, { version })(argv),
    Effect.provide(Layer.merge(layerPresenter, layerFlags))
  )
