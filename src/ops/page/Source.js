/**
 * Where all that is shown comes from: the watch, and a look at the rest every few seconds. It knows whether the server
 * is reached and since when not, and comes back by itself.
 */
import { hearClock } from "./Times.js"

/** @typedef {import("../WatchEvent.ts").ChangeView} ChangeView */
/** @typedef {import("../ServiceView.ts").ServiceEntry} ServiceEntry */
/** @typedef {import("../SelfView.ts").SelfView} SelfView */
/** @typedef {import("../RefusalList.ts").RefusalList} RefusalList */

/**
 * @typedef {object} Link
 * @property {"connecting" | "live" | "lost"} state
 * @property {number} asOfMillis when nothing was in the way last
 * @property {string} problem what is in the way
 */

/**
 * @typedef {object} Listener
 * @property {(services: ReadonlyArray<ServiceEntry>) => void} snapshot
 * @property {(change: ChangeView) => void} change
 * @property {(self: SelfView) => void} self
 * @property {(refusals: RefusalList) => void} refusals
 * @property {(link: Link) => void} link
 */

const pollMillis = 5_000
/** The same while the server is not reached. */
const lostPollMillis = 2_000
const answerWithinMillis = 8_000
/** Between two tries to open a watch that was refused. */
const shortestPauseMillis = 1_000
const longestPauseMillis = 15_000

/**
 * What the server answers at a path, relative to the page's own; status 0 where it does not in time.
 *
 * @param {string} path
 */
export const ask = async (path) => {
  try {
    const response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(answerWithinMillis) })
    hearClock(response)
    return { ok: response.ok, status: response.status, body: await response.json() }
  } catch {
    return { ok: false, status: 0, body: undefined }
  }
}

export class Source {
  /** @type {Listener} */
  #tell
  /** @type {EventSource | undefined} */
  #watch
  #pauseMillis = shortestPauseMillis
  /** @type {number | undefined} */
  #nextOpen
  /** @type {number | undefined} */
  #nextPoll
  #isPolling = false
  /** Undefined until it is known. @type {boolean | undefined} */
  #streams
  /** @type {boolean | undefined} */
  #answers
  #asOfMillis = Date.now()
  #problem = ""
  /** @type {Link["state"]} */
  #told = "connecting"

  /** @param {Listener} listener */
  constructor(listener) {
    this.#tell = listener
    this.#open()
    this.#poll()
    document.addEventListener("visibilitychange", () => this.#poll())
    window.addEventListener("online", () => this.#poll())
  }

  /** Each time anew and not resumed: a snapshot has the ages of its moment. */
  #open() {
    clearTimeout(this.#nextOpen)
    this.#watch?.close()
    const watch = new EventSource("services/watch")
    this.#watch = watch
    watch.addEventListener("open", () => {
      this.#pauseMillis = shortestPauseMillis
      this.#streams = true
      this.#heard()
    })
    watch.addEventListener("snapshot", ({ data }) => {
      this.#tell.snapshot(JSON.parse(data).services)
      this.#heard()
    })
    watch.addEventListener("change", ({ data }) => {
      this.#tell.change(JSON.parse(data))
      this.#heard()
    })
    watch.addEventListener("error", () => {
      watch.close()
      this.#streams = false
      this.#lose("the watch was cut off")
      this.#nextOpen = setTimeout(() => this.#open(), this.#pauseMillis)
      this.#pauseMillis = Math.min(this.#pauseMillis * 2, longestPauseMillis)
      this.#poll()
    })
  }

  async #poll() {
    clearTimeout(this.#nextPoll)
    this.#nextPoll = setTimeout(() => this.#poll(), this.#told === "lost" ? lostPollMillis : pollMillis)
    if (document.hidden || this.#isPolling) return
    this.#isPolling = true
    const answers = await Promise.all([ask("self"), ask("refusals")])
    this.#isPolling = false
    const failed = answers.find(({ ok }) => !ok)
    if (failed !== undefined) {
      this.#answers = false
      return this.#lose(failed.status === 0 ? "the server does not answer" : `the server answers ${failed.status}`)
    }
    // A stream over a network that was away may be dead without knowing.
    if (this.#answers === false) this.#open()
    this.#answers = true
    this.#tell.self(answers[0].body)
    this.#tell.refusals(answers[1].body)
    this.#heard()
  }

  /** @param {string} problem */
  #lose(problem) {
    this.#problem = problem
    this.#tellLink()
  }

  #heard() {
    if (!this.#isLost) this.#asOfMillis = Date.now()
    this.#tellLink()
  }

  get #isLost() {
    return this.#streams === false || this.#answers === false
  }

  #tellLink() {
    const isLive = this.#streams === true && this.#answers === true
    const state = this.#isLost ? "lost" : isLive ? "live" : "connecting"
    if (state === this.#told && state !== "lost") return
    this.#told = state
    this.#tell.link({ state, asOfMillis: this.#asOfMillis, problem: this.#problem })
  }
}
