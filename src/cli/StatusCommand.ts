/** `ricochet status`: the server that is asked, at a glance. */
import { Clock, Console, Effect } from "effect"
import { Command } from "effect/cli"
import { stringify } from "../logging/InertText.ts"
import * as Logging from "../logging/Logging.ts"
import * as Contact from "./Contact.ts"
import * as OpsUrl from "./OpsUrl.ts"
import { AnswerIsNo } from "./Process.ts"
import { toggle } from "./ServerFlags.ts"
import { rowsOf } from "./StatusText.ts"
import { endlessSheetOn, render } from "./Table.ts"

export const statusCommand = Command.make(
  "status",
  { json: toggle("json", "One line of JSON."), url: OpsUrl.urlFlag },
  Effect.fn("status")(
    function* ({ json, url }) {
      const contact = yield* Contact.make(yield* OpsUrl.find(url))
      const [self, readiness] = yield* Effect.all(
        [contact.ask((client) => client.self()), contact.ask((client) => client.readyz())],
        { concurrency: "unbounded" }
      )
      if (json) yield* Console.log(stringify({ self, readiness }))
      else {
        const rows = rowsOf(self, readiness, yield* Clock.currentTimeMillis)
        const lines = render(rows, endlessSheetOn(yield* Logging.terminal))
        yield* Console.log(lines.join("\n"))
      }
      if (!readiness.ready) return yield* new AnswerIsNo()
    },
    Effect.provide(Contact.layerHttp),
    Effect.provide(Logging.layerRemarks)
  )
).pipe(
  Command.withDescription(
    "Show the server at a glance: readiness, score, topic peers, the servers it knows, clock, database, version. Exit code 3 when it is not ready."
  ),
  Command.withShortDescription("Show the server at a glance")
)
