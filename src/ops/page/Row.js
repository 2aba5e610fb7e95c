/** One server as a row of the table: built once, then only what differs is written. */
import { element, inert, point, setAttribute, setText } from "./Elements.js"
import { overdueOf } from "./Servers.js"
import { VerdictStrip } from "./Strip.js"
import { setTime } from "./Times.js"
import { counted, percent, skew, skewWorthAWord, stateOf, verdicts } from "./Words.js"

/** @typedef {import("./Servers.js").Server} Server */

/**
 * @param {string} column
 * @param {ReadonlyArray<Node | string>} children
 */
const cell = (column, children) => {
  const made = element("td", column, children)
  made.setAttribute("role", "cell")
  return made
}

/** What a heading says where the table has one, and the row itself where it is narrow. @param {string} text */
const label = (text) => element("span", "label", [text])

export class Row {
  element = element("tr")
  link = element("a", "id")
  #dot = element("span", "dot")
  #state = element("span", "word")
  #since = element("time", "rough lasting muted")
  #region = cell("region", [])
  #capabilities = cell("capabilities", [])
  #score = element("span")
  #strip = new VerdictStrip()
  #heard = element("time", "rough")
  #overdue = element("span", "overdue")
  #skew = element("span")
  #connected = element("span")

  /** @param {string} id */
  constructor(id) {
    this.element.setAttribute("role", "row")
    this.#dot.setAttribute("aria-hidden", "true")
    point(this.link, id)
    this.element.append(
      cell("server", [this.link]),
      cell("state", [this.#dot, this.#state, " ", this.#since]),
      this.#region,
      this.#capabilities,
      cell("score", [label("score: "), this.#score]),
      cell("verdicts", [this.#strip.element]),
      cell("heard", [label("heard: "), this.#heard, " ", this.#overdue]),
      cell("skew", [label("skew: "), this.#skew]),
      cell("connected", [label("connected: "), this.#connected])
    )
  }

  /**
   * @param {Server} server
   * @param {number} place among all that are shown, from 0
   */
  draw(server, place) {
    const { entry, heardMillis } = server
    const state = stateOf(entry)
    setAttribute(this.element, "data-state", state)
    // The row of headings is the first.
    setAttribute(this.element, "aria-rowindex", String(place + 2))
    setText(this.#state, state)
    setTime(this.#since, entry.since)
    const region = inert(entry.region)
    setText(this.#region, region)
    setAttribute(this.#region, "title", inert(entry.regions.join(", ")) || region)
    const capabilities = inert(entry.capabilities.join(", "))
    setText(this.#capabilities, capabilities || "–")
    setAttribute(this.#capabilities, "title", capabilities)
    setText(this.#score, percent(entry.uptime_score))
    const told = verdicts(entry.recent_verdicts)
    this.#strip.draw(entry.recent_verdicts, told)
    setAttribute(this.#strip.element, "data-changes", String(entry.verdict_changes))
    setTime(this.#heard, entry.last_heard, heardMillis)
    const late = overdueOf(server)
    setText(this.#overdue, late === 0 ? "" : `${late} overdue`)
    setAttribute(this.#overdue, "title", late === 0 ? "" : `${counted(late, "heartbeat")} should have come since`)
    setText(this.#skew, skew(entry.skew_seconds))
    const isOff = Math.abs(entry.skew_seconds ?? 0) > skewWorthAWord
    setAttribute(this.#skew, "class", isOff ? "off" : "")
    setText(this.#connected, entry.connected ? "yes" : "no")
    setAttribute(this.#connected, "class", entry.connected ? "yes" : "no")
  }
}
