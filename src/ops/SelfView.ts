/** What `/self` answers: all that an operator asks of his own server. */
import { Schema } from "effect"
import { ClockView } from "./ClockView.ts"
import { SelfEntry, StateCounts } from "./ServiceView.ts"

/** One of the last 288 self-checks. */
export const SelfCheckView = Schema.Struct({
  time: Schema.String.annotate({ description: "RFC 3339, UTC" }),
  ok: Schema.Boolean,
  duration_seconds: Schema.Finite,
  error: Schema.optionalKey(Schema.String).annotate({ description: "what failed, without hosts, users or SQL" })
})

/** A configured address to start from, and how it goes with it. */
export const BootstrapView = Schema.Struct({
  address: Schema.String,
  peer: Schema.NullOr(Schema.String),
  connected: Schema.Boolean,
  last_error: Schema.NullOr(Schema.String),
  next_try_seconds: Schema.NullOr(Schema.Finite)
}).annotate({ identifier: "Bootstrap" })

export const SelfView = Schema.Struct({
  announcement: SelfEntry,
  version: Schema.String,
  started: Schema.String.annotate({ description: "RFC 3339, UTC" }),
  uptime_seconds: Schema.Finite,
  database: Schema.Literals(["postgres", "embedded", "none"]).annotate({
    description: "none: an application runs this server without one"
  }),
  self_checks: Schema.Array(SelfCheckView).annotate({ description: "oldest first, at most 288" }),
  topic_peers: Schema.Struct({
    announce: Schema.Array(Schema.String),
    heartbeat: Schema.Array(Schema.String)
  }).annotate({ description: "the peers that this node shares each topic with" }),
  alone_since: Schema.NullOr(Schema.String).annotate({ description: "RFC 3339: since when no peer is on a topic" }),
  bootstrap: Schema.Array(BootstrapView),
  connections: Schema.Int,
  neighbours: Schema.Array(Schema.String).annotate({ description: "the peers that this node has a connection to" }),
  clock: ClockView,
  servers: StateCounts
}).annotate({ identifier: "SelfStatus" })
export type SelfView = typeof SelfView.Type
