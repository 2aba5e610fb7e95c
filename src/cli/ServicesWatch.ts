/** `ricochet services --watch`: follows a server's watch for as long as there is a reader, and says what it tells. */
import { Console, Effect, Schedule, Stream } from "effect"
import { textOf } from "../logging/FactText.ts"
import { stringify } from "../logging/InertText.ts"
import type { ServiceEntry } from "../ops/ServiceView.ts"
import type { WatchEvent } from "../ops/WatchEvent.ts"
import type { Contact } from "./Contact.ts"
import type { News } from "./ServicesNews.ts"
import { goneRow, header, inStateOrder, rowOf } from "./ServicesTable.ts"
import { line, type Row, type Sheet, widthsOf } from "./Table.ts"

/** Between two tries to get a watch back that was lost. */
const again = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("10 seconds")])

/**
 * Tells every event of the server's watch. Fails when the server cannot be asked at first; a watch that is lost later
 * is taken up again where it was, for as long as that takes.
 */
export const follow = Effect.fnUntraced(function* (contact: Contact, tell: (event: WatchEvent) => Effect.Effect<void>) {
  let lastId: string | undefined
  const open = Effect.suspend(() =>
    contact.ask(({ services }) => services.watch({ headers: lastId === undefined ? {} : { "last-event-id": lastId } }))
  )
  let events = yield* open
  while (true) {
    const error = yield* events.pipe(
      Stream.runForEach((event) => {
        lastId = event.id
        return tell(event)
      }),
      Effect.catch(contact.explain),
      Effect.match({ onFailure: textOf, onSuccess: () => "the server ended it" })
    )
    yield* Effect.logWarning("watch lost, trying again").pipe(Effect.annotateLogs({ url: contact.url, error }))
    events = yield* Effect.retry(open, again)
    yield* Effect.logWarning("watch is back").pipe(Effect.annotateLogs({ url: contact.url }))
  }
})

/** Prints each piece of news as a line of JSON. */
export const printJson = (news: News): Effect.Effect<void> => Console.log(stringify(news))

/** What is worth a line when it changes: not the age, nor the jitter of a clock. */
const substance = ({ connected, region, state, stopped, uptime_score }: ServiceEntry) =>
  stringify([state, stopped, uptime_score, region, connected])

/** Room for what later rows may say. */
const widest: Row = ["unannounced", "100.0%", "-", "12h 59m ago", "+59.9s"].map((text) => ({ text }))

/** Prints the list as a table, and a further row for each change that shows in one. */
export const printRows = (sheet: Sheet): ((news: News) => Effect.Effect<void>) => {
  const printed = new Map<string, string>()
  let widths: ReadonlyArray<number> = []
  const print = (row: Row) => Console.log(line(row, widths, sheet))
  return (news) => {
    if (news.event === "snapshot") {
      const rows = [header, ...inStateOrder(news.services).map(rowOf)]
      widths = widthsOf([widest, ...rows])
      printed.clear()
      for (const entry of news.services) printed.set(entry.server_id, substance(entry))
      return Effect.forEach(rows, print, { discard: true })
    }
    const { server_id, service } = news
    if (service === null) {
      printed.delete(server_id)
      return print(goneRow(server_id))
    }
    const told = substance(service)
    if (printed.get(server_id) === told) return Effect.void
    printed.set(server_id, told)
    return print(rowOf(service))
  }
}
