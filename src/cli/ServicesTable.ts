/** The list of servers as people read it: a table, and in words why it is short. Pure. */
import type { Colour } from "../logging/Colours.ts"
import { inert } from "../logging/InertText.ts"
import type { ServiceEntry, ServiceList, ServiceState } from "../ops/ServiceView.ts"
import type { Cell, Row } from "./Table.ts"
import { counted, percent, skew, span } from "./Words.ts"

/** Whose clock differs from the server's by more than this is told apart, in seconds. Source: R10. */
export const skewWorthAWord = 30
/** Characters of a stranger's words in a column at most. */
const longestCell = 24

const colourOf: Readonly<Record<ServiceState, Colour>> = {
  available: "green",
  unhealthy: "red",
  silent: "yellow",
  unannounced: "yellow"
}

const names = ["STATE", "SCORE", "REGION", "HEARD", "SKEW", "CONNECTED", "ID"]

export const header: Row = names.map((text) => ({ text, colour: "bold" }))

const heard = ({ age_seconds, overdue_heartbeats }: ServiceEntry): Cell => {
  const age = `${span(age_seconds)} ago`
  return overdue_heartbeats === null || overdue_heartbeats === 0
    ? { text: age }
    : { text: `${age}, ${overdue_heartbeats} overdue`, colour: "yellow" }
}

const skewed = ({ skew_seconds }: ServiceEntry): Cell => ({
  text: skew(skew_seconds),
  colour: Math.abs(skew_seconds ?? 0) > skewWorthAWord ? "yellow" : undefined
})

/** A server that was stopped in order has nothing the matter with it (R13). */
const stateCell = ({ state, stopped }: ServiceEntry): Cell =>
  state === "unhealthy" && stopped ? { text: "stopped", colour: "dim" } : { text: state, colour: colourOf[state] }

export const rowOf = (entry: ServiceEntry): Row => [
  stateCell(entry),
  { text: percent(entry.uptime_score) },
  { text: inert(entry.region, longestCell) },
  heard(entry),
  skewed(entry),
  { text: entry.connected ? "yes" : "no" },
  { text: inert(entry.server_id, 128) }
]

const places: ReadonlyArray<ServiceState> = ["available", "unhealthy", "silent", "unannounced"]

/** Those that are available first, then the others by their state, each in the order of the list (R20). */
export const inStateOrder = (entries: ReadonlyArray<ServiceEntry>): ReadonlyArray<ServiceEntry> =>
  places.flatMap((place) => entries.filter(({ state }) => state === place))

/** What follows a server that is no longer known. */
export const goneRow = (serverId: string): Row => [
  { text: "gone", colour: "yellow" },
  ...names.slice(1, -1).map(() => ({ text: "-" })),
  { text: inert(serverId, 128) }
]

type Counts = ServiceList["known"]

const total = ({ available, silent, unannounced, unhealthy }: Counts) => available + silent + unannounced + unhealthy

/** How many servers are known, and how they are. */
export const summary = (known: Counts): string => {
  const { available, silent, stopped, unannounced, unhealthy } = known
  const inOrder = stopped === 0 ? "" : `, ${stopped} stopped`
  return `${counted(total(known), "server")} known: ${available} available${inOrder}, ${unhealthy - stopped} unhealthy, ${silent} silent, ${unannounced} unannounced`
}

/** The server that was asked, which its own list does not hold. */
export const ownLine = ({ checks, healthy, region, server_id, uptime_score }: ServiceList["self"]): string =>
  `this server: ${healthy ? "healthy" : "unhealthy"}, ${percent(uptime_score)} of ${counted(checks, "check")}, ${inert(region, longestCell)}, ${inert(server_id, 128)}`

/** Why a list is empty (F03); `isNarrowed` when not all servers of a kind were asked for. */
export const whyNobody = (known: Counts, isNarrowed: boolean): string => {
  if (total(known) === 0) return "no other server is known"
  return isNarrowed ? `none that matches; ${summary(known)}` : summary(known)
}
