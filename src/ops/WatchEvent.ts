/** What `/services/watch` sends: one snapshot, then every change after it. */
import { Schema } from "effect"
import { ServiceEntry } from "./ServiceView.ts"

export const Snapshot = Schema.Struct({
  services: Schema.Array(ServiceEntry).annotate({ description: "every server that has announced, in no order" })
}).annotate({ identifier: "Snapshot" })

export const ChangeView = Schema.Struct({
  server_id: Schema.String,
  cause: Schema.Literals(["announced", "heartbeat", "silent", "evicted", "forgotten", "restored"]),
  service: Schema.NullOr(ServiceEntry).annotate({
    description: "the server from now on; null when it is gone, or has only sent heartbeats so far"
  })
}).annotate({ identifier: "Change" })
export type ChangeView = typeof ChangeView.Type

export const WatchEvent = Schema.Union([
  Schema.Struct({
    id: Schema.String,
    event: Schema.tag("snapshot"),
    data: Schema.fromJsonString(Snapshot)
  }),
  Schema.Struct({
    id: Schema.String,
    event: Schema.tag("change"),
    data: Schema.fromJsonString(ChangeView)
  })
])
export type WatchEvent = typeof WatchEvent.Type
