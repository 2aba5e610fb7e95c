/**
 * `ricochet config`: what is in force and why, as a configuration file that would make it so. Secrets are masked, and
 * commented out, since a mask is no password.
 */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import type { Loaded } from "../config/Configuration.ts"
import { keyAt, sectionOf } from "../config/Keys.ts"
import type { Effective } from "../config/Resolve.ts"
import { inert } from "../logging/InertText.ts"
import * as Logging from "../logging/Logging.ts"
import { configuration, serverFlags, toggle } from "./ServerFlags.ts"

/** The file, each setting with its unit and its source beside it. */
export const render = ({ sources, settings, file }: Loaded): string => {
  const lines = [
    `# configuration file: ${file === undefined ? "none" : inert(file)}`,
    `# preset: ${settings.preset ?? "none"}`
  ]
  let section = ""
  for (const effective of sources) {
    if (section !== sectionOf(effective.path)) {
      section = sectionOf(effective.path)
      const isUnused = section === "database" && settings.database.kind === "embedded"
      lines.push("", isUnused ? "# database: embedded, in the data directory" : `${section}:`)
    }
    if (section !== "database" || settings.database.kind !== "embedded") lines.push(line(effective))
  }
  if (settings.seedHex !== undefined) lines.push("", "# identity: from RICOCHET_SEED_HEX")
  return lines.join("\n")
}

const line = ({ path, value, source }: Effective): string => {
  const { kind, unit } = keyAt(path)
  const name = path.slice(path.indexOf(".") + 1)
  const isShown = value !== undefined && !kind.isSecret
  const written = `  ${isShown ? "" : "# "}${name}: ${value ?? "not set"}`
  return `${written}  # ${unit === undefined ? "" : `${unit}; `}${inert(source)}`
}

export const configCommand = Command.make(
  "config",
  {
    check: toggle(
      "check",
      "Print only whether it is valid, and what is wrong or worth a remark; the exit code says it too."
    ),
    ...serverFlags
  },
  Effect.fn("config")(function* ({ check, settings }) {
    const loaded = yield* configuration({ settings })
    for (const { message, facts } of loaded.warnings) {
      yield* Effect.logWarning(message).pipe(Effect.annotateLogs(facts))
    }
    yield* Console.log(check ? "configuration is valid" : render(loaded))
  }, Effect.provide(Logging.layerRemarks))
).pipe(
  Command.withDescription(
    "Print the configuration in force as a file that would make it so, with the source of each value, secrets masked. Exit code 78 when file or environment are wrong, 2 when a flag is."
  ),
  Command.withShortDescription("Print the configuration in force with the source of each value")
)
