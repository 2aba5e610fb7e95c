/** The card of this server: its health as it measures it, the checks behind its score, and what it announces. */
import { byId, element, facts, fill, inert, lines, linkTo } from "./Elements.js"
import { toldStrip } from "./Strip.js"
import { ago, lasting, utc } from "./Times.js"
import { counted, duration, percent } from "./Words.js"

/** @typedef {import("../SelfView.ts").SelfView} SelfView */
/** @typedef {SelfView["self_checks"][number]} Check */

/** Checks that the uptime score is measured on at most. Source: specification, "The self-check and the uptime score". */
const measured = 288

/** Failed checks that are written out; the strip has them all. */
const written = 50

/** @param {Check} check */
const reason = ({ error, ok }) => (ok ? "passed" : inert(error ?? "failed"))

/** @param {ReadonlyArray<Check>} checks */
const strip = (checks) => {
  const failed = checks.filter(({ ok }) => !ok).length
  const bars = checks.map((check) => ({
    ok: check.ok,
    title: `${utc(check.time)} · ${reason(check)} · ${duration(check.duration_seconds)}`
  }))
  return toldStrip(bars, measured, `${counted(checks.length, "self-check")}, ${failed} failed; newest on the right`)
}

/** The failed checks with their reasons, newest first. @param {ReadonlyArray<Check>} checks */
const failures = (checks) => {
  const failed = checks.filter(({ ok }) => !ok).reverse()
  if (failed.length === 0) return []
  const items = failed
    .slice(0, written)
    .map((check) =>
      element("li", "", [
        ago(check.time),
        ` ${reason(check)} `,
        element("span", "muted", [duration(check.duration_seconds)])
      ])
    )
  const details = element("details", "", [
    element("summary", "", [`${failed.length} of ${counted(checks.length, "check")} failed`]),
    element("ol", "lines", items)
  ])
  details.id = "failed-checks"
  return [details]
}

/** @param {SelfView} self */
const announced = ({ announcement: said, database, started, version }) => {
  const details = element("details", "", [
    element("summary", "", ["What it announces"]),
    facts([
      ["Capabilities", inert(said.capabilities.join(", "))],
      ["Storage", inert(said.max_storage)],
      ["Retention", inert(said.retention_policy)],
      ["Port", String(said.port)],
      ["Addresses", lines(said.addresses)]
    ])
  ])
  details.id = "announced"
  return [
    facts([
      ["Region", inert(said.region)],
      ["Database", database === "postgres" ? "PostgreSQL" : database],
      ["Up for", lasting(started)],
      ["Version", version]
    ]),
    details
  ]
}

/** @param {SelfView} self */
const health = ({ announcement: { checks, uptime_score }, self_checks }) => {
  const latest = self_checks.at(-1)
  if (latest === undefined) return element("p", "muted", ["No self-check yet"])
  const state = element("p", "health", [
    element("span", "dot"),
    element("b", "", [latest.ok ? "Healthy" : "Unhealthy"]),
    ` · score ${percent(uptime_score)} of ${counted(checks, "check")} · checked `,
    ago(latest.time),
    latest.ok ? ` in ${duration(latest.duration_seconds)}` : `: ${reason(latest)}`
  ])
  state.dataset.state = latest.ok ? "available" : "unhealthy"
  return state
}

/** @param {SelfView} self */
export const drawOwnServer = (self) => {
  const { announcement, self_checks } = self
  fill(byId("own-name", HTMLElement), [linkTo(announcement.server_id)])
  fill(byId("own", HTMLElement), [health(self), strip(self_checks), ...failures(self_checks), ...announced(self)])
}
