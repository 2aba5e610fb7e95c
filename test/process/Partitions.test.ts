/** A network of real servers that falls apart, changes meanwhile, and comes together again. */
import { isDeepStrictEqual } from "node:util"
import { describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as PostgresServer from "../storage/PostgresServer.ts"
import { eventually } from "./Eventually.ts"
import type { LinkState } from "./Link.ts"
import * as LinkedServers from "./LinkedServers.ts"
import { onPostgres } from "./OnPostgres.ts"
import { type Running, start } from "./ServerProcess.ts"
import { isMissing, named } from "./Tools.ts"

/** Source: case D01, which allows twice as much. */
const healsWithin = "60 seconds"

/** Each lists all others and nobody else, and has heard every one of them since this moment. */
const areWholeAnew = Effect.fnUntraced(function* (servers: ReadonlyArray<Running>) {
  const since = new Date(yield* Clock.currentTimeMillis).toISOString()
  const isWhole = (server: Running) =>
    eventually(
      "it lists all others, heard anew",
      server.services,
      ({ services }) =>
        services.every(({ last_heard }) => last_heard > since) &&
        isDeepStrictEqual(
          services.map(({ server_id }) => server_id).sort(),
          servers
            .filter((other) => other !== server)
            .map(({ peerId }) => peerId)
            .sort()
        ),
      healsWithin
    )
  yield* Effect.forEach(servers, isWhole, { concurrency: "unbounded", discard: true })
})

describe.skipIf(isMissing("postgres"))(named("a network that falls apart", "postgres"), () => {
  it.live(
    "D01 E06 R13 R15 is whole soon after it heals, and knows who came and who left meanwhile",
    () =>
      Effect.gen(function* () {
        const postgres = yield* PostgresServer.make()
        const linked = yield* LinkedServers.make(5, onPostgres(postgres))
        const begin = (server: number) => start(linked.options(server))
        const part = (left: ReadonlyArray<number>, right: ReadonlyArray<number>, state: LinkState) =>
          Effect.forEach(left, (one) => Effect.forEach(right, (other) => linked.between(one, other, state)))
        const [a, b, c, d] = yield* Effect.all([begin(0), begin(1), begin(2), begin(3)], { concurrency: 2 })
        yield* areWholeAnew([a, b, c, d])

        // In two halves that lost each other, and each notices.
        yield* part([0, 1, 4], [2, 3], "cut")
        yield* eventually("a has lost c", a.self, ({ neighbours }) => !neighbours.includes(c.peerId))
        const e = yield* begin(4)
        yield* e.says(a.peerId, { listed: true, reason: "available", connected: true })
        yield* a.lists([b.peerId, c.peerId, d.peerId, e.peerId])
        yield* c.lists([a.peerId, b.peerId, d.peerId])
        yield* part([0, 1, 4], [2, 3], "open")
        yield* areWholeAnew([a, b, c, d, e])

        // One cut off from all, that could not be told who left.
        yield* part([0], [1, 2, 3, 4], "cut")
        yield* eventually("a is alone", a.readiness, ({ alone_since, ready }) => alone_since !== null && ready)
        yield* d.stop()
        yield* c.says(d.peerId, { listed: false, reason: "unhealthy", connected: false })
        yield* a.lists([b.peerId, c.peerId, d.peerId, e.peerId])
        yield* part([0], [1, 2, 3, 4], "open")
        yield* areWholeAnew([a, b, c, e])

        // In two halves whose connections stand, and carry nothing.
        yield* part([0, 2], [1, 3, 4], "silent")
        const again = yield* begin(3)
        yield* again.says(b.peerId, { listed: true, reason: "available", connected: true })
        yield* again.says(a.peerId, { listed: true, reason: "available", connected: false })
        yield* part([0, 2], [1, 3, 4], "open")
        yield* areWholeAnew([a, b, c, e, again])
      }),
    180_000
  )
})
