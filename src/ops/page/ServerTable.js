/**
 * The table of servers. Of thousands only the rows in sight exist; they are placed where the others would leave them,
 * so the page scrolls as if all were there.
 */
import { byId, setAttribute } from "./Elements.js"
import { Row } from "./Row.js"
import { descendingFirst } from "./Servers.js"

/** @typedef {import("./Servers.js").Server} Server */
/** @typedef {import("./Servers.js").Sorting} Sorting */
/** @typedef {import("./Servers.js").Column} Column */

/** Rows kept above and below those in sight. */
const beyond = 8
/** Height of a row before one was measured, in pixels. */
const guessedHeight = 36

export class ServerTable {
  /** @type {Sorting} */
  sorting = { column: "state", descending: false }
  #table = byId("table", HTMLTableElement)
  #body = byId("rows", HTMLTableSectionElement)
  /** @type {ReadonlyArray<Server>} */
  #servers = []
  /** @type {Map<string, Row>} */
  #rows = new Map()
  #rowHeight = guessedHeight
  #isMeasured = false
  /** The row that was focused last. */
  #chosen = ""
  /** The row that is the stop of the tab key: the chosen one, else the first in sight. */
  #stop = ""

  /**
   * @param {() => void} onSort
   * @param {() => void} onScroll
   */
  constructor(onSort, onScroll) {
    const { tHead } = this.#table
    // Laid out as blocks and grids, these are a table to no one unless they say so.
    this.#table.setAttribute("role", "table")
    for (const group of [tHead, this.#body]) group?.setAttribute("role", "rowgroup")
    tHead?.rows[0]?.setAttribute("role", "row")
    for (const heading of tHead?.querySelectorAll("th") ?? []) {
      heading.setAttribute("role", "columnheader")
      const column = /** @type {Column} */ (heading.dataset.column)
      heading.querySelector("button")?.addEventListener("click", () => {
        const isSame = this.sorting.column === column
        this.sorting = { column, descending: isSame ? !this.sorting.descending : descendingFirst.has(column) }
        this.#markSorting()
        onSort()
      })
    }
    this.#markSorting()
    window.addEventListener("scroll", onScroll, { passive: true })
    window.addEventListener("resize", () => {
      this.#isMeasured = false
      onScroll()
    })
    this.#body.addEventListener("keydown", (event) => this.#onKey(event))
    // The link is small; the whole row stands for it, unless someone selects text in it.
    this.#body.addEventListener("click", ({ target }) => {
      if (target instanceof HTMLAnchorElement || getSelection()?.isCollapsed === false) return
      for (const { element, link } of this.#rows.values()) {
        if (target instanceof Node && element.contains(target)) link.click()
      }
    })
    this.#body.addEventListener("focusin", ({ target }) => {
      for (const [id, row] of this.#rows) {
        if (row.link !== target) continue
        this.#chosen = id
        this.#setStop(id)
      }
    })
  }

  /** @param {ReadonlyArray<Server>} servers those that are shown, in order */
  setServers(servers) {
    this.#servers = servers
  }

  draw() {
    const { innerHeight } = window
    const top = this.#body.getBoundingClientRect().top
    const first = Math.max(0, Math.floor(-top / this.#rowHeight) - beyond)
    const end = Math.min(this.#servers.length, Math.ceil((innerHeight - top) / this.#rowHeight) + beyond)
    const focused = this.#focused()

    const places = new Map()
    for (let place = first; place < end; place++) places.set(this.#servers[place]?.entry.server_id, place)
    // Who is on a row stays on it, wherever it goes.
    if (focused !== undefined && !places.has(focused)) {
      const place = this.#servers.findIndex(({ entry }) => entry.server_id === focused)
      if (place >= 0) places.set(focused, place)
    }
    for (const [id, { element }] of this.#rows) {
      if (places.has(id)) continue
      element.remove()
      this.#rows.delete(id)
    }
    const inOrder = [...places].sort((left, right) => left[1] - right[1])
    const firstInSight = inOrder.find(([, place]) => place * this.#rowHeight >= -top)
    this.#setStop(places.has(this.#chosen) ? this.#chosen : (firstInSight?.[0] ?? ""))
    let before = this.#body.firstElementChild
    for (const [id, place] of inOrder) {
      const server = this.#servers[place]
      if (server === undefined) continue
      const row = this.#rowOf(id)
      row.draw(server, place)
      const shift = `${place * this.#rowHeight}px`
      if (row.element.style.top !== shift) row.element.style.top = shift
      if (row.element === before) before = before.nextElementSibling
      else this.#body.insertBefore(row.element, before)
    }
    if (focused !== undefined && this.#focused() !== focused) {
      this.#rows.get(focused)?.link.focus({ preventScroll: true })
    }
    this.#body.style.height = `${this.#servers.length * this.#rowHeight}px`
    setAttribute(this.#table, "aria-rowcount", String(this.#servers.length + 1))
    if (!this.#isMeasured) this.#measure()
  }

  /** The height of a row changes with the width of the window and the size of the text. */
  #measure() {
    const height = this.#body.firstElementChild?.getBoundingClientRect().height ?? 0
    if (height === 0) return
    this.#isMeasured = true
    if (height === this.#rowHeight) return
    this.#rowHeight = height
    this.draw()
  }

  /** @param {string} id */
  #rowOf(id) {
    const found = this.#rows.get(id)
    if (found !== undefined) return found
    const made = new Row(id)
    made.link.tabIndex = id === this.#stop ? 0 : -1
    this.#rows.set(id, made)
    return made
  }

  #focused() {
    for (const [id, { link }] of this.#rows) if (link === document.activeElement) return id
    return undefined
  }

  /** @param {string} id */
  #setStop(id) {
    if (id === this.#stop) return
    const before = this.#rows.get(this.#stop)
    if (before !== undefined) before.link.tabIndex = -1
    this.#stop = id
    const after = this.#rows.get(id)
    if (after !== undefined) after.link.tabIndex = 0
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const focused = this.#focused()
    const place = this.#servers.findIndex(({ entry }) => entry.server_id === focused)
    if (place < 0 || event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(window.innerHeight / this.#rowHeight) - 4)
    /** @type {Readonly<Record<string, number>>} */
    const places = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + page,
      PageUp: place - page,
      Home: 0,
      End: this.#servers.length - 1
    }
    const wanted = places[event.key]
    if (wanted === undefined) return
    event.preventDefault()
    this.#focus(Math.min(Math.max(wanted, 0), this.#servers.length - 1))
  }

  /** @param {number} place */
  #focus(place) {
    const id = this.#servers[place]?.entry.server_id ?? ""
    const top = this.#body.getBoundingClientRect().top + place * this.#rowHeight
    const head = this.#table.tHead?.getBoundingClientRect().height ?? 0
    if (top < head) window.scrollBy(0, top - head)
    const below = top + this.#rowHeight - window.innerHeight
    if (below > 0) window.scrollBy(0, below)
    this.draw()
    this.#rows.get(id)?.link.focus({ preventScroll: true })
  }

  #markSorting() {
    for (const heading of this.#table.tHead?.querySelectorAll("th") ?? []) {
      const { column, descending } = this.sorting
      if (heading.dataset.column !== column) heading.removeAttribute("aria-sort")
      else heading.setAttribute("aria-sort", descending ? "descending" : "ascending")
    }
  }
}
