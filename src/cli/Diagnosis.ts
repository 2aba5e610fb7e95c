/**
 * The specification's troubleshooting, worked through on what a running server says of itself. Pure; what can be seen
 * without a server is Ground's.
 */

import { Result } from "effect"
import type { Readiness } from "../ops/ReadinessView.ts"
import type { RefusalList } from "../ops/RefusalList.ts"
import type { SelfView } from "../ops/SelfView.ts"
import * as Timestamp from "../time/Timestamp.ts"
import { bad, type Finding, note, ok } from "./Finding.ts"
import { wordsFor } from "./RefusalWords.ts"
import { summary } from "./ServicesTable.ts"
import { clockText, databaseText, readinessText, scoreText } from "./StatusText.ts"
import { counted, said, span, when } from "./Words.ts"

export interface Examined {
  readonly url: string
  readonly self: SelfView
  readonly readiness: Readiness
  readonly refusals: RefusalList
}

/** The version of this command, and the time by this machine's clock. */
export interface Here {
  readonly version: string
  readonly nowMillis: number
}

const process = ({ self, url }: Examined): Finding =>
  ok("process", `answers at ${url}, up ${span(self.uptime_seconds)}, ${said(self.announcement.server_id)}`)

const version = ({ self }: Examined, here: Here): Finding =>
  self.version === here.version
    ? ok("version", said(self.version))
    : note(
        "version",
        `the server runs ${said(self.version)}, this command is ${here.version}`,
        "start the server again to run what is installed"
      )

/** By what the check named `postgres` says to the outside. */
const databaseAdvice: Readonly<Record<string, string>> = {
  refused: "start PostgreSQL, or correct database.host and database.port",
  unreachable: "see whether database.host is right and can be reached from here",
  "timed out": "see whether PostgreSQL answers, and whether it is overloaded or out of connections",
  "access denied": "correct database.username and the password in RICOCHET_PG_PASSWORD"
}

const inTheLog = 'look for "self-check failed" in the server\'s log: it carries the error'

const readiness = ({ readiness }: Examined): Finding => {
  const text = readinessText(readiness)
  if (readiness.ready) return ok("readiness", text)
  const failed = Object.values(readiness.checks).find((check) => !check.ok)
  if (failed === undefined) return note("readiness", text, "wait until it has stopped, and start it again")
  return bad("readiness", text, databaseAdvice[failed.error ?? ""] ?? inTheLog)
}

/** A server keeps dropping out of the lists of the others: its self-check is failing. */
const selfChecks = ({ self }: Examined, { nowMillis }: Here): Finding => {
  const text = scoreText(self)
  const last = self.self_checks.findLast((check) => !check.ok)
  if (last === undefined) return ok("self-checks", text)
  const told = `${text}, last ${when(last.time, nowMillis)}: ${said(last.error ?? "no reason told")}`
  return self.announcement.healthy
    ? note("self-checks", told, `the others drop this server at each failed check; ${inTheLog}`)
    : bad("self-checks", told, `the others do not list this server until a check passes; ${inTheLog}`)
}

/** A server never appears to the others: it shares no topic with any of them. */
const topicPeers = ({ self }: Examined, { nowMillis }: Here): Finding => {
  const { alone_since, bootstrap, topic_peers } = self
  const [announce, heartbeat] = [topic_peers.announce.length, topic_peers.heartbeat.length]
  const text = `${announce} on announcements, ${heartbeat} on heartbeats`
  if (announce > 0 && heartbeat > 0) return ok("topic peers", text)
  if (announce + heartbeat > 0) {
    return note("topic peers", text, "wait a minute: a peer joins both topics; if it stays so, look at that peer")
  }
  const since = alone_since === null ? "" : ` since ${when(alone_since, nowMillis)}`
  return bad(
    "topic peers",
    `none${since}: nobody hears this server, and publishing fails`,
    bootstrap.length === 0
      ? "name a server that runs, in server.bootstrap_peers or with --bootstrap"
      : "get one of the bootstrap peers below connected; one that is connected and on no topic is no server of this network"
  )
}

type Bootstrap = SelfView["bootstrap"][number]

const wrongPeer = /identity|peer id|unexpected peer/i

const troubles: ReadonlyArray<readonly [RegExp, string]> = [
  [/refused/i, "start the server there, or correct the address: nobody listens on that port"],
  [wrongPeer, "correct the peer ID at the end of the address: another server answers there"],
  [/ENOTFOUND|EAI_AGAIN|resolve|dns|no address/i, "correct the host name, or look at this machine's DNS"],
  [/EHOSTUNREACH|ENETUNREACH|unreachable|no way/i, "look at the network between the two machines"],
  [
    /time|abort|no answer|cut/i,
    "look at firewalls between the two machines, and whether the server there still answers"
  ]
]

/** What to do about an address that cannot be connected to, by what was said of the last try. */
export const dialAdvice = (error: string): string =>
  troubles.find(([trouble]) => trouble.test(error))?.[1] ?? "see whether a server runs there and the address is right"

/** No wait makes good an address that another server answers at. */
const isWrongPeer = (error: string): boolean => wrongPeer.test(error)

