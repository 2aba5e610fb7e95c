/** What needs attention, said plainly, and what of it is said aloud. */
import { byId, element, fill, inert } from "./Elements.js"
import { ago, lasting } from "./Times.js"
import { counted, duration } from "./Words.js"

/** @typedef {import("../SelfView.ts").SelfView} SelfView */
/** @typedef {import("./Source.js").Link} Link */
/** @typedef {{ readonly title: string, readonly text: ReadonlyArray<Node | string>, readonly isBad: boolean }} Notice */

/** @param {Link} link @returns {ReadonlyArray<Notice>} */
const ofLink = ({ asOfMillis, problem, state }) => {
  if (state !== "lost") return []
  const asOf = ago(new Date(asOfMillis).toISOString(), asOfMillis)
  const text = [`${problem}. Everything below is as it was `, asOf, ". Trying again."]
  return [{ title: "The live connection is lost", text, isBad: true }]
}

/** @param {SelfView} self @returns {ReadonlyArray<Notice>} */
const ofHealth = ({ self_checks }) => {
  const latest = self_checks.at(-1)
  if (latest === undefined || latest.ok) return []
  const passed = self_checks.findLastIndex(({ ok }) => ok)
  const since = self_checks[passed + 1] ?? latest
  const text = [`${inert(latest.error ?? "")}, for `, lasting(since.time), ". The others do not list it meanwhile."]
  return [{ title: "This server's self-check fails", text, isBad: true }]
}

/** @param {SelfView} self @returns {ReadonlyArray<Notice>} */
const ofCompany = ({ alone_since, bootstrap }) => {
  if (alone_since === null) return []
  const reached = bootstrap.filter(({ connected }) => connected).length
  const ways =
    bootstrap.length === 0
      ? "No bootstrap peer is configured."
      : `${reached} of ${counted(bootstrap.length, "bootstrap peer")} connected.`
  const text = ["no peer shares a topic with this server, for ", lasting(alone_since), `. Nobody hears it. ${ways}`]
  return [{ title: "Up but alone", text, isBad: false }]
}

/** @param {SelfView} self @returns {ReadonlyArray<Notice>} */
const ofClock = ({ clock }) => {
  if (clock.state !== "ahead" && clock.state !== "behind") return []
  const by = duration(clock.by_seconds)
  const text = `${clock.state} by ${by}, say ${clock.disagreeing} of ${counted(clock.heard, "server")} heard. Others may refuse its messages.`
  return [{ title: "This server's clock is off", text: [text], isBad: false }]
}

/** @param {Link} link @param {SelfView | undefined} self */
export const notices = (link, self) => [
  ...ofLink(link),
  ...(self === undefined ? [] : [...ofHealth(self), ...ofCompany(self), ...ofClock(self)])
]

/** @param {ReadonlyArray<Notice>} all */
export const drawNotices = (all) => {
  const target = byId("notices", HTMLElement)
  target.hidden = all.length === 0
  const items = all.map(({ isBad, text, title }) =>
    element("li", isBad ? "notice bad" : "notice", [element("b", "", [title]), ": ", ...text])
  )
  fill(target, items)
}

/** Between two things said aloud that nobody asked for, in milliseconds. */
const pauseMillis = 10_000

/** Says what changed to who listens instead of looking, at a bounded pace: the newest of what came meanwhile. */
export class Spoken {
  /** @type {HTMLElement} */
  #target
  #next = ""
  /** @type {number | undefined} */
  #pause

  /** @param {string} id of the live region that it is said in */
  constructor(id) {
    this.#target = byId(id, HTMLElement)
  }

  /**
   * @param {string} text
   * @param {boolean} [isAnswer] to something the reader did, which does not wait
   */
  say(text, isAnswer = false) {
    this.#next = text
    if (isAnswer || this.#pause === undefined) this.#speak()
  }

  #speak() {
    if (this.#next === this.#target.textContent) return
    this.#target.textContent = this.#next
    clearTimeout(this.#pause)
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      this.#speak()
    }, pauseMillis)
  }
}
