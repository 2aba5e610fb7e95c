/** `/refusals`. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { topicLabel } from "../gossip/Topic.ts"
import { stringify } from "../logging/InertText.ts"
import { Registry } from "../registry/Registry.ts"
import { Tally } from "../registry/Tally.ts"
import { OpsApi } from "./OpsApi.ts"
import type { RefusalList } from "./RefusalList.ts"
import { refusalView } from "./ServiceExplanation.ts"

/** Signers named in one answer. */
const namedSigners = 64

export const layer = HttpApiBuilder.group(
  OpsApi,
  "refusals",
  Effect.fn(function* (handlers) {
    const registry = yield* Registry
    const tally = yield* Tally

    const refusals = Effect.gen(function* () {
      const latest = yield* registry.latestRefusals(namedSigners)
      const list: RefusalList = {
        counts: (yield* tally.read).flatMap(({ count, reason, topic, verdict }) =>
          verdict === "accept" || count === 0 ? [] : [{ topic: topicLabel[topic], reason, verdict, count }]
        ),
        signers: latest.map(({ signer, ...record }) => ({ server_id: signer, ...refusalView(record) }))
      }
      return HttpServerResponse.text(stringify(list), { contentType: "application/json" })
    })
    return handlers.handleAll({ refusals: () => refusals })
  })
)
