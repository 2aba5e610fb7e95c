/** What `/healthz` and `/readyz` answer. Source: specification, "The self-check and the uptime score" (S25). */
import { Schema } from "effect"
import { ClockView } from "./ClockView.ts"

export const Health = Schema.Struct({ status: Schema.tag("ok") }).annotate({ identifier: "Health" })

export const CheckView = Schema.Struct({
  ok: Schema.Boolean,
  error: Schema.optionalKey(Schema.String).annotate({ description: "what failed, without hosts, users or SQL" })
})

/** The peers that this node shares each topic with. */
export const TopicPeers = Schema.Struct({ announce: Schema.Int, heartbeat: Schema.Int })

export const Readiness = Schema.Struct({
  ready: Schema.Boolean,
  checks: Schema.Record(Schema.String, CheckView).annotate({
    description: "each readiness check; they alone, and draining, decide `ready`"
  }),
  draining: Schema.Boolean.annotate({ description: "whether this server is about to stop" }),
  topic_peers: TopicPeers,
  alone_since: Schema.NullOr(Schema.String).annotate({
    description: "RFC 3339: since when no peer is on a topic with this server; null when one is"
  }),
  clock: ClockView
}).annotate({ identifier: "Readiness" })
export type Readiness = typeof Readiness.Type
