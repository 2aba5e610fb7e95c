/**
 * Moments on the page: relative in the text, exact and in UTC on hover, and true as time passes (O07). Moments are
 * milliseconds of the browser's clock; what the server's clock says is translated once, here.
 */
import { element, setAttribute, setText } from "./Elements.js"
import { roughly, span } from "./Words.js"

/** The server's clock less the browser's, in milliseconds. */
let offset = 0
/** The Date header is in whole seconds: a smaller difference says nothing. */
const noise = 2_000

/**
 * Takes the time that an answer of the server carries.
 *
 * @param {Response} response
 */
export const hearClock = (response) => {
  const said = Date.parse(response.headers.get("date") ?? "")
  if (Number.isNaN(said)) return
  const heard = said + 500 - Date.now()
  if (Math.abs(heard - offset) > noise) offset = heard
}

/**
 * The moment of an RFC 3339 time of the server.
 *
 * @param {string} time
 */
export const momentOf = (time) => Date.parse(time) - offset

/** @type {WeakMap<Element, number>} */
const moments = new WeakMap()

/**
 * A moment in UTC to the second, for people.
 *
 * @param {string} time
 */
export const utc = (time) => `${time.slice(0, 19).replace("T", " ")} UTC`

/** @param {HTMLTimeElement} time */
const write = (time) => {
  const moment = moments.get(time)
  if (moment === undefined) return
  const passed = Math.max(0, Date.now() - moment)
  const text = time.classList.contains("rough") ? roughly(passed) : span(passed)
  setText(time, time.classList.contains("lasting") ? text : passed < 1_000 ? "now" : `${text} ago`)
}

/**
 * Lets an element show a time of the server. `moment` where it is known better than from the text.
 *
 * @param {HTMLTimeElement} target
 * @param {string} time
 */
export const setTime = (target, time, moment = momentOf(time)) => {
  setAttribute(target, "datetime", time)
  setAttribute(target, "title", utc(time))
  moments.set(target, moment)
  write(target)
}

/**
 * How long ago a time of the server is.
 *
 * @param {string} time
 */
export const ago = (time, moment = momentOf(time)) => {
  const made = element("time")
  setTime(made, time, moment)
  return made
}

/**
 * How long something has lasted since a time of the server.
 *
 * @param {string} time
 */
export const lasting = (time) => {
  const made = element("time", "lasting")
  setTime(made, time)
  return made
}

/** Brings every moment on the page up to now. */
export const tick = () => {
  for (const time of document.getElementsByTagName("time")) write(time)
}
