/** `ricochet service`: all that the server that is asked knows of one other, and why it lists it or does not (R21). */
import { Clock, Console, Effect, Result } from "effect"
import { Argument, Command } from "effect/cli"
import { parse } from "../identity/PeerId.ts"
import { stringify } from "../logging/InertText.ts"
import * as Logging from "../logging/Logging.ts"
import * as Contact from "./Contact.ts"
import * as OpsUrl from "./OpsUrl.ts"
import * as Prefix from "./Prefix.ts"
import { AnswerIsNo } from "./Process.ts"
import { toggle } from "./ServerFlags.ts"
import { rowsOf } from "./ServiceText.ts"
import { endlessSheetOn, render } from "./Table.ts"

/** Every server that the one that is asked could name. */
const candidates = Effect.fnUntraced(function* (contact: Contact.Contact) {
  const [{ self, services }, { neighbours }, { signers }] = yield* Effect.all(
    [
      contact.ask((client) => client.services.list({ query: { available: "all" } })),
      contact.ask((client) => client.self()),
      contact.ask((client) => client.refusals())
    ],
    { concurrency: "unbounded" }
  )
  return [self, ...services, ...signers].map(({ server_id }) => server_id).concat(neighbours)
})

/** A whole peer ID is taken as it is, in whatever form; anything else is the beginning of one. */
const resolve = (text: string, contact: Contact.Contact) =>
  Result.isSuccess(parse(text))
    ? Effect.succeed(text)
    : Effect.flatMap(candidates(contact), (known) => Effect.fromResult(Prefix.resolve(text, known)))

const find = (contact: Contact.Contact, peerId: string) =>
  contact
    .ask((client) => client.services.find({ params: { peerId } }))
    .pipe(
      Effect.map((answer) => ({ answer, known: answer })),
      Effect.catchTag("NeverHeard", (answer) => {
        const { addresses, connected, listed, reason, server_id } = answer
        return Effect.succeed({
          answer: { server_id, listed, reason, connected, addresses },
          known: { server_id, reason: "never-heard" as const, connected, addresses }
        })
      })
    )

export const serviceCommand = Command.make(
  "service",
  {
    peerId: Argument.String("peer-id").pipe(
      Argument.withDescription(
        "The server's peer ID, or as much of its beginning as tells it apart; 12D3KooW can be left out."
      )
    ),
    json: toggle("json", "One line of JSON."),
    url: OpsUrl.urlFlag
  },
  Effect.fn("service")(
    function* ({ json, peerId, url }) {
      const contact = yield* Contact.make(yield* OpsUrl.find(url))
      const { answer, known } = yield* find(contact, yield* resolve(peerId, contact))
      if (json) yield* Console.log(stringify(answer))
      else {
        const rows = rowsOf(known, yield* Clock.currentTimeMillis)
        const lines = render(rows, endlessSheetOn(yield* Logging.terminal))
        yield* Console.log(lines.join("\n"))
      }
      if (!answer.listed && known.reason !== "self") return yield* new AnswerIsNo()
    },
    Effect.provide(Contact.layerHttp),
    Effect.provide(Logging.layerRemarks)
  )
).pipe(
  Command.withDescription(
    "Tell all that is known of a server, whether it is listed, and if not, why not and since when. Exit code 3 when it is not listed."
  ),
  Command.withShortDescription("Tell why a server is listed or not, and all that is known of it")
)
