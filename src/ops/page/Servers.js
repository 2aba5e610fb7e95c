/** What is known of every other server, and which of them are shown in which order. It draws nothing. */

import { overdue, stateOf } from "./Words.js"

/** @typedef {import("../ServiceView.ts").ServiceEntry} ServiceEntry */
/** @typedef {import("../WatchEvent.ts").ChangeView} ChangeView */
/** @typedef {import("./Words.js").Counts} Counts */

/**
 * @typedef {object} Server
 * @property {ServiceEntry} entry
 * @property {number} heardMillis receipt of its last message there, by the clock here
 * @property {string} text all that the text filter looks at
 * @property {number} failed failed verdicts among its recent ones
 */

/** @typedef {"server" | "state" | "region" | "capabilities" | "score" | "verdicts" | "heard" | "skew" | "connected"} Column */
/** @typedef {{ readonly column: Column, readonly descending: boolean }} Sorting */
/** @typedef {{ readonly text: string, readonly state: string, readonly region: string, readonly capability: string }} Filter */

const stateRank = { available: 0, unhealthy: 1, stopped: 2, silent: 3, unannounced: 4 }

/** @type {(left: string | number, right: string | number) => number} */
const compare = (left, right) => (left < right ? -1 : left > right ? 1 : 0)

/** @type {(of: (server: Server) => string | number) => (left: Server, right: Server) => number} */
const by = (of) => (left, right) => compare(of(left), of(right))

/** Among equals the order of the list: score descending, then peer ID (R20). @type {(left: Server, right: Server) => number} */
const listOrder = (left, right) =>
  right.entry.uptime_score - left.entry.uptime_score || compare(left.entry.server_id, right.entry.server_id)

/** @type {Readonly<Record<Column, (left: Server, right: Server) => number>>} */
const orders = {
  server: by(({ entry }) => entry.server_id),
  state: by(({ entry }) => stateRank[stateOf(entry)]),
  region: by(({ entry }) => entry.region),
  capabilities: by(({ entry }) => entry.capabilities.join()),
  score: by(({ entry }) => entry.uptime_score),
  verdicts: by(({ failed }) => failed),
  heard: by(({ heardMillis }) => -heardMillis),
  skew: by(({ entry }) => (entry.skew_seconds === null ? -1 : Math.abs(entry.skew_seconds))),
  connected: by(({ entry }) => Number(!entry.connected))
}

/**
 * Columns whose largest values are looked for first.
 *
 * @type {ReadonlySet<string>}
 */
export const descendingFirst = new Set(["score", "verdicts", "skew"])

/** Values offered of each kind at most; strangers may make up as many as they like. */
const offered = 200

export class Servers {
  /** @type {Map<string, Server>} */
  #servers = new Map()

  get size() {
    return this.#servers.size
  }

  /**
   * Everything anew.
   *
   * @param {ReadonlyArray<ServiceEntry>} entries
   */
  replace(entries) {
    this.#servers.clear()
    for (const entry of entries) this.#put(entry)
  }

  /** @param {ChangeView} change */
  change({ server_id, service }) {
    if (service === null) this.#servers.delete(server_id)
    else this.#put(service)
  }

  /**
   * Who has a connection, which the watch tells only with a server's next message.
   *
   * @param {ReadonlyArray<string>} neighbours
   */
  setNeighbours(neighbours) {
    const all = new Set(neighbours)
    for (const server of this.#servers.values()) {
      const connected = all.has(server.entry.server_id)
      if (connected !== server.entry.connected) server.entry = { ...server.entry, connected }
    }
  }

  get ids() {
    return this.#servers.keys()
  }

  /** @returns {Counts} */
  get counts() {
    const counts = { available: 0, unhealthy: 0, stopped: 0, silent: 0, unannounced: 0 }
    for (const { entry } of this.#servers.values()) counts[stateOf(entry)] += 1
    return counts
  }

  /** The regions and capabilities there are, the most frequent ones in alphabetical order. */
  get offers() {
    /** @type {Map<string, number>} */
    const regions = new Map()
    /** @type {Map<string, number>} */
    const capabilities = new Map()
    for (const { entry } of this.#servers.values()) {
      for (const region of new Set([entry.region, ...entry.regions]))
        regions.set(region, (regions.get(region) ?? 0) + 1)
      for (const name of new Set(entry.capabilities)) capabilities.set(name, (capabilities.get(name) ?? 0) + 1)
    }
    return { regions: mostFrequent(regions), capabilities: mostFrequent(capabilities) }
  }

  /**
   * The servers that match, in order.
   *
   * @param {Filter} filter
   * @param {Sorting} sorting
   * @returns {ReadonlyArray<Server>}
   */
  shown({ capability, region, state, text }, { column, descending }) {
    const words = text.toLowerCase().split(/\s+/)
    const found = [...this.#servers.values()].filter(
      (server) =>
        (state === "" || stateOf(server.entry) === state) &&
        (region === "" || server.entry.region === region || server.entry.regions.includes(region)) &&
        (capability === "" || server.entry.capabilities.includes(capability)) &&
        words.every((word) => server.text.includes(word))
    )
    const order = orders[column]
    const sign = descending ? -1 : 1
    return found.sort((left, right) => sign * order(left, right) || listOrder(left, right))
  }

  /** @param {ServiceEntry} entry */
  #put(entry) {
    this.#servers.set(entry.server_id, {
      entry,
      heardMillis: Date.now() - entry.age_seconds * 1_000,
      text: [entry.server_id, entry.region, ...entry.regions, ...entry.capabilities, ...entry.addresses]
        .join("\n")
        .toLowerCase(),
      failed: entry.recent_verdicts.split("-").length - 1
    })
  }
}

/** @param {Map<string, number>} counts */
const mostFrequent = (counts) =>
  [...counts]
    .sort((left, right) => right[1] - left[1])
    .slice(0, offered)
    .map(([name]) => name)
    .sort()

/** @param {Server} server */
export const overdueOf = ({ entry, heardMillis }) => overdue(entry, Date.now() - heardMillis)
