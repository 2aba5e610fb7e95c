/**
 * Every metric this server has, under the names, units and labels that they have in Prometheus. Label values come from
 * closed sets, so a stranger can raise a number and never the number of series (O01). Where the numbers come from is
 * MetricsReading's, when they are read Metering's.
 */
import { Effect, Metric } from "effect"
import { type Topic, topicLabel, topics } from "../gossip/Topic.ts"
import { refusalReasons, verdictOf } from "../registry/Refusal.ts"
import type { MetricsReading } from "./MetricsReading.ts"
import { serviceStates } from "./ServiceView.ts"
import { version } from "./Version.ts"

/** One time series whose value is read, not pushed. */
export interface Series {
  readonly kind: "counter" | "gauge"
  readonly name: string
  readonly help: string
  readonly labels: Readonly<Record<string, string>>
  readonly read: (reading: MetricsReading) => number
}

type Read = Series["read"]
type Labelled = readonly [labels: Series["labels"], read: Read]

const of =
  (kind: Series["kind"]) =>
  (name: string, help: string, read: Read | ReadonlyArray<Labelled>): ReadonlyArray<Series> =>
    (typeof read === "function" ? [[{}, read] as const] : read).map(([labels, value]) => ({
      kind,
      name,
      help,
      labels,
      read: value
    }))
const counter = of("counter")
const gauge = of("gauge")

const messageLabels = topics.flatMap((topic) => [
  { topic, verdict: "accept", reason: "none" } as const,
  ...refusalReasons.map((reason) => ({ topic, verdict: verdictOf[reason], reason }))
])

export const series: ReadonlyArray<Series> = [
  ...gauge("ricochet_build_info", "Always 1; the label says which version runs.", [[{ version }, () => 1]]),

  ...counter(
    "ricochet_messages_total",
    "Messages judged, by topic, verdict and the reason of a refusal.",
    messageLabels.map(
      ({ topic, ...labels }): Labelled => [
        { topic: topicLabel[topic], ...labels },
        ({ messages }) => messages.find((of) => of.topic === topic && of.reason === labels.reason)?.count ?? 0
      ]
    )
  ),
  ...gauge(
    "ricochet_servers",
    "Servers known, by state; this one is not among them.",
    serviceStates.map((state): Labelled => [{ state }, ({ servers }) => servers[state]])
  ),
  ...gauge("ricochet_servers_limit", "Servers that are remembered at most.", ({ maxServers }) => maxServers),

  ...gauge("ricochet_uptime_score_ratio", "Share of the last 288 self-checks that passed.", ({ score }) => score),
  ...gauge("ricochet_uptime_score_checks", "Self-checks that the uptime score is measured on.", ({ checks }) => checks),
  ...gauge("ricochet_healthy", "Whether the last self-check passed: 1 or 0.", ({ healthy }) => Number(healthy)),

  ...gauge(
    "ricochet_topic_peers",
    "Connected peers on each topic.",
    topics.map((topic): Labelled => [{ topic: topicLabel[topic] }, ({ topicPeers }) => topicPeers[topic]])
  ),
  ...gauge("ricochet_connections", "Open connections to other nodes.", ({ connections }) => connections),
  ...gauge(
    "ricochet_clock_offset_seconds",
    "By how much other servers say that this server's clock is ahead; negative is behind, 0 while most agree.",
    ({ clockOffsetSeconds }) => clockOffsetSeconds
  ),
  ...gauge(
    "ricochet_clock_skew_max_seconds",
    "Largest difference between this server's clock and that of a server heard within two hours, absolute.",
    ({ maxSkewSeconds }) => maxSkewSeconds
  ),

  ...counter("ricochet_database_batches_total", "Batches of what is known that went to the database, by result.", [
    [{ result: "written" }, ({ database }) => database.writes],
    [{ result: "failed" }, ({ database }) => database.failures]
  ]),
  ...gauge("ricochet_database_pending_changes", "Changes that wait to be written.", ({ database }) => database.pending),
  ...counter(
    "ricochet_database_dropped_changes_total",
    "Changes given up because too many waited.",
    ({ database }) => database.dropped
  ),
  ...gauge(
    "ricochet_database_lag_seconds",
    "How long the oldest unwritten change or self-check has waited.",
    ({ database }) => database.lagMillis / 1000
  ),

  ...counter("ricochet_directory_requests_total", "Questions to neighbours for all that they know, by result.", [
    [{ result: "answered" }, ({ directory }) => directory.asked - directory.failed],
    [{ result: "failed" }, ({ directory }) => directory.failed]
  ]),
  ...counter("ricochet_directory_messages_total", "Messages got from neighbours that were asked, by result.", [
    [{ result: "accepted" }, ({ directory }) => directory.accepted],
    [{ result: "known" }, ({ directory }) => directory.known],
    [{ result: "refused" }, ({ directory }) => directory.refused]
  ]),
  ...counter(
    "ricochet_directory_bytes_total",
    "Bytes got from neighbours that were asked.",
    (of) => of.directory.bytes
  ),

  ...gauge("ricochet_watch_clients", "Open streams of /services/watch.", ({ watchers }) => watchers),

  ...gauge(
    "nodejs_eventloop_lag_p99_seconds",
    "How late timers ran, 99 of 100 no later, in the last ten seconds.",
    (of) => of.process.lagP99Seconds
  ),
  ...gauge(
    "nodejs_eventloop_lag_max_seconds",
    "How late a timer ran at most in the last ten seconds.",
    (of) => of.process.lagMaxSeconds
  ),
  ...gauge("nodejs_heap_size_used_bytes", "Heap in use.", (of) => of.process.heapUsedBytes),
  ...gauge(
    "nodejs_external_memory_bytes",
    "Memory outside the heap that its objects hold.",
    (of) => of.process.externalBytes
  ),
  ...gauge("process_resident_memory_bytes", "Resident memory.", (of) => of.process.residentBytes),
  ...counter("process_cpu_seconds_total", "Processor time, user and system.", (of) => of.process.cpuSeconds),
  ...gauge(
    "process_start_time_seconds",
    "When the process started, since the Unix epoch.",
    (of) => of.process.startSeconds
  )
]

