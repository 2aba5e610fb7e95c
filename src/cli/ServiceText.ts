/** All that is known of one server as people read it, and why it is listed or not (R21). Pure. */
import type { Colour } from "../logging/Colours.ts"
import type { ServiceDetail, ServiceEntry, WhyReason } from "../ops/ServiceView.ts"
import { wordsFor } from "./RefusalWords.ts"
import { skewWorthAWord } from "./ServicesTable.ts"
import { type Cell, type Named, namedRows, type Row } from "./Table.ts"
import { counted, duration, eachOf, list, percent, said, span, when } from "./Words.ts"

const colours: Readonly<Record<WhyReason, Colour>> = {
  available: "green",
  unhealthy: "red",
  silent: "yellow",
  "never-announced": "yellow",
  refused: "red",
  evicted: "yellow",
  self: "green"
}

const advice: Readonly<Partial<Record<WhyReason, string>>> = {
  unhealthy: 'look for "self-check failed" in its log, and at its /readyz; its next check that passes lists it again',
  silent: "see whether it runs, and whether it is connected to a server of the network",
  "never-announced": "wait for its next announcement, or start it again: a server announces at its start",
  evicted: "raise discovery.max_servers on the server that was asked"
}

/** What is known of a server, and of one that was never heard. */
export type Known = Pick<ServiceDetail, "server_id" | "connected" | "addresses"> &
  (ServiceDetail | { readonly reason: "never-heard" })

const sentence = (known: Known, nowMillis: number): Cell => {
  if (known.reason === "never-heard") {
    return { text: "not listed: no message of it was ever heard here", colour: "yellow" }
  }
  const { explanation, listed, reason, since } = known
  const colour = isStopped(known) ? undefined : colours[reason]
  if (reason === "self") return { text: said(explanation), colour }
  const at = since === null ? "" : when(since, nowMillis)
  switch (reason) {
    case "never-announced":
      return { text: `not listed: ${said(explanation)}; first heard ${at}`, colour }
    case "refused":
      return { text: `not listed: its messages do not count, last ${at}`, colour }
    default:
      return { text: `${listed ? "listed" : "not listed"} since ${at}: ${said(explanation)}`, colour }
  }
}

const adviceOf = (known: Known): string | undefined => {
  if (known.reason === "never-heard") {
    return known.connected
      ? "it is connected, so it is no server of this network, or has not announced yet"
      : "check the peer ID, and that it is connected to a server of the network (server.bootstrap_peers)"
  }
  if (known.reason === "refused" && known.refused !== null) return wordsFor(known.refused.reason).advice
  return isStopped(known) ? "start it again, if it is to be listed" : advice[known.reason]
}

/** It was stopped in order, and for that alone it is not listed (R13). */
const isStopped = (known: ServiceDetail): boolean =>
  (known.reason === "unhealthy" || known.reason === "silent") && known.service?.stopped === true

const heard = ({ age_seconds, beat_seconds, overdue_heartbeats, restored }: ServiceEntry): string =>
  [
    `${span(age_seconds)} ago`,
    ...(beat_seconds === null ? [] : [`every ${duration(beat_seconds)}`]),
    ...(overdue_heartbeats === null || overdue_heartbeats === 0
      ? []
      : [`${counted(overdue_heartbeats, "heartbeat")} overdue`]),
    ...(restored ? ["not heard live yet: kept, or told by a neighbour"] : [])
  ].join(", ")

const clock = (skew: number | null): Cell => {
  if (skew === null) return { text: "not known yet" }
  const off = Math.abs(skew)
  if (off <= skewWorthAWord) return { text: "agrees with that of the server asked" }
  return { text: `${duration(off)} ${skew < 0 ? "behind" : "ahead of"} that of the server asked`, colour: "yellow" }
}

const entryRows = (entry: ServiceEntry, nowMillis: number): ReadonlyArray<Named> => [
  [
    "score",
    { text: `${percent(entry.uptime_score)}${entry.healthy || entry.stopped ? "" : ", last self-check failed"}` }
  ],
  ["verdicts", { text: `${said(entry.recent_verdicts) || "-"} (newest last)` }],
  ["heard", { text: heard(entry), colour: (entry.overdue_heartbeats ?? 0) > 0 ? "yellow" : undefined }],
  ["first heard", { text: when(entry.first_heard, nowMillis) }],
  ["clock", clock(entry.skew_seconds)],
  ["region", { text: said(entry.region) }],
  ...(entry.regions.some((region) => region !== entry.region)
    ? [["regions", { text: list(entry.regions) }] as const]
    : []),
  ["offers", { text: list(entry.capabilities) }],
  ["storage", { text: `${said(entry.max_storage) || "-"}, kept for ${said(entry.retention_policy) || "-"}` }],
  ["port", { text: String(entry.port) }]
]

/** A name and what is to be said under it in each row, the peer ID first. */
export const rowsOf = (known: Known, nowMillis: number): ReadonlyArray<Row> => {
  const whatToDo = adviceOf(known)
  const isHeard = known.reason !== "never-heard"
  return namedRows([
    ["server", { text: said(known.server_id), colour: "bold" }],
    ["state", sentence(known, nowMillis)],
    ...(whatToDo === undefined ? [] : [["to do", { text: whatToDo }] as const]),
    ...(isHeard && known.service !== null ? entryRows(known.service, nowMillis) : []),
    ["connected", { text: known.connected ? "yes" : "no" }],
    ...eachOf("addresses", known.addresses),
    ...(isHeard && known.refused !== null ? [["refused", refused(known.refused, nowMillis)] as const] : []),
    ...(isHeard && known.evicted !== null
      ? [["evicted", { text: `${when(known.evicted.time, nowMillis)}: ${said(known.evicted.reason)}` }] as const]
      : [])
  ])
}

const refused = ({ count, detail, last, reason }: NonNullable<ServiceDetail["refused"]>, nowMillis: number): Cell => ({
  text: `${counted(count, "message")}, the last one ${wordsFor(reason).meaning} (${said(detail)}), ${when(last, nowMillis)}`
})
