/** Answers of servers, as the commands are given them, and a sheet to read what they make of them. */
import { painter, plain } from "../../src/logging/Colours.ts"
import type { Readiness } from "../../src/ops/ReadinessView.ts"
import type { SelfView } from "../../src/ops/SelfView.ts"
import type { ServiceDetail, ServiceEntry } from "../../src/ops/ServiceView.ts"
import * as Timestamp from "../../src/time/Timestamp.ts"

export const nowMillis = Date.parse("2026-11-30T20:00:00Z")
const ago = (seconds: number) => Timestamp.format(Timestamp.fromMillis(nowMillis - seconds * 1_000))

export const berlin = "12D3KooWBerLin1111111111111111111111111111111111111111"
export const lisbon = "12D3KooWLisbon111111111111111111111111111111111111111"

export const onPaper = { paint: plain, columns: undefined }
export const inColour = { paint: painter(true), columns: undefined }

export const entry: ServiceEntry = {
  server_id: lisbon,
  capabilities: ["store-and-forward", "mailbox"],
  max_storage: "10GB",
  retention_policy: "720h0m0s",
  region: "eu-west",
  regions: ["eu-west"],
  uptime_score: 0.9965,
  healthy: true,
  timestamp: ago(42),
  port: 55_223,
  state: "available",
  stopped: false,
  since: ago(3_600),
  last_heard: ago(42),
  age_seconds: 42,
  first_heard: ago(90_000),
  skew_seconds: 0.2,
  beat_seconds: 300,
  overdue_heartbeats: 0,
  verdict_changes: 2,
  recent_verdicts: "+++-+",
  restored: false,
  connected: true,
  addresses: ["/ip4/10.0.0.2/tcp/55223"]
}

export const detail: ServiceDetail = {
  server_id: lisbon,
  listed: true,
  reason: "available",
  explanation: "its last self-check passed and it was heard within two hours",
  since: ago(3_600),
  connected: true,
  addresses: ["/ip4/10.0.0.2/tcp/55223"],
  refused: null,
  evicted: null,
  service: entry,
  recent: []
}

export const refusal = {
  reason: "too-far-ahead",
  verdict: "ignore",
  detail: "timestamp: 600 s ahead of this server",
  count: 4,
  last: ago(120)
} as const

export const readiness: Readiness = {
  ready: true,
  checks: { postgres: { ok: true } },
  draining: false,
  topic_peers: { announce: 1, heartbeat: 1 },
  alone_since: null,
  clock: { state: "agrees", by_seconds: 0, disagreeing: 0, heard: 1 }
}

export const self: SelfView = {
  announcement: {
    server_id: berlin,
    capabilities: ["mailbox"],
    max_storage: "10GB",
    retention_policy: "720h0m0s",
    region: "eu-central",
    regions: ["eu-central"],
    uptime_score: 1,
    healthy: true,
    timestamp: ago(30),
    port: 55_223,
    checks: 12,
    addresses: ["/ip4/10.0.0.1/tcp/55223"]
  },
  version: "0.1.0",
  started: ago(7_500),
  uptime_seconds: 7_500,
  database: "postgres",
  self_checks: [{ time: ago(30), ok: true, duration_seconds: 0.01 }],
  topic_peers: { announce: [lisbon], heartbeat: [lisbon] },
  alone_since: null,
  bootstrap: [
    { address: "/ip4/10.0.0.2/tcp/55223", peer: lisbon, connected: true, last_error: null, next_try_seconds: null }
  ],
  connections: 1,
  neighbours: [lisbon],
  clock: { state: "agrees", by_seconds: 0, disagreeing: 0, heard: 1 },
  servers: { available: 1, unhealthy: 0, stopped: 0, silent: 0, unannounced: 0 }
}

/** A server with everything the matter with it that can be at once. */
export const sick: { readonly self: SelfView; readonly readiness: Readiness } = {
  self: {
    ...self,
    announcement: { ...self.announcement, healthy: false, uptime_score: 0.5, checks: 2 },
    version: "0.0.9\u001b[2J",
    self_checks: [
      { time: ago(330), ok: true, duration_seconds: 0.01 },
      { time: ago(30), ok: false, duration_seconds: 0.3, error: "postgres: refused" }
    ],
    topic_peers: { announce: [], heartbeat: [] },
    alone_since: ago(600),
    bootstrap: [
      {
        address: "/ip4/10.0.0.2/tcp/55223",
        peer: lisbon,
        connected: false,
        last_error: "connect ECONNREFUSED 10.0.0.2:55223",
        next_try_seconds: 12
      },
      {
        address: "/ip4/10.0.0.2/udp/55223/udx",
        peer: lisbon,
        connected: false,
        last_error: "address needs the transport udx, which this server does not have",
        next_try_seconds: null
      }
    ],
    connections: 0,
    neighbours: [],
    clock: { state: "ahead", by_seconds: 600, disagreeing: 1, heard: 1 },
    servers: { available: 0, unhealthy: 1, stopped: 0, silent: 2, unannounced: 0 }
  },
  readiness: {
    ...readiness,
    ready: false,
    checks: { postgres: { ok: false, error: "refused" } },
    alone_since: ago(600)
  }
}