interface Company {
  /** Nobody shares a topic with this server. */
  readonly isAlone: boolean
  /** Some bootstrap peer is connected. */
  readonly isLedIn: boolean
}

const bootstrapPeer = (one: Bootstrap, isReachedOtherwise: boolean, { isAlone, isLedIn }: Company): Finding => {
  const address = said(one.address)
  if (one.connected) return ok("bootstrap", `${address} is connected`)
  if (isReachedOtherwise) return ok("bootstrap", `${address} is not used: that server is connected by another address`)
  if (one.next_try_seconds === null && one.last_error !== null) {
    return note("bootstrap", `${address}: ${said(one.last_error)}`, "name an address of that server with /tcp/ in it")
  }
  if (one.last_error === null) return note("bootstrap", `${address} is being dialled`, "look again in a moment")
  const text = `${address}: ${said(one.last_error)}`
  return isAlone || (isWrongPeer(one.last_error) && !isLedIn)
    ? bad("bootstrap", text, dialAdvice(one.last_error))
    : note("bootstrap", text, dialAdvice(one.last_error))
}

const bootstrap = ({ self }: Examined): ReadonlyArray<Finding> => {
  const isAlone = self.topic_peers.announce.length + self.topic_peers.heartbeat.length === 0
  if (self.bootstrap.length === 0) {
    const text = "none set: this server waits for others to connect to it"
    return [isAlone ? note("bootstrap", `${text}, and nobody has`) : ok("bootstrap", text)]
  }
  const isReached = ({ peer }: Bootstrap) => peer !== null && self.neighbours.includes(peer)
  const isLedIn = self.bootstrap.some((one) => one.connected || isReached(one))
  return self.bootstrap.map((one) => bootstrapPeer(one, isReached(one), { isAlone, isLedIn }))
}

const whichAdvice = "ricochet services --all shows which; ricochet service <peer-id> tells why"
/** Nothing but its peer ID is known of a server that has not announced, so no list has it. */
const unannouncedAdvice =
  "a server that is unannounced is shown once it announces, which it does at its start and from time to time"

const others = ({ self: { servers } }: Examined): Finding => {
  const text = summary(servers)
  const advice = [
    ...(servers.unhealthy - servers.stopped + servers.silent > 0 ? [whichAdvice] : []),
    ...(servers.unannounced > 0 ? [unannouncedAdvice] : [])
  ]
  if (advice.length > 0) return note("others", text, advice.join("; "))
  return servers.available === 0
    ? note("others", text, "wait for the first announcement of a topic peer")
    : ok("others", text)
}

const clock = ({ self: { clock } }: Examined): Finding => {
  const text = clockText(clock)
  if (clock.state === "unknown" || clock.state === "agrees") return ok("clock", text)
  const whose = clock.heard === 1 ? "; of two clocks that differ nobody can tell which is right, so look at both" : ""
  return bad("clock", text, `set this machine's clock (NTP)${whose}; what is off by too much is refused by the others`)
}

const database = ({ readiness: { checks }, self }: Examined): Finding => {
  const text = databaseText(self)
  const check = checks.postgres
  if (check === undefined || check.ok) return ok("database", check === undefined ? text : `${text}, answers`)
  return note("database", `${text}, does not answer: what is learned meanwhile is kept in memory`, "see readiness")
}

/** Older refusals are past troubles. */
const recentMillis = 3_600_000
/** Findings of a crowd of signers at most. */
const mostSigners = 10

const isRecent = (time: string, nowMillis: number): boolean =>
  Result.match(Timestamp.parse(time), {
    onFailure: () => true,
    onSuccess: (at) => nowMillis - Timestamp.toMillis(at) <= recentMillis
  })

/** Who is refused here, and why. What comes twice is everyday's work and nobody's fault. */
const refusals = ({ refusals }: Examined, { nowMillis }: Here): ReadonlyArray<Finding> => {
  const worth = refusals.signers.filter(
    ({ last, reason }) => wordsFor(reason).advice !== undefined && isRecent(last, nowMillis)
  )
  if (worth.length === 0) return [ok("refused", "no message within the hour that anybody has to do something about")]
  const told = worth.slice(0, mostSigners).map(({ count, detail, last, reason, server_id }) => {
    const { advice, meaning } = wordsFor(reason)
    const text = `${counted(count, "message")} of ${said(server_id)}, the last one ${meaning} (${said(detail)}), ${when(last, nowMillis)}`
    return note("refused", text, advice)
  })
  const rest = worth.length - told.length
  return rest === 0 ? told : [...told, note("refused", `messages of ${counted(rest, "more server")}`)]
}

/** Everything that can be seen from what a server says, in the order in which one thing leads to the next. */
export const diagnose = (examined: Examined, here: Here): ReadonlyArray<Finding> => [
  process(examined),
  version(examined, here),
  readiness(examined),
  database(examined),
  selfChecks(examined, here),
  topicPeers(examined, here),
  ...bootstrap(examined),
  others(examined),
  clock(examined),
  ...refusals(examined, here)
]
