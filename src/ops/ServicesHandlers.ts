/** `/services`, `/services/watch` and `/services/{peerId}`. */
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Gossip } from "../gossip/Gossip.ts"
import * as PeerId from "../identity/PeerId.ts"
import { stringify } from "../logging/InertText.ts"
import { Registry } from "../registry/Registry.ts"
import { quoted } from "./HttpDoor.ts"
import { OpsApi } from "./OpsApi.ts"
import { InvalidParameter, NeverHeard } from "./Problem.ts"
import { explain } from "./ServiceExplanation.ts"
import { ServiceListing } from "./ServiceListing.ts"
import { reachOf, Surroundings } from "./Surroundings.ts"
import { Watch } from "./Watch.ts"

/** Whether a reader has the body of that weak tag already. Source: RFC 9110, 13.1.2. */
const has = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.split(",").some((tag) => tag.trim() === "*" || `W/${tag.trim().replace(/^W\//, "")}` === etag)

export const layer = HttpApiBuilder.group(
  OpsApi,
  "services",
  Effect.fn(function* (handlers) {
    const registry = yield* Registry
    const { self } = yield* Gossip
    const listing = yield* ServiceListing
    const surroundings = yield* Surroundings
    const watch = yield* Watch

    const find = Effect.fn("Ops.find")(function* (text: string) {
      const parsed = PeerId.parse(text)
      if (Result.isFailure(parsed)) {
        const allowed = "a peer ID in base58 (12D3KooW…) or as CIDv1 (bafz…)"
        return yield* InvalidParameter.of([{ parameter: "peerId", found: quoted(text), allowed }])
      }
      const server = parsed.success
      const remains = yield* Effect.all({
        entry: registry.find(server),
        refusal: registry.refusalOf(server),
        eviction: registry.evictionOf(server)
      })
      const at = yield* surroundings.read
      const detail = explain(server, self, remains, at)
      if (detail !== undefined) {
        return HttpServerResponse.text(stringify(detail), { contentType: "application/json" })
      }
      return yield* new NeverHeard({
        detail: `${server} was never heard to announce itself, nor to say anything else`,
        server_id: server,
        listed: false,
        reason: "never-announced",
        ...reachOf(server, at)
      })
    })

    return handlers.handleAll({
      list: Effect.fn("Ops.list")(function* ({ query, request }) {
        const { etag, json } = yield* listing.list(query)
        const headers = { etag, "cache-control": "no-cache" }
        return has(request.headers["if-none-match"] ?? "", etag)
          ? HttpServerResponse.empty({ status: 304, headers })
          : HttpServerResponse.uint8Array(json, { contentType: "application/json", headers })
      }),
      watch: Effect.fn("Ops.watch")(function* ({ headers }) {
        const events = yield* watch.open(headers["last-event-id"])
        return HttpServerResponse.stream(events, { contentType: "text/event-stream" })
      }),
      find: ({ params }) => find(params.peerId)
    })
  })
)
