/** The list of one server as it changes, read from `/services/watch`: who is available, and the moment it came to be so. */
import { get } from "node:http"
import { createInterface } from "node:readline"
import { Deferred, Effect, type Scope } from "effect"

export interface ListReader {
  /** Succeeds with the moment, in milliseconds of `performance.now()`, at which the list came to be like that. */
  until(holds: (available: ReadonlySet<string>) => boolean): Effect.Effect<number>
}

interface Entry {
  readonly server_id: string
  readonly state: string
}

/** Reads from now on, until the scope closes or the server ends. */
export const read = (url: string): Effect.Effect<ListReader, never, Scope.Scope> =>
  Effect.gen(function* () {
    const available = new Set<string>()
    const waiting = new Set<() => void>()
    const ready = yield* Deferred.make<void>()
    let changedMillis = performance.now()

    const set = (server: string, entry: Entry | null) => {
      if (entry?.state === "available") available.add(server)
      else available.delete(server)
    }
    const take = (data: string) => {
      const event = JSON.parse(data) as
        | { readonly services: ReadonlyArray<Entry> }
        | { readonly server_id: string; readonly service: Entry | null }
      changedMillis = performance.now()
      if ("services" in event) for (const entry of event.services) set(entry.server_id, entry)
      else set(event.server_id, event.service)
      Deferred.doneUnsafe(ready, Effect.void)
      for (const look of waiting) look()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        get(`${url}/services/watch`, { agent: false }, (response) => {
          response.on("error", () => {})
          createInterface({ input: response })
            .on("line", (line) => line.startsWith("data: ") && take(line.slice(6)))
            .on("error", () => {})
        }).on("error", () => {})
      ),
      (request) => Effect.sync(() => request.destroy())
    )
    yield* Deferred.await(ready)

    return {
      until: (holds) =>
        Effect.callback<number>((resume) => {
          const look = () => {
            if (!holds(available)) return
            waiting.delete(look)
            resume(Effect.succeed(changedMillis))
          }
          waiting.add(look)
          look()
          return Effect.sync(() => waiting.delete(look))
        })
    }
  })
