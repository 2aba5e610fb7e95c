/**
 * What a reader of the HTTP API is told of a server. Nouns with their JSON form; what is known comes from the registry,
 * how it becomes one of these is ServiceRendering's.
 */
import { Schema } from "effect"

/** RFC 3339 in UTC. */
const Time = Schema.String.annotate({ description: "RFC 3339 date-time, UTC", examples: ["2026-11-30T19:14:03.120Z"] })
const Seconds = (description: string) => Schema.Finite.annotate({ description: `seconds: ${description}` })

/** The fields that go over the wire, under the names they have there. Source: wire.md, "Announcement". */
const wireFields = {
  server_id: Schema.String.annotate({ description: "peer ID in base58" }),
  capabilities: Schema.Array(Schema.String),
  max_storage: Schema.String.annotate({ description: "storage budget, as its owner wrote it" }),
  retention_policy: Schema.String.annotate({ description: "how long messages are kept, as its owner wrote it" }),
  region: Schema.String,
  regions: Schema.Array(Schema.String),
  uptime_score: Schema.Finite.annotate({ description: "share of the last 288 self-checks that passed, 0 to 1" }),
  healthy: Schema.Boolean.annotate({ description: "whether the last self-check passed" }),
  timestamp: Schema.String.annotate({
    description: "RFC 3339: when the newest message was made, by its sender's clock"
  }),
  port: Schema.Int
} as const

/** A server that has announced itself is in one of three states; one that only sent heartbeats is `unannounced`. */
export const serviceStates = ["available", "unhealthy", "silent", "unannounced"] as const
export const ServiceState = Schema.Literals(serviceStates).annotate({
  description:
    "available: listed; unhealthy: its last self-check failed, or it was stopped in order (`stopped`); silent: not heard for two hours; unannounced: sends heartbeats, has not announced"
})
export type ServiceState = typeof ServiceState.Type

const standing = {
  state: ServiceState,
  stopped: Schema.Boolean.annotate({
    description:
      "whether its last words were a goodbye: it was stopped in order, and is unhealthy, later silent, for that alone; no heartbeat of it is overdue"
  }),
  since: Time.annotate({ description: "since when it is in that state, as heard here" }),
  last_heard: Time.annotate({ description: "receipt of its last message here" }),
  age_seconds: Seconds("since its last message, whole, on a clock that does not jump"),
  first_heard: Time,
  skew_seconds: Schema.NullOr(
    Seconds("its clock less this server's; positive is ahead; null before the first live message")
  ),
  beat_seconds: Schema.NullOr(Seconds("between its heartbeats as observed; null before two")),
  overdue_heartbeats: Schema.NullOr(Schema.Int).annotate({
    description:
      "heartbeats that should have come since the last, by its own observed beat; null while no beat is known"
  }),
  verdict_changes: Schema.Int.annotate({ description: "how often its verdict has changed, as heard here" }),
  recent_verdicts: Schema.String.annotate({
    description: "its last verdicts as heard here, oldest first, at most 60: + passed, - failed",
    examples: ["++++-+"]
  }),
  restored: Schema.Boolean.annotate({
    description: "not heard live yet by this server since it started: known from what it kept, or told by a neighbour"
  }),
  connected: Schema.Boolean.annotate({ description: "whether this node has a connection to it" }),
  addresses: Schema.Array(Schema.String).annotate({
    description:
      "multiaddrs known to this node, connected or not, at most 8: what it dialled, then what the server says of itself, which is text from a stranger; empty where this node knows none"
  })
} as const

/** An announced server as the list shows it. */
export const ServiceEntry = Schema.Struct({ ...wireFields, ...standing }).annotate({ identifier: "Service" })
export type ServiceEntry = typeof ServiceEntry.Type

/** This server, from its own words. */
export const SelfEntry = Schema.Struct({
  ...wireFields,
  checks: Schema.Int.annotate({ description: "self-checks behind the uptime score, 0 to 288" }),
  addresses: Schema.Array(Schema.String).annotate({ description: "multiaddrs this server can be dialled at" })
}).annotate({ identifier: "Self" })
export type SelfEntry = typeof SelfEntry.Type

/** Servers known, by state. */
export const StateCounts = Schema.Struct({
  available: Schema.Int,
  unhealthy: Schema.Int,
  stopped: Schema.Int.annotate({ description: "how many of the unhealthy ones were stopped in order" }),
  silent: Schema.Int,
  unannounced: Schema.Int
}).annotate({ identifier: "StateCounts" })
export type StateCounts = typeof StateCounts.Type

export const ServiceList = Schema.Struct({
  self: SelfEntry,
  known: StateCounts.annotate({ description: "servers known, by state, whatever was asked for: why a list is short" }),
  services: Schema.Array(ServiceEntry)
}).annotate({ identifier: "ServiceList" })
export type ServiceList = typeof ServiceList.Type

/** Messages of a signer that did not count (R21). */
export const RefusalView = Schema.Struct({
  reason: Schema.String,
  verdict: Schema.Literals(["ignore", "reject"]),
  detail: Schema.String,
  count: Schema.Int,
  last: Time
}).annotate({ identifier: "Refusal" })

export const VerdictView = Schema.Struct({ time: Time, healthy: Schema.Boolean })

/** Why a server is listed, or is not. */
export const WhyReason = Schema.Literals([
  "available",
  "unhealthy",
  "silent",
  "never-announced",
  "refused",
  "evicted",
  "self"
]).annotate({
  description:
    "available: listed; self: this server, shown apart; never-announced: nothing, or only heartbeats, heard; refused: only messages that do not count; evicted: pushed out of a full registry"
})
export type WhyReason = typeof WhyReason.Type

const whyFields = {
  server_id: Schema.String,
  listed: Schema.Boolean,
  reason: WhyReason,
  explanation: Schema.String.annotate({ description: "the same in a sentence" }),
  since: Schema.NullOr(Time).annotate({ description: "null where nothing was ever heard" }),
  connected: Schema.Boolean,
  addresses: Schema.Array(Schema.String),
  refused: Schema.NullOr(RefusalView),
  evicted: Schema.NullOr(Schema.Struct({ time: Time, reason: Schema.String }))
} as const

/** All that is known of one peer ID (R21). */
export const ServiceDetail = Schema.Struct({
  ...whyFields,
  service: Schema.NullOr(ServiceEntry).annotate({ description: "null while it has not announced" }),
  recent: Schema.Array(VerdictView).annotate({
    description: "its last verdicts as heard here, oldest first, at most 60"
  })
}).annotate({ identifier: "ServiceDetail" })
export type ServiceDetail = typeof ServiceDetail.Type
