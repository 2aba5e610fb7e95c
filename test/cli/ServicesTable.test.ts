import { assert, describe, it } from "@effect/vitest"
import { header, inStateOrder, ownLine, rowOf, whyNobody } from "../../src/cli/ServicesTable.ts"
import { render } from "../../src/cli/Table.ts"
import { berlin, entry, inColour, lisbon, onPaper, self } from "./Sample.ts"

const late = {
  ...entry,
  server_id: berlin,
  state: "unhealthy",
  uptime_score: 0.5,
  region: "\u001b[2J東京",
  overdue_heartbeats: 2,
  skew_seconds: -95,
  connected: false
} as const

describe("the list of servers", () => {
  it("R5 is a table whose columns are in line, whatever strangers call their regions", () =>
    assert.deepStrictEqual(render([header, rowOf(entry), rowOf(late)], onPaper), [
      "STATE      SCORE  REGION         HEARD               SKEW   CONNECTED  ID",
      `available  99.6%  eu-west        42s ago             +0.2s  yes        ${lisbon}`,
      `unhealthy  50.0%  \\u{1b}[2J東京  42s ago, 2 overdue  -1m    no         ${berlin}`
    ]))

  it("R20 has those that are available first, then the others by their state, each in order", () => {
    const states = ["silent", "available", "unhealthy", "available", "unannounced", "silent"] as const
    const entries = states.map((state, index) => ({ ...entry, state, server_id: String(index) }))
    assert.deepStrictEqual(
      inStateOrder(entries).map(({ server_id }) => server_id),
      ["1", "3", "2", "0", "5", "4"]
    )
  })

  it("R13 shows a server that was stopped in order as stopped, and not in red", () => {
    const stopped = { ...late, stopped: true, uptime_score: 1, overdue_heartbeats: 0 }
    assert.include(render([rowOf(stopped)], inColour)[0], "\u001b[2mstopped\u001b[0m  100%")
    assert.include(render([rowOf({ ...stopped, state: "silent" })], onPaper)[0], "silent  100%")
  })

  it("is coloured where there are colours", () =>
    assert.include(render([rowOf(late)], inColour)[0], "\u001b[31munhealthy\u001b[0m  50.0%"))

  it("has its last column cut where the terminal ends", () =>
    assert.strictEqual(
      render([rowOf(entry)], { ...onPaper, columns: 80 })[0],
      `available  99.6%  eu-west  42s ago  +0.2s  yes  ${lisbon.slice(0, 31)}…`
    ))

  it("R20 tells the server that was asked apart", () =>
    assert.strictEqual(ownLine(self.announcement), `this server: healthy, 100% of 12 checks, eu-central, ${berlin}`))

  it("F03 that is empty says why", () => {
    const known = { available: 0, unhealthy: 0, stopped: 0, silent: 0, unannounced: 0 }
    assert.strictEqual(whyNobody(known, false), "no other server is known")
    assert.strictEqual(
      whyNobody({ ...known, available: 1 }, true),
      "none that matches; 1 server known: 1 available, 0 unhealthy, 0 silent, 0 unannounced"
    )
  })
})
