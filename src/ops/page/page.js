/** The page: what is known of the network, drawn at most once a frame, and true as it changes. */
import { Detail } from "./Detail.js"
import { byId, inert, setText } from "./Elements.js"
import { Filters } from "./Filters.js"
import { drawNeighbours } from "./Neighbours.js"
import { drawNotices, notices, Spoken } from "./Notices.js"
import { drawOwnServer } from "./OwnServer.js"
import { drawRefusals } from "./Refusals.js"
import { Servers } from "./Servers.js"
import { ServerTable } from "./ServerTable.js"
import { Source } from "./Source.js"
import { tick } from "./Times.js"
import { counted, whyNobody } from "./Words.js"

/** @typedef {import("../SelfView.ts").SelfView} SelfView */
/** @typedef {import("./Source.js").Link} Link */

/** Rows change places at most this often, and never for more than a twentieth of the time, in milliseconds. */
const orderEveryMillis = 1_000
const orderShare = 20

/** Text that is worth asking about. */
const likePeerId = /^[A-Za-z0-9]{40,}$/

const servers = new Servers()
const spokenCounts = new Spoken("spoken-counts")
const spokenNotices = new Spoken("spoken-notices")
/** @type {SelfView | undefined} */
let self
/** @type {Link} */
let link = { state: "connecting", asOfMillis: Date.now(), problem: "" }
let hasSnapshot = false
/** Whose messages do not count. @type {ReadonlyArray<string>} */
let refused = []

let nextFrame = 0
let isOrderOld = true
let isAskedFor = false
let orderFromMillis = 0
/** @type {number | undefined} */
let orderTimer

const draw = () => {
  nextFrame = 0
  const started = performance.now()
  if (isOrderOld && started >= orderFromMillis) {
    isOrderOld = false
    order()
    orderFromMillis = started + Math.max(orderEveryMillis, (performance.now() - started) * orderShare)
  }
  if (isOrderOld) {
    clearTimeout(orderTimer)
    orderTimer = setTimeout(drawSoon, orderFromMillis - started)
  }
  table.draw()
}

const drawSoon = () => {
  if (nextFrame === 0) nextFrame = requestAnimationFrame(draw)
}

const reorderSoon = () => {
  isOrderOld = true
  drawSoon()
}

/** Who looks for something does not wait. */
const reorderNow = () => {
  isAskedFor = true
  orderFromMillis = 0
  reorderSoon()
}

const order = () => {
  const { counts } = servers
  filters.setCounts(counts)
  filters.setOffers(servers.offers)
  const wanted = filters.wanted
  const shown = servers.shown(wanted, table.sorting)
  table.setServers(shown)
  const all = servers.size
  const count = shown.length === all ? "" : `${shown.length} of ${all} shown`
  const unannounced = self?.servers.unannounced ?? 0
  const nameless = unannounced === 0 ? "" : `${counted(unannounced, "more sends", "more send")} heartbeats only`
  setText(byId("shown", HTMLElement), [count, nameless].filter((text) => text !== "").join(" · "))

  const none = byId("none", HTMLElement)
  none.hidden = shown.length > 0
  setText(byId("none-text", HTMLElement), !hasSnapshot ? "Loading…" : all === 0 ? "" : "No server matches.")
  const askWhy = byId("none-ask", HTMLButtonElement)
  askWhy.hidden = !hasSnapshot || shown.length > 0 || !likePeerId.test(wanted.text)
  setText(askWhy, `Why is ${inert(wanted.text)} missing?`)

  const nobody = hasSnapshot ? whyNobody({ ...counts, unannounced }) : undefined
  const target = byId("nobody", HTMLElement)
  target.hidden = nobody === undefined
  setText(target, nobody ?? "")
  if (!hasSnapshot) return
  drawTitle()
  const stopped = counts.stopped === 0 ? "" : `${counts.stopped} stopped, `
  const sum =
    nobody ?? `${counts.available} available, ${counts.unhealthy} unhealthy, ${stopped}${counts.silent} silent`
  spokenCounts.say([sum, count].filter((text) => text !== "").join("; "), isAskedFor)
  isAskedFor = false
}

const drawTitle = () => {
  if (!hasSnapshot) return
  document.title = `${link.state === "lost" ? "(lost) " : ""}${servers.counts.available} available · Ricochet`
}

const linkTexts = { connecting: "Connecting…", live: "Live", lost: "Connection lost" }

let drawnNotices = ""
const drawLink = () => {
  byId("link", HTMLElement).dataset.state = link.state
  setText(byId("link-text", HTMLElement), linkTexts[link.state])
  drawTitle()
  const all = notices(link, self)
  const words = (/** @type {Node | string} */ part) => (part instanceof HTMLTimeElement ? part.dateTime : part)
  const content = all.flatMap(({ text, title }) => [title, ...text.map(words)]).join()
  if (content === drawnNotices) return
  drawnNotices = content
  drawNotices(all)
  spokenNotices.say(all.map(({ title }) => title).join("; "))
}

/**
 * Draws what differs from what was drawn last.
 *
 * @template T
 * @param {(value: T) => void} drawing
 * @param {(value: T) => unknown} [substance] what of it counts as different
 * @returns {(value: T) => void}
 */
const whenChanged = (drawing, substance = (value) => value) => {
  let drawn = ""
  return (value) => {
    const content = JSON.stringify(substance(value))
    if (content === drawn) return
    drawn = content
    drawing(value)
  }
}

const drawOwn = whenChanged(drawOwnServer, ({ announcement, database, self_checks, started, version }) => [
  announcement,
  database,
  self_checks,
  started,
  version
])
const drawCompany = whenChanged(drawNeighbours, ({ bootstrap, clock, connections, topic_peers }) => [
  bootstrap,
  clock,
  connections,
  topic_peers
])
const drawRefused = whenChanged(drawRefusals)

const filters = new Filters(reorderNow)
const table = new ServerTable(reorderNow, drawSoon)
/** Every server that a part of a peer ID could mean; undefined before anything is known. */
const candidates = () =>
  hasSnapshot && self !== undefined
    ? [self.announcement.server_id, ...servers.ids, ...self.neighbours, ...refused]
    : undefined
const detail = new Detail(candidates)

byId("ask", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault()
  const id = byId("ask-id", HTMLInputElement).value.trim()
  if (id !== "") location.hash = `#/${encodeURIComponent(id)}`
})
byId("none-ask", HTMLButtonElement).addEventListener("click", () => {
  location.hash = `#/${encodeURIComponent(filters.wanted.text)}`
})

new Source({
  snapshot: (services) => {
    hasSnapshot = true
    servers.replace(services)
    detail.refresh()
    reorderNow()
  },
  change: (change) => {
    servers.change(change)
    if (change.server_id === detail.id) detail.refresh()
    reorderSoon()
  },
  self: (view) => {
    self = view
    servers.setNeighbours(view.neighbours)
    drawOwn(view)
    drawCompany(view)
    drawLink()
    detail.refresh()
    reorderSoon()
  },
  refusals: (list) => {
    refused = list.signers.map(({ server_id }) => server_id)
    drawRefused(list)
  },
  link: (found) => {
    link = found
    drawLink()
  }
})

setInterval(() => {
  if (document.hidden) return
  tick()
  drawSoon()
}, 1_000)
