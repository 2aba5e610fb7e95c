/** `/healthz` and `/readyz`. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Settings } from "../config/Settings.ts"
import { Connectivity } from "../gossip/Connectivity.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../gossip/Topic.ts"
import { Readiness } from "../health/Readiness.ts"
import { stringify } from "../logging/InertText.ts"
import { Intake } from "../registry/Intake.ts"
import { clockView } from "./ClockView.ts"
import { OpsApi } from "./OpsApi.ts"
import type { Readiness as ReadinessView } from "./ReadinessView.ts"
import { timeText } from "./ServiceRendering.ts"

export const layer = HttpApiBuilder.group(
  OpsApi,
  "health",
  Effect.fn(function* (handlers) {
    const { readinessTimeout } = (yield* Settings).ops
    const readiness = yield* Readiness
    const gossip = yield* Gossip
    const intake = yield* Intake
    const connectivity = yield* Connectivity

    const readyz = Effect.gen(function* () {
      const { checks, ready, reason } = yield* readiness.report(readinessTimeout)
      const [announce, heartbeat] = yield* Effect.all([
        gossip.topicPeers(announceTopic),
        gossip.topicPeers(heartbeatTopic)
      ])
      const { aloneSinceMillis } = yield* connectivity.status
      const view: ReadinessView = {
        ready,
        checks,
        draining: reason === "draining",
        topic_peers: { announce: announce.length, heartbeat: heartbeat.length },
        alone_since: aloneSinceMillis === undefined ? null : timeText(aloneSinceMillis),
        clock: clockView(yield* intake.ownClock)
      }
      return HttpServerResponse.text(stringify(view), {
        status: ready ? 200 : 503,
        contentType: "application/json"
      })
    })

    return handlers.handleAll({ healthz: () => Effect.succeed({ status: "ok" as const }), readyz: () => readyz })
  })
)
