/** An OpenTelemetry collector, as far as a test needs one: keeps what is posted to it, and answers or never does. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

export interface Collector {
  readonly url: string
  /** What was posted, by path. */
  readonly posted: ReadonlyMap<string, ReadonlyArray<string>>
  /** The `authorization` headers that it came with. */
  readonly authorizations: ReadonlySet<string | undefined>
}

export const collector = (behaviour: "answers" | "hangs" = "answers"): Effect.Effect<Collector, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Collector & { readonly close: () => void }>((resume) => {
      const posted = new Map<string, Array<string>>()
      const authorizations = new Set<string | undefined>()
      const server = createServer((request, response) => {
        const pieces: Array<Buffer> = []
        request.on("data", (data) => pieces.push(data))
        request.on("end", () => {
          const path = request.url ?? ""
          authorizations.add(request.headers.authorization)
          posted.set(path, [...(posted.get(path) ?? []), Buffer.concat(pieces).toString()])
          if (behaviour === "answers") response.end("{}")
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => void server.close().closeAllConnections()
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, posted, authorizations, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )
