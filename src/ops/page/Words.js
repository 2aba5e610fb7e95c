/** Numbers and states as people read them. Pure. */

/** @typedef {import("../ServiceView.ts").ServiceEntry} ServiceEntry */
/** @typedef {import("../ServiceView.ts").ServiceState} ServiceState */
/** @typedef {ServiceState | "stopped"} State */
/** @typedef {Readonly<Record<State, number>>} Counts */

/** Who disagrees with this server's clock by more than this is told apart, in seconds. Source: R10. */
export const skewWorthAWord = 30

/**
 * A time span in its two largest units at most.
 *
 * @param {number} millis
 */
export const span = (millis) => {
  const seconds = Math.floor(millis / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 || hours >= 10 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  const days = Math.floor(hours / 24)
  return hours % 24 === 0 || days >= 10 ? `${days} d` : `${days} d ${hours % 24} h`
}

/**
 * A time span in its largest unit.
 *
 * @param {number} millis
 */
export const roughly = (millis) => span(millis).split(" ").slice(0, 2).join(" ")

/**
 * A share of 1. Only what is whole reads as 100%.
 *
 * @param {number} share
 */
export const percent = (share) => (share === 1 ? "100%" : `${(Math.floor(share * 1_000 + 1e-6) / 10).toFixed(1)}%`)

/**
 * A duration in seconds, as exact as it is worth.
 *
 * @param {number} seconds
 */
export const duration = (seconds) => {
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`
  return seconds < 60 ? `${Number(seconds.toFixed(1))} s` : span(seconds * 1_000)
}

/**
 * The difference of two clocks.
 *
 * @param {number | null} seconds
 */
export const skew = (seconds) => {
  if (seconds === null) return "–"
  const text = duration(Math.abs(seconds))
  return text === "0 ms" ? text : `${seconds < 0 ? "−" : "+"}${text}`
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} many
 */
export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/**
 * What a strip of verdicts shows.
 *
 * @param {string} marks
 */
export const verdicts = (marks) => {
  const failed = marks.split("-").length - 1
  if (marks === "") return "no verdict heard yet"
  if (failed === 0) return `${counted(marks.length, "verdict")} heard, all passed`
  return `${counted(marks.length, "verdict")} heard, ${failed} failed, the last one ${marks.endsWith("-") ? "failed" : "passed"}`
}

/**
 * The state in a word. A server that was stopped in order has nothing the matter with it (R13).
 *
 * @param {ServiceEntry} entry
 * @returns {State}
 */
export const stateOf = ({ state, stopped }) => (stopped && state === "unhealthy" ? "stopped" : state)

/**
 * Heartbeats that should have come by now, by the server's own observed beat; none of one that was stopped (R13, R21).
 *
 * @param {ServiceEntry} entry
 * @param {number} ageMillis
 */
export const overdue = ({ beat_seconds, stopped }, ageMillis) =>
  beat_seconds === null || stopped ? 0 : Math.max(0, Math.floor(ageMillis / 1_000 / beat_seconds - 0.5))

/**
 * Why nobody is listed; undefined while someone is (F03).
 *
 * @param {Counts} counts
 */
export const whyNobody = ({ available, silent, stopped, unannounced, unhealthy }) => {
  if (available > 0) return undefined
  const kinds = [
    { count: unhealthy, one: "reports failing checks", many: "report failing checks" },
    { count: stopped, one: "was stopped in order", many: "were stopped in order" },
    { count: silent, one: "is silent for more than two hours", many: "are silent for more than two hours" },
    {
      count: unannounced,
      one: "sends heartbeats but was not heard to announce itself",
      many: "send heartbeats but were not heard to announce themselves"
    }
  ].filter(({ count }) => count > 0)
  const known = unhealthy + stopped + silent + unannounced
  const [only] = kinds
  if (only === undefined) return "Nobody is listed: no other server is known."
  if (kinds.length > 1) {
    return `Nobody is listed: ${known} known, ${kinds.map(({ count, many, one }) => counted(count, one, many)).join(", ")}.`
  }
  return `Nobody is listed: ${known} known, ${known === 1 ? `it ${only.one}` : `all ${only.many}`}.`
}
