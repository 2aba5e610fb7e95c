/**
 * `ricochet doctor`: works through what can be wrong with a server, and says of each what to do. Where no server
 * answers, it looks at what one would stand on.
 */
import { Clock, Console, Effect, type Option, Result } from "effect"
import { Command } from "effect/cli"
import type { Loaded } from "../config/Configuration.ts"
import { stringify } from "../logging/InertText.ts"
import * as Logging from "../logging/Logging.ts"
import { version } from "../ops/Version.ts"
import * as Contact from "./Contact.ts"
import { diagnose } from "./Diagnosis.ts"
import { bad, type Finding, isWell, note, ok, render } from "./Finding.ts"
import * as OpsUrl from "./OpsUrl.ts"
import { AnswerIsNo } from "./Process.ts"
import { configuration, serverFlags, toggle } from "./ServerFlags.ts"
import { endlessSheetOn } from "./Table.ts"
import { list, whole } from "./Words.ts"

const examine = Effect.fnUntraced(function* (url: string) {
  const contact = yield* Contact.make(url)
  const [self, readiness, refusals] = yield* Effect.all(
    [
      contact.ask((client) => client.self()),
      contact.ask((client) => client.readyz()),
      contact.ask((client) => client.refusals())
    ],
    { concurrency: "unbounded" }
  )
  return { url, self, readiness, refusals }
})

const diagnosisAt = (url: string) =>
  Effect.gen(function* () {
    const examined = yield* examine(url)
    return diagnose(examined, { version, nowMillis: yield* Clock.currentTimeMillis })
  })

const noProcess = (error: Contact.Explained | OpsUrl.NowhereToAsk): Finding =>
  error instanceof Contact.NoAnswer
    ? bad("process", `no server answers at ${whole(error.url)}: ${error.problem}`, Contact.whereToAsk)
    : bad("process", whole(error.message))

const remarks = ({ file, warnings }: Loaded): ReadonlyArray<Finding> => {
  const found = warnings.map(({ facts, message }) => {
    const about = Object.entries(facts).map(([name, value]) => `${name} ${value}`)
    return note("configuration", about.length === 0 ? whole(message) : `${whole(message)} (${list(about)})`)
  })
  return found.length > 0
    ? found
    : [ok("configuration", file === undefined ? "no file; defaults, environment, flags" : whole(file))]
}

/** Loaded where no server answers: it knows of identities and addresses. */
const loadGround = Effect.promise(() => import("./Ground.ts"))

const around = Effect.fnUntraced(function* (loaded: Loaded) {
  const seen = yield* Effect.fromResult(OpsUrl.urlOf(loaded.settings.ops)).pipe(
    Effect.flatMap(diagnosisAt),
    Effect.result
  )
  if (Result.isSuccess(seen)) return [...remarks(loaded), ...seen.success]
  const ground = yield* loadGround
  return [...remarks(loaded), noProcess(seen.failure), ...(yield* ground.examine(loaded.settings))]
})

/** A server elsewhere is asked and nothing else: the configuration here is not its own. */
const findings = Effect.fnUntraced(function* (url: Option.Option<string>, given: Parameters<typeof configuration>[0]) {
  if (url._tag === "Some") {
    const read = yield* Effect.fromResult(OpsUrl.read(url.value))
    return yield* diagnosisAt(read).pipe(Effect.catch((error) => Effect.succeed([noProcess(error)])))
  }
  const loaded = yield* Effect.result(configuration(given))
  if (Result.isSuccess(loaded)) return yield* around(loaded.success)
  if (loaded.failure.exitCode === 2) return yield* loaded.failure
  return loaded.failure.problems.map(({ text }) => bad("configuration", whole(text)))
})

export const doctorCommand = Command.make(
  "doctor",
  { json: toggle("json", "One line of JSON."), url: OpsUrl.urlFlag, ...serverFlags },
  Effect.fn("doctor")(
    function* ({ json, url, settings }) {
      const found = yield* findings(url, { settings })
      if (json) yield* Console.log(stringify({ well: isWell(found), findings: found }))
      else yield* Console.log(render(found, endlessSheetOn(yield* Logging.terminal)).join("\n"))
      if (!isWell(found)) return yield* new AnswerIsNo()
    },
    Effect.provide(Contact.layerHttp),
    Effect.provide(Logging.layerRemarks)
  )
).pipe(
  Command.withDescription(
    "Find out what is wrong with a server, and what to do about it: whether it runs, is ready, has company, whom it refuses and why, its clock and its database. Where none runs: its configuration, data directory, ports, and whether bootstrap peers and database can be reached. Exit code 3 when something is wrong."
  ),
  Command.withShortDescription("Find out what is wrong with a server, and what to do about it")
)
