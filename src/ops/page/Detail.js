/** All that is known of one server, and above it why it is listed or is not (R21, O04). */
import { byId, element, facts, fill, inert, lines, linkTo } from "./Elements.js"
import { resolve } from "./Prefix.js"
import { ask } from "./Source.js"
import { toldStrip, VerdictStrip } from "./Strip.js"
import { ago, lasting, utc } from "./Times.js"
import { counted, duration, percent, skew, skewWorthAWord, stateOf } from "./Words.js"

/** @typedef {import("../ServiceView.ts").ServiceDetail} ServiceDetail */
/** @typedef {import("../ServiceView.ts").ServiceEntry} ServiceEntry */

/** Where its owner, or this one, would look. @type {Readonly<Record<string, string>>} */
const advice = {
  unhealthy:
    "Look for “self-check failed” in its log, and at its /readyz. It is back with its first check that passes.",
  silent:
    "Look whether it runs, and whether there is a path to it: GossipSub carries messages only between connected peers.",
  "never-announced":
    "Look whether it runs and is connected, for example through a bootstrap peer that both share, and whether the peer ID is right.",
  refused: "The reason says what it is about its messages, or its clock, that does not count here.",
  evicted: "discovery.max_servers is how many servers are remembered here."
}

/** @param {ServiceDetail} detail */
const verdict = ({ explanation, listed, reason, service, since }) => {
  const isStopped = service?.stopped === true && (reason === "unhealthy" || reason === "silent")
  const whatToDo = isStopped ? "Start it again, if it is to be listed." : advice[reason]
  const isOwn = reason === "self"
  const isEvent = reason === "refused" || reason === "evicted"
  const when = since === null ? [] : isEvent ? [" — ", ago(since)] : [" — for ", lasting(since)]
  const made = element("p", "verdict", [
    element("span", "dot"),
    element("b", "", [isOwn ? "This server" : listed ? "Listed" : "Not listed"]),
    `: ${inert(explanation)}`,
    ...when
  ])
  made.dataset.state =
    listed || isOwn
      ? "available"
      : !isStopped && (reason === "unhealthy" || reason === "refused")
        ? "unhealthy"
        : "silent"
  return [made, ...(whatToDo === undefined ? [] : [element("p", "muted", [whatToDo])])]
}

/** @param {ServiceEntry} entry */
const described = (entry) => {
  const isOff = Math.abs(entry.skew_seconds ?? 0) > skewWorthAWord
  const late = entry.overdue_heartbeats ?? 0
  return facts([
    ["State", element("span", "", [stateOf(entry), ", for ", lasting(entry.since)])],
    [
      "Last heard",
      element("span", "", [ago(entry.last_heard), late === 0 ? "" : ` · ${counted(late, "heartbeat")} overdue`])
    ],
    ["Score", `${percent(entry.uptime_score)} of its last checks passed, as it says itself`],
    ["Clock skew", element("span", isOff ? "off" : "", [skew(entry.skew_seconds)])],
    ["Heartbeat", entry.beat_seconds === null ? "beat not known yet" : `every ${duration(entry.beat_seconds)}`],
    ["Verdict changes", String(entry.verdict_changes)],
    ["First heard", ago(entry.first_heard)],
    ["Newest message", element("span", "", [ago(entry.timestamp), ", by its clock"])],
    ["Heard live", entry.restored ? "not yet: kept from before, or told by a neighbour" : undefined],
    ["Region", inert(entry.region)],
    ["Regions served", inert(entry.regions.join(", ")) || "–"],
    ["Capabilities", inert(entry.capabilities.join(", ")) || "–"],
    ["Storage", inert(entry.max_storage)],
    ["Retention", inert(entry.retention_policy)],
    ["Port", String(entry.port)]
  ])
}

/** @param {ServiceDetail["recent"]} recent */
const recentVerdicts = (recent) => {
  if (recent.length === 0) return []
  const failed = recent.filter(({ healthy }) => !healthy).length
  const bars = recent.map(({ healthy, time }) => ({
    ok: healthy,
    title: `${utc(time)} · ${healthy ? "passed" : "failed"}`
  }))
  const label = `${counted(recent.length, "verdict")} heard, ${failed} failed; newest on the right`
  return [
    element("h3", "", ["Verdicts as heard here"]),
    toldStrip(bars, VerdictStrip.places, label),
    element("p", "muted", [label])
  ]
}

