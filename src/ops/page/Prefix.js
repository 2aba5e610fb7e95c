/** Which server is meant by a part of its peer ID: the first characters, or the short form in which the page shows it. Pure. */
import { counted } from "./Words.js"

/** What every peer ID of an Ed25519 key begins with. It tells nobody apart, so it can be left out. */
const common = "12D3KooW"

/** The beginning, and the end where some of the middle is left out. */
const partial = /^([1-9A-HJ-NP-Za-km-z]{1,51})(?:…([1-9A-HJ-NP-Za-km-z]*))?$/

/** From so many characters on it may be a whole one, of an older kind of key. */
const maybeWhole = 46

/** Candidates that an answer names at most. */
const mostNamed = 10

/**
 * The one candidate that the text is a part of. What can be no part of a peer ID, and a whole one, stays as it is.
 *
 * @param {string} text
 * @param {Iterable<string> | undefined} candidates every peer ID that the page knows of; undefined before it knows any
 * @returns {{ readonly id: string } | { readonly problem: string, readonly ids: ReadonlyArray<string> } | undefined}
 *   undefined where that cannot be told yet
 */
export const resolve = (text, candidates) => {
  const [, start, end = ""] = partial.exec(text) ?? []
  if (start === undefined) return { id: text }
  if (candidates === undefined) return undefined
  const known = [...new Set(candidates)].filter((id) => id.endsWith(end)).sort()
  const whole = known.filter((id) => id.startsWith(start))
  const found = whole.length > 0 ? whole : known.filter((id) => id.startsWith(common + start))
  const [first, ...others] = found
  if (first === undefined && start.length >= maybeWhole) return { id: text }
  if (first === undefined) return { problem: `No server is known here whose peer ID begins with ${text}.`, ids: [] }
  if (others.length === 0) return { id: first }
  const rest = found.length - mostNamed
  const more = rest > 0 ? `, ${counted(rest, "of them is", "of them are")} not shown` : ""
  return { problem: `${text} could be any of ${found.length} servers${more}:`, ids: found.slice(0, mostNamed) }
}
