/** `/self`. */
import { Clock, Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type BootstrapStatus, Connectivity } from "../gossip/Connectivity.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../gossip/Topic.ts"
import { SelfCheck, type SelfCheckRecord } from "../health/SelfCheck.ts"
import { stringify } from "../logging/InertText.ts"
import { Intake } from "../registry/Intake.ts"
import { Registry } from "../registry/Registry.ts"
import { Database } from "../storage/Database.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import { clockView } from "./ClockView.ts"
import { OpsApi } from "./OpsApi.ts"
import { OwnEntry } from "./OwnEntry.ts"
import type { SelfView } from "./SelfView.ts"
import { countStates, timeText } from "./ServiceRendering.ts"
import { Surroundings } from "./Surroundings.ts"
import { version } from "./Version.ts"

const seconds = (millis: number) => Math.round(millis) / 1000

const checkView = ({ durationMillis, errorClass, ok, startedWallMillis }: SelfCheckRecord) => ({
  time: timeText(startedWallMillis),
  ok,
  duration_seconds: seconds(durationMillis),
  ...(errorClass === undefined ? {} : { error: errorClass })
})

const bootstrapView = ({ address, isConnected, lastError, nextTryInMillis, peer }: BootstrapStatus) => ({
  address,
  peer: peer ?? null,
  connected: isConnected,
  last_error: lastError ?? null,
  next_try_seconds: nextTryInMillis === undefined ? null : seconds(nextTryInMillis)
})

export const layer = HttpApiBuilder.group(
  OpsApi,
  "self",
  Effect.fn(function* (handlers) {
    const gossip = yield* Gossip
    const registry = yield* Registry
    const intake = yield* Intake
    const selfCheck = yield* SelfCheck
    const database = yield* Effect.serviceOption(Database)
    const ownEntry = yield* OwnEntry
    const connectivity = yield* Connectivity
    const surroundings = yield* Surroundings
    const steady = yield* SteadyClock
    const startedWallMillis = yield* Clock.currentTimeMillis
    const startedSteadyMillis = yield* steady.nowMillis

    const self = Effect.gen(function* () {
      const at = yield* surroundings.read
      const entries = yield* registry.entries
      const { aloneSinceMillis, bootstrap } = yield* connectivity.status
      const view: SelfView = {
        announcement: yield* ownEntry.read,
        version,
        started: timeText(startedWallMillis),
        uptime_seconds: Math.floor((at.now.steadyMillis - startedSteadyMillis) / 1000),
        database: Option.match(database, { onNone: () => "none", onSome: ({ kind }) => kind }),
        self_checks: (yield* selfCheck.history).map(checkView),
        topic_peers: {
          announce: yield* gossip.topicPeers(announceTopic),
          heartbeat: yield* gossip.topicPeers(heartbeatTopic)
        },
        alone_since: aloneSinceMillis === undefined ? null : timeText(aloneSinceMillis),
        bootstrap: bootstrap.map(bootstrapView),
        connections: (yield* gossip.connections).length,
        neighbours: [...at.neighbours],
        clock: clockView(yield* intake.ownClock),
        servers: countStates(entries, at)
      }
      return HttpServerResponse.text(stringify(view), { contentType: "application/json" })
    })
    return handlers.handleAll({ self: () => self })
  })
)