/** @param {ServiceDetail} detail */
const body = (detail) => [
  ...verdict(detail),
  ...recentVerdicts(detail.recent),
  element("h3", "", ["What is known"]),
  facts([
    ["Peer ID", element("span", "code", [inert(detail.server_id)])],
    ["Connected", detail.connected ? "yes" : "no, heard through others"],
    ["Addresses", detail.addresses.length === 0 ? undefined : lines(detail.addresses)],
    [
      "Refused",
      detail.refused === null
        ? undefined
        : element("span", "", [
            `${counted(detail.refused.count, "message")}, the last `,
            ago(detail.refused.last),
            ` as ${detail.refused.reason} (${detail.refused.verdict}): ${inert(detail.refused.detail)}`
          ])
    ],
    [
      "Evicted",
      detail.evicted === null
        ? undefined
        : element("span", "", [ago(detail.evicted.time), `: ${inert(detail.evicted.reason)}`])
    ]
  ]),
  ...(detail.service === null ? [] : [described(detail.service)])
]

/** A peer of which nothing was ever heard. @param {{ detail: string, connected: boolean }} problem */
const unknown = ({ connected, detail }) => {
  const made = element("p", "verdict", [element("span", "dot"), element("b", "", ["Not known"]), `: ${inert(detail)}`])
  made.dataset.state = "silent"
  const link = connected
    ? "This server is connected to it, and heard nothing of it on either topic."
    : advice["never-announced"]
  return [made, element("p", "muted", [link ?? ""])]
}

export class Detail {
  #dialog = byId("detail", HTMLDialogElement)
  #title = byId("detail-title", HTMLElement)
  #body = byId("detail-body", HTMLElement)
  #id = ""
  /** Where in the page's address that server is. */
  #hash = ""
  #drawn = ""

  /** @type {() => Iterable<string> | undefined} */
  #candidates

  /** @param {() => Iterable<string> | undefined} candidates every peer ID that is known of, once any is */
  constructor(candidates) {
    this.#candidates = candidates
    byId("detail-close", HTMLButtonElement).addEventListener("click", () => this.#dialog.close())
    this.#dialog.addEventListener("click", ({ target }) => target === this.#dialog && this.#dialog.close())
    this.#dialog.addEventListener("close", () => {
      // The event comes a moment after; the next server may have been asked for by then.
      if (this.#dialog.open || location.hash !== this.#hash) return
      this.#id = ""
      history.replaceState(null, "", location.pathname)
    })
    window.addEventListener("hashchange", () => this.#follow())
    this.#follow()
  }

  /** The server that is looked at; empty while none is. */
  get id() {
    return this.#id
  }

  /**
   * @param {string} problem
   * @param {ReadonlyArray<string>} ids
   */
  #drawUnclear(problem, ids) {
    const content = [problem, ...ids].join()
    if (content === this.#drawn) return
    this.#drawn = content
    const links = ids.map((id) => element("li", "", [linkTo(id)]))
    fill(this.#body, [
      element("p", "notice", [inert(problem)]),
      ...(links.length === 0 ? [] : [element("ul", "lines", links)])
    ])
  }

  #follow() {
    const id = location.hash.startsWith("#/") ? decoded(location.hash.slice(2)).trim() : ""
    this.#id = id
    this.#hash = location.hash
    if (id === "") return this.#dialog.close()
    this.#drawn = ""
    this.#title.textContent = "Server"
    fill(this.#body, [element("p", "muted", ["Asking…"])])
    if (!this.#dialog.open) this.#dialog.showModal()
    this.refresh()
  }

  async refresh() {
    if (this.#id === "") return
    const found = resolve(this.#id, this.#candidates())
    if (found === undefined) return
    if ("problem" in found) return this.#drawUnclear(found.problem, found.ids)
    const { id } = found
    this.#id = id
    const answer = await ask(`services/${encodeURIComponent(id)}`)
    if (this.#id !== id) return
    if (answer.status === 0) {
      if (this.#drawn === "")
        fill(this.#body, [element("p", "notice bad", ["This server does not answer. Trying again."])])
      return
    }
    // What only grows older needs no new words, and text that someone selects stays.
    const content = JSON.stringify(answer.body, (key, value) => (key === "age_seconds" ? undefined : value))
    if (content === this.#drawn) return
    this.#drawn = content
    this.#title.textContent = inert(answer.body.server_id ?? id)
    if (answer.ok) return fill(this.#body, body(answer.body))
    if (answer.body.reason === "never-announced") return fill(this.#body, unknown(answer.body))
    fill(this.#body, [element("p", "notice", [inert(String(answer.body.detail ?? "No answer"))])])
  }
}

/** @param {string} text */
const decoded = (text) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
