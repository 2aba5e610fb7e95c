/** A server at a glance, as people read it: one fact a row. Pure. */
import type { Readiness } from "../ops/ReadinessView.ts"
import type { SelfView } from "../ops/SelfView.ts"
import { summary } from "./ServicesTable.ts"
import { type Cell, namedRows, type Row } from "./Table.ts"
import { counted, duration, eachOf, instant, percent, said, span, when } from "./Words.ts"

/** Whether the server can do its work, and what stands against it. */
export const readinessText = ({ checks, draining, ready }: Readiness): string => {
  if (ready) return "ready"
  const failed = Object.entries(checks).flatMap(([name, { error, ok }]) =>
    ok ? [] : [`${said(name)}: ${said(error ?? "failed")}`]
  )
  return `not ready: ${[...(draining ? ["it is about to stop"] : []), ...failed].join("; ")}`
}

/** The score with the checks that it was measured on. */
export const scoreText = ({ announcement: { checks, uptime_score }, self_checks }: SelfView): string => {
  const failed = self_checks.filter(({ ok }) => !ok).length
  return `${percent(uptime_score)} of ${counted(checks, "self-check")}${failed === 0 ? "" : `, ${failed} failed`}`
}

/** What the clocks of the others say of this server's. */
export const clockText = ({ by_seconds, disagreeing, heard, state }: SelfView["clock"]): string => {
  if (state === "unknown") return "nobody was heard to compare it with"
  if (state === "agrees")
    return `agrees with ${heard === 1 ? "the one server heard" : `most of ${heard} servers heard`}`
  return `${duration(by_seconds)} ${state}, by ${disagreeing} of ${counted(heard, "server")} heard`
}

export const databaseText = ({ database }: Pick<SelfView, "database">): string =>
  ({ postgres: "PostgreSQL", embedded: "embedded, in the data directory", none: "none" })[database]

const topicText = ({ alone_since, topic_peers: { announce, heartbeat } }: SelfView, nowMillis: number): Cell =>
  alone_since === null
    ? { text: `${announce.length} on announcements, ${heartbeat.length} on heartbeats` }
    : { text: `none since ${when(alone_since, nowMillis)}: it is up, but alone`, colour: "red" }

const bootstrapText = ({ bootstrap }: SelfView): Cell => {
  if (bootstrap.length === 0) return { text: "none set" }
  const connected = bootstrap.filter((one) => one.connected).length
  const text = `${connected} of ${counted(bootstrap.length, "address", "addresses")} connected`
  return { text, colour: connected === 0 ? "yellow" : undefined }
}

const isOff = ({ state }: SelfView["clock"]) => state === "ahead" || state === "behind"

/** A name and what is to be said under it in each row. */
export const rowsOf = (self: SelfView, readiness: Readiness, nowMillis: number): ReadonlyArray<Row> => {
  const { announcement, clock, connections, servers, started, uptime_seconds, version } = self
  return namedRows([
    ["server", { text: said(announcement.server_id), colour: "bold" }],
    ["state", { text: readinessText(readiness), colour: readiness.ready ? "green" : "red" }],
    ["score", { text: scoreText(self) }],
    ["topic peers", topicText(self, nowMillis)],
    ["bootstrap", bootstrapText(self)],
    ["connections", { text: String(connections) }],
    ["others", { text: summary(servers) }],
    ["clock", { text: clockText(clock), colour: isOff(clock) ? "red" : undefined }],
    ["database", { text: databaseText(self) }],
    ["version", { text: `${said(version)}, up ${span(uptime_seconds)} since ${instant(started)}` }],
    ["region", { text: said(announcement.region) }],
    ...eachOf("addresses", announcement.addresses)
  ])
}
