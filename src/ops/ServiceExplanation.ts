/** Why a server is listed, or is not, in one answer (R21, O04). Pure; the reasons themselves are Query's. */
import { Option } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import * as Query from "../registry/Query.ts"
import { verdictOf } from "../registry/Refusal.ts"
import type { RefusalRecord } from "../registry/Registry.ts"
import { entryOf, timeText } from "./ServiceRendering.ts"
import type { ServiceDetail, WhyReason } from "./ServiceView.ts"
import { type Moment, reachOf } from "./Surroundings.ts"

export const refusalView = ({ count, detail, lastWallMillis, reason }: RefusalRecord) => ({
  reason,
  verdict: verdictOf[reason],
  detail,
  count,
  last: timeText(lastWallMillis)
})

interface Answer {
  readonly reason: WhyReason
  readonly explanation: string
  readonly sinceMillis: number | undefined
}

const ofSelf: Answer = {
  reason: "self",
  explanation: "it is this server, which does not list itself",
  sinceMillis: undefined
}

const sentences = {
  unhealthy: "its last self-check failed",
  silent: "it was not heard for more than two hours",
  "never-announced": "it sends heartbeats but was not heard to announce itself"
} as const

/** The same of a server whose last words were a goodbye (R13). */
const sentencesOfStopped = {
  ...sentences,
  unhealthy: "it was stopped in order",
  silent: "it was stopped in order, and was not heard for more than two hours"
} as const

/** Undefined where nothing is known of the peer. */
const answerOf = (why: Query.Why, isStopped: boolean): Answer | undefined => {
  switch (why.state) {
    case "listed":
      return {
        reason: "available",
        explanation: "its last self-check passed and it was heard within two hours",
        sinceMillis: why.sinceMillis
      }
    case "refused": {
      const { count, detail, lastWallMillis, reason } = why.refusal
      const explanation = `${count} of its messages did not count, the last one as ${reason}: ${detail}`
      return { reason: "refused", explanation, sinceMillis: lastWallMillis }
    }
    case "evicted": {
      const { reason, wallMillis } = why.eviction
      return {
        reason: "evicted",
        explanation: `it had to make room in a full registry: ${reason}`,
        sinceMillis: wallMillis
      }
    }
    case "unknown":
      return undefined
    default:
      return {
        reason: why.state,
        explanation: (isStopped ? sentencesOfStopped : sentences)[why.state],
        sinceMillis: why.sinceMillis
      }
  }
}

/** All that is known of a peer; undefined where nothing is. */
export const explain = (
  server: PeerId,
  self: PeerId,
  remains: Query.Remains,
  at: Moment
): ServiceDetail | undefined => {
  const known = Option.getOrUndefined(remains.entry)
  const answer = server === self ? ofSelf : answerOf(Query.why(remains, at.now), known?.saidGoodbye === true)
  if (answer === undefined) return undefined
  const { explanation, reason, sinceMillis } = answer
  const refusal = Option.getOrUndefined(remains.refusal)
  const eviction = Option.getOrUndefined(remains.eviction)
  return {
    server_id: server,
    listed: reason === "available",
    reason,
    explanation,
    since: sinceMillis === undefined ? null : timeText(sinceMillis),
    ...reachOf(server, at),
    refused: refusal === undefined ? null : refusalView(refusal),
    evicted: eviction === undefined ? null : { time: timeText(eviction.wallMillis), reason: eviction.reason },
    service: (known && entryOf(known, at)) ?? null,
    recent: known?.recent.map(({ healthy, wallMillis }) => ({ time: timeText(wallMillis), healthy })) ?? []
  }
}
