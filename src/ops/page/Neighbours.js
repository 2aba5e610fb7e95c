/** The card of who this server is connected to: the peers on each topic, and the addresses it starts from. */
import { byId, element, facts, fill, inert, linkTo } from "./Elements.js"
import { counted, duration } from "./Words.js"

/** @typedef {import("../SelfView.ts").SelfView} SelfView */

/** @param {SelfView["bootstrap"][number]} bootstrap */
const bootstrapLine = ({ address, connected, last_error, next_try_seconds, peer }) => {
  const problem = connected || last_error === null ? "" : `: ${inert(last_error)}`
  const next = next_try_seconds === null ? "" : `, next try in ${duration(next_try_seconds)}`
  const line = element("li", "", [
    element("span", "dot"),
    ...(peer === null ? [] : [linkTo(peer), " "]),
    element("b", "", [connected ? "connected" : "not connected"]),
    `${problem}${next} `,
    element("span", "code muted", [inert(address)])
  ])
  line.dataset.state = connected ? "available" : "unhealthy"
  return line
}

/**
 * @param {string} name
 * @param {string} id
 * @param {ReadonlyArray<Node>} items
 */
const listed = (name, id, items) => {
  if (items.length === 0) return []
  const details = element("details", "", [element("summary", "", [name]), element("ul", "lines", items)])
  details.id = id
  return [details]
}

/** @param {SelfView} self */
export const drawNeighbours = ({ bootstrap, clock, connections, topic_peers: { announce, heartbeat } }) => {
  const peers = [...new Set([...announce, ...heartbeat])].sort()
  const lines = peers.map((peer) => {
    const only = !heartbeat.includes(peer) ? " announce only" : announce.includes(peer) ? "" : " heartbeat only"
    return element("li", "", [linkTo(peer), element("span", "muted", [only])])
  })
  const reached = bootstrap.filter(({ connected }) => connected).length
  const clockText = {
    unknown: "nobody heard to compare with",
    agrees: `agrees with ${counted(clock.heard, "server")}`,
    ahead: `ahead by ${duration(clock.by_seconds)}`,
    behind: `behind by ${duration(clock.by_seconds)}`
  }
  fill(byId("neighbours", HTMLElement), [
    facts([
      ["On announce", counted(announce.length, "peer")],
      ["On heartbeat", counted(heartbeat.length, "peer")],
      ["Connections", String(connections)],
      ["Clock", clockText[clock.state]]
    ]),
    ...listed("Topic peers", "topic-peers", lines),
    ...listed(`Bootstrap: ${reached} of ${bootstrap.length} connected`, "bootstrap", bootstrap.map(bootstrapLine))
  ])
}
