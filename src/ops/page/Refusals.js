/** The card of what did not count lately, whose it was and why. */
import { byId, element, fill, inert, linkTo } from "./Elements.js"
import { ago } from "./Times.js"

/** @typedef {import("../RefusalList.ts").RefusalList} RefusalList */

/** What each reason means. Those it does not know are shown as they are. @type {Readonly<Record<string, string>>} */
const meanings = {
  oversize: "larger than a message may be",
  malformed: "not made as the format has it",
  forged: "signed by another than the server it names",
  "too-old": "its clock is behind, or the message was long on its way",
  "too-far-ahead": "its clock is ahead",
  repeated: "heard before",
  own: "this server's own words, come back",
  "over-rate": "more than a server's share",
  full: "the registry is full",
  defect: "a defect of this server"
}

/** Every network has some of these. */
const ordinary = new Set(["repeated", "own"])

/** @param {string} reason */
const named = (reason) => {
  const made = element("b", "reason", [inert(reason)])
  made.title = meanings[reason] ?? ""
  return made
}

/** @param {RefusalList} list */
const totals = ({ counts }) => {
  /** @type {Map<string, number>} */
  const byReason = new Map()
  for (const { count, reason } of counts) byReason.set(reason, (byReason.get(reason) ?? 0) + count)
  const parts = [...byReason].sort(
    ([left, leftCount], [right, rightCount]) =>
      Number(ordinary.has(left)) - Number(ordinary.has(right)) || rightCount - leftCount
  )
  if (parts.length === 0) return element("p", "muted", ["Every message since the start has counted."])
  const chips = parts.map(([reason, count]) =>
    element("li", ordinary.has(reason) ? "muted" : "", [named(reason), ` ${count.toLocaleString("en")}`])
  )
  return element("ul", "chips", chips)
}

/** @param {RefusalList} list */
export const drawRefusals = (list) => {
  const lines = list.signers.map(({ count, detail, last, reason, server_id }) =>
    element("li", "refusal", [
      linkTo(server_id),
      named(reason),
      count === 1 ? "" : `×${count.toLocaleString("en")}`,
      ago(last),
      element("span", "why", [inert(detail)])
    ])
  )
  fill(byId("refusals", HTMLElement), [totals(list), element("ul", "lines scrolls", lines)])
}