/** What came of an attempt to publish. */
export type PublishOutcome = "sent" | "no-topic-peers" | "failed"
const publishOutcomes: ReadonlyArray<PublishOutcome> = ["sent", "no-topic-peers", "failed"]

const publishes = Metric.counter("ricochet_publishes_total", {
  description: "Own messages, by topic and what came of publishing them.",
  incremental: true
})
const publishesOf = (topic: Topic, outcome: PublishOutcome) =>
  Metric.withAttributes(publishes, { topic: topicLabel[topic], outcome })

/** Counts an attempt to publish. For the room that publishes. */
export const countPublish = (topic: Topic, outcome: PublishOutcome): Effect.Effect<void> =>
  Metric.update(publishesOf(topic, outcome), 1)

export const selfCheckDuration = Metric.histogram("ricochet_self_check_duration_seconds", {
  description: "How long a self-check took.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

const selfChecks = Metric.counter("ricochet_self_checks_total", {
  description: "Self-checks by result.",
  incremental: true
})
const selfCheckResult = (ok: boolean) => Metric.withAttributes(selfChecks, { result: ok ? "passed" : "failed" })

export const countSelfCheck = (ok: boolean): Effect.Effect<void> => Metric.update(selfCheckResult(ok), 1)

export const discoveryLatency = Metric.histogram("ricochet_discovery_latency_seconds", {
  description: "From the timestamp of an announcement to its receipt, the difference of the two clocks included.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 600, 7200]
})

/** Lets every pushed series exist, at 0, before its first event. */
export const touchPushed: Effect.Effect<void> = Effect.all(
  [
    ...topics.flatMap((topic) => publishOutcomes.map((outcome) => Metric.value(publishesOf(topic, outcome)))),
    ...[true, false].map((ok) => Metric.value(selfCheckResult(ok))),
    Metric.value(selfCheckDuration),
    Metric.value(discoveryLatency)
  ],
  { discard: true }
)
