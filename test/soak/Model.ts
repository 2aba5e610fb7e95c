/**
 * What a network is by what was done to it: a pure function of events and moments, which knows no process, no socket and
 * no clock. Of what each server surely knows and may know follows what its list must say (ListJudge).
 */
import { advance, rumour } from "./Hearsay.ts"
import {
  type Cause,
  type Claim,
  type Database,
  type Graces,
  isRunning,
  learn,
  mapKnowledge,
  type Server,
  type State,
  sureBy
} from "./Network.ts"

export type Event =
  | {
      readonly kind: "launched" | "up" | "told" | "ended" | "killed" | "frozen" | "thawed"
      readonly server: number
    }
  | { readonly kind: "database"; readonly server: number; readonly state: Database }
  /** All of these share the topics with each other, and were seen to list each other rightly, for more than a beat. */
  | { readonly kind: "calm"; readonly servers: ReadonlySet<number> }
  | { readonly kind: "link"; readonly one: number; readonly other: number; readonly state: "open" | "cut" | "silent" }

const claimed = (server: Server, claim: Claim): Server => {
  // What was not surely said before may never have been.
  const before = server.claims.map((earlier, number) =>
    number === server.claims.length - 1 && earlier.byMillis !== undefined && earlier.byMillis > claim.fromMillis
      ? { ...earlier, byMillis: undefined }
      : earlier
  )
  return { ...server, claims: [...before, claim] }
}

const verdicts = { there: "healthy", away: "unhealthy", unsure: "either" } as const

const byDatabase = (server: Server, cause: Cause, fromMillis: number, byMillis: number | undefined): Server =>
  claimed(server, {
    verdict: verdicts[server.database],
    cause,
    fromMillis,
    byMillis: server.database === "unsure" ? undefined : byMillis
  })

const serverAfter = (
  server: Server,
  event: Exclude<Event, { kind: "link" | "calm" }>,
  at: number,
  graces: Graces
): Server => {
  switch (event.kind) {
    case "launched": {
      const born = { ...server, stage: "starting", isFrozen: false, wasUp: false, launchedMillis: at } as const
      return byDatabase({ ...born, runsMillis: at }, "start", at, undefined)
    }
    case "up": {
      const up = { ...server, stage: "up", wasUp: true, clearMillis: at + graces.joinMillis } as const
      return byDatabase(up, "start", at, at + graces.checkMillis)
    }
    case "told":
      return claimed(
        { ...server, stage: "stopping" },
        { verdict: "unhealthy", cause: "goodbye", fromMillis: at, byMillis: undefined }
      )
    case "ended": {
      const claims = server.claims.with(-1, { ...(server.claims.at(-1) as Claim), byMillis: at })
      return server.wasUp
        ? { ...server, stage: "left", endedMillis: at, claims }
        : { ...server, stage: "down", endedMillis: at }
    }
    case "killed":
      return { ...server, stage: "down", isFrozen: false, endedMillis: at }
    case "frozen":
      return claimed(
        { ...server, isFrozen: true },
        { verdict: "either", cause: "freeze", fromMillis: at, byMillis: undefined }
      )
    case "thawed": {
      const thawed = { ...server, isFrozen: false, clearMillis: at + graces.healMillis, runsMillis: at }
      return byDatabase(thawed, "thaw", at, server.stage === "up" ? at + graces.checkMillis : undefined)
    }
    case "database": {
      const changed = { ...server, database: event.state, databaseMillis: at }
      const isSilent = !isRunning(server) || server.isFrozen || server.stage === "stopping"
      const cause = event.state === "there" ? "database back" : "database lost"
      return isSilent
        ? changed
        : byDatabase(changed, cause, at, server.stage === "up" ? at + graces.checkMillis : undefined)
    }
  }
}

/** What is surely in its database when a server ends, and what it surely has of it when it starts. */
const memory = (state: State, event: Event): State => {
  if (event.kind === "link" || event.kind === "calm" || event.kind === "database") return state
  const { server: number, kind } = event
  const server = state.servers[number]
  if (server === undefined) return state
  const { nowMillis, graces } = state
  const isKept =
    server.database === "there" && Math.max(server.databaseMillis, server.runsMillis) + graces.keepMillis <= nowMillis
  const isRestored = server.database === "there" && server.databaseMillis <= server.launchedMillis
  return mapKnowledge(state, (known, observer, subject) => {
    if (observer !== number) return known
    if (kind === "killed" || kind === "told") {
      return isKept ? { ...known, kept: Math.max(known.kept, sureBy(known, nowMillis - graces.keepMillis)) } : known
    }
    if (kind === "launched") return { ...known, sure: [] }
    return kind === "up" && isRestored && subject !== observer
      ? learn(known, known.kept, nowMillis + graces.joinMillis, 0)
      : known
  })
}

/** Nobody has to wait for a grace to pass where everything was seen to have happened. */
const calmed = (state: State, calm: ReadonlySet<number>): State => {
  const { nowMillis, graces } = state
  const servers = state.servers.map((server, number): Server => {
    const claim = server.claims.at(-1)
    const isSaid = calm.has(number) && claim !== undefined && claim.verdict !== "either"
    return isSaid ? { ...server, claims: server.claims.with(-1, { ...claim, byMillis: nowMillis }) } : server
  })
  const links = state.links.map((row, one) =>
    row.map((link, other) => (calm.has(one) && calm.has(other) ? { ...link, metMillis: nowMillis } : link))
  )
  return mapKnowledge({ ...state, servers, links }, (known, observer, subject) => {
    const newest = servers[subject]?.claims.findLastIndex(({ byMillis }) => byMillis === nowMillis) ?? 0
    return calm.has(observer) && calm.has(subject)
      ? learn(known, newest, nowMillis, nowMillis - graces.liveMillis)
      : known
  })
}

const changed = (state: State, event: Event): State => {
  const { nowMillis, graces } = state
  if (event.kind === "calm") return calmed(state, event.servers)
  if (event.kind === "link") {
    const [low, high] = [Math.min(event.one, event.other), Math.max(event.one, event.other)]
    const link = { state: event.state, clearMillis: nowMillis + graces.healMillis, metMillis: undefined }
    return {
      ...state,
      links: state.links.map((row, one) =>
        one === low ? row.map((before, other) => (other === high ? link : before)) : row
      )
    }
  }
  return {
    ...state,
    servers: state.servers.map((server, number) =>
      number === event.server ? serverAfter(server, event, nowMillis, graces) : server
    )
  }
}

/** What has happened at that moment, which is no earlier than any before. */
export const happen = (state: State, event: Event, atMillis: number): State => {
  const before = rumour(advance(state, atMillis))
  // What ends is asked what it kept before it ends, what starts what it remembers when it has.
  return event.kind === "killed" || event.kind === "told"
    ? rumour(changed(memory(before, event), event))
    : rumour(memory(changed(before, event), event))
}
