/** `ricochet services`: the servers of the network as the server that is asked knows them, once or as they change. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { stringify } from "../logging/InertText.ts"
import * as Logging from "../logging/Logging.ts"
import type { ServiceQuery } from "../ops/OpsApi.ts"
import type { ServiceList } from "../ops/ServiceView.ts"
import type { WatchEvent } from "../ops/WatchEvent.ts"
import * as Contact from "./Contact.ts"
import * as OpsUrl from "./OpsUrl.ts"
import { outputClosed } from "./Process.ts"
import { toggle } from "./ServerFlags.ts"
import { narrowedTo } from "./ServicesNews.ts"
import { header, inStateOrder, ownLine, rowOf, summary, whyNobody } from "./ServicesTable.ts"
import * as ServicesWatch from "./ServicesWatch.ts"
import { render, sheetOn } from "./Table.ts"

const narrowing = (name: string, doc: string) =>
  Flag.String(name).pipe(Flag.withMetavar("text"), Flag.withDescription(doc), Flag.optional)

const flags = {
  capability: narrowing("capability", "Only servers that offer it."),
  region: narrowing("region", "Only servers in it, or that serve it."),
  all: toggle("all", "Also servers that are known and not available."),
  watch: toggle("watch", "Go on with every change, until interrupted."),
  json: toggle("json", "One line of JSON; with --watch, one for the list and one for each change."),
  url: OpsUrl.urlFlag
}

/** What the API is asked for. */
const queryOf = (given: {
  readonly all: boolean
  readonly capability: Option.Option<string>
  readonly region: Option.Option<string>
}): ServiceQuery => ({
  ...(given.all ? { available: "all" } : {}),
  ...(Option.isSome(given.capability) ? { capability: given.capability.value } : {}),
  ...(Option.isSome(given.region) ? { region: given.region.value } : {})
})

const printList = Effect.fnUntraced(function* ({ known, self, services }: ServiceList, query: ServiceQuery) {
  const terminal = yield* Logging.terminal
  const rows = services.length === 0 ? [] : [header, ...inStateOrder(services).map(rowOf)]
  for (const line of render(rows, sheetOn(terminal))) yield* Console.log(line)
  const isNarrowed = query.capability !== undefined || query.region !== undefined
  if (services.length === 0) yield* Console.error(`nobody is listed: ${whyNobody(known, isNarrowed)}`)
  if (terminal.isTerminal)
    yield* Console.log([...(services.length === 0 ? [] : ["", summary(known)]), ownLine(self)].join("\n"))
})

export const servicesCommand = Command.make(
  "services",
  flags,
  Effect.fn("services")(
    function* ({ json, url, watch, ...given }) {
      const contact = yield* Contact.make(yield* OpsUrl.find(url))
      const query = queryOf(given)
      if (watch) {
        const print = json ? ServicesWatch.printJson : ServicesWatch.printRows(sheetOn(yield* Logging.terminal))
        const newsIn = narrowedTo(query)
        const tell = (event: WatchEvent) => {
          const news = newsIn(event)
          return news === undefined ? Effect.void : print(news)
        }
        return yield* Effect.raceFirst(ServicesWatch.follow(contact, tell), outputClosed)
      }
      const list = yield* contact.ask((client) => client.services.list({ query }))
      yield* json ? Console.log(stringify(list)) : printList(list, query)
    },
    Effect.provide(Contact.layerHttp),
    Effect.provide(Logging.layerRemarks)
  )
).pipe(Command.withDescription("List the servers of the network"))
