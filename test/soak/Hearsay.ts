/**
 * How words spread in a network, counted two ways. What is sure rises only along ways that have stood long enough for the
 * slowest lawful delivery; what is possible rises at once wherever words may have passed. Of the two it is for others to
 * make something.
 */
import { isHeard, isPresent, isRunning, learn, linkOf, mapKnowledge, nothing, type State, sureBy } from "./Network.ts"

/** From when on words surely pass between two servers that are there, if they do. */
const edgeClear = (state: State, one: number, other: number): number => {
  const link = linkOf(state, one, other)
  const [a, b] = [state.servers[one], state.servers[other]]
  if (link?.state !== "open" || a === undefined || b === undefined) return Number.POSITIVE_INFINITY
  const latest = Math.max(link.clearMillis, a.clearMillis, b.clearMillis)
  const hasMet = link.metMillis !== undefined && link.metMillis >= Math.max(a.runsMillis, b.runsMillis)
  return hasMet ? Math.min(link.metMillis, latest) : latest
}

/** From when on a way leads from this server to each other, over servers that are there. */
const waysFrom = (state: State, source: number): ReadonlyArray<number> => {
  const clear = state.servers.map((_, server) => (server === source ? 0 : Number.POSITIVE_INFINITY))
  for (const _ of state.servers) {
    for (const [from, since] of clear.entries()) {
      const relay = state.servers[from]
      if (since === Number.POSITIVE_INFINITY || relay === undefined) continue
      if (from !== source && !isPresent(relay)) continue
      for (const [to, best] of clear.entries()) {
        if (to === from) continue
        clear[to] = Math.min(best, Math.max(since, edgeClear(state, from, to)))
      }
    }
  }
  return clear
}

/** What has surely been said by now, by those that run. */
const speak = (state: State): State =>
  mapKnowledge(state, (known, observer, subject) => {
    const server = state.servers[observer]
    if (observer !== subject || server === undefined || !isHeard(server)) return known
    const said = server.claims.findLastIndex(({ byMillis }) => byMillis !== undefined && byMillis <= state.nowMillis)
    return learn(known, said, server.claims[said]?.byMillis ?? 0, state.nowMillis - state.graces.liveMillis)
  })

/** What has surely arrived by now: live words over any way, and what all neighbours know of those that are gone. */
const listen = (state: State): State => {
  const { nowMillis, graces } = state
  const deadline = nowMillis - graces.liveMillis
  const ways = state.servers.map((_, source) => waysFrom(state, source))
  return mapKnowledge(state, (known, observer, subject) => {
    const [listener, speaker] = [state.servers[observer], state.servers[subject]]
    if (observer === subject || listener === undefined || speaker === undefined || !isPresent(listener)) return known
    // Who has left was heard where a way stood already.
    const lastMillis = speaker.stage === "left" ? Math.min(deadline, speaker.endedMillis) : deadline
    const isReached = isHeard(speaker) && (ways[subject]?.[observer] ?? Number.POSITIVE_INFINITY) <= lastMillis
    const own = state.knowledge[subject]?.[subject]
    const live = isReached && own !== undefined ? sureBy(own, deadline) : 0
    const told = state.servers.flatMap((neighbour, number) =>
      number !== observer &&
      number !== subject &&
      isPresent(neighbour) &&
      edgeClear(state, observer, number) <= deadline
        ? [sureBy(state.knowledge[number]?.[subject] ?? nothing, deadline)]
        : []
    )
    return learn(known, Math.max(live, told.length === 0 ? 0 : Math.min(...told)), nowMillis, deadline)
  })
}

/** What may have arrived by now: all that anyone knows to whom any way leads, unless it is cut. */
export const rumour = (state: State): State => {
  const groups = state.servers.map((_, server) => server)
  const join = (one: number, other: number) => {
    const [from, to] = [groups[one], groups[other]]
    for (const [server, group] of groups.entries()) if (group === from) groups[server] = to ?? server
  }
  for (const [one, a] of state.servers.entries()) {
    for (const [other, b] of state.servers.entries()) {
      if (one < other && isRunning(a) && isRunning(b) && linkOf(state, one, other)?.state !== "cut") join(one, other)
    }
  }
  return mapKnowledge(state, (known, observer, subject) => {
    const heard = state.servers.flatMap((server, other) => {
      if (groups[other] !== groups[observer]) return []
      return other === subject && isRunning(server)
        ? [server.claims.length - 1]
        : [state.knowledge[other]?.[subject]?.most ?? 0]
    })
    return { ...known, most: Math.max(known.most, ...heard) }
  })
}

const bury = (state: State): State => ({
  ...state,
  servers: state.servers.map((server) =>
    server.stage === "left" && server.endedMillis + state.graces.liveMillis <= state.nowMillis
      ? { ...server, stage: "down" }
      : server
  )
})

/** What follows from the passing of time alone. */
export const advance = (state: State, nowMillis: number): State =>
  bury(listen(speak({ ...state, nowMillis: Math.max(nowMillis, state.nowMillis) })))

/** What will be, if nothing more happens. */
export const settled = (state: State): State => {
  const { checkMillis, healMillis, joinMillis, liveMillis } = state.graces
  let next = advance(state, state.nowMillis + checkMillis + healMillis + joinMillis + liveMillis)
  // Each step leads one server further.
  for (const _ of state.servers) next = advance(next, next.nowMillis + liveMillis)
  return next
}
