import { assert, describe, it } from "@effect/vitest"
import { rowsOf } from "../../src/cli/StatusText.ts"
import { render } from "../../src/cli/Table.ts"
import { berlin, nowMillis, onPaper, readiness, self, sick } from "./Sample.ts"

describe("a server at a glance", () => {
  it("is told one fact a line", () =>
    assert.deepStrictEqual(render(rowsOf(self, readiness, nowMillis), onPaper), [
      `server       ${berlin}`,
      "state        ready",
      "score        100% of 12 self-checks",
      "topic peers  1 on announcements, 1 on heartbeats",
      "bootstrap    1 of 1 address connected",
      "connections  1",
      "others       1 server known: 1 available, 0 unhealthy, 0 silent, 0 unannounced",
      "clock        agrees with the one server heard",
      "database     PostgreSQL",
      "version      0.1.0, up 2h 5m since 2026-11-30T17:55:00Z",
      "region       eu-central",
      "addresses    /ip4/10.0.0.1/tcp/55223"
    ]))

  it("names each of its addresses whole, on a line of its own", () => {
    const addresses = [1, 2, 3, 4].map((last) => `/dns4/${"a".repeat(60)}.example/tcp/5522${last}/p2p/${berlin}`)
    const announcement = { ...self.announcement, addresses }
    assert.deepStrictEqual(render(rowsOf({ ...self, announcement }, readiness, nowMillis), onPaper).slice(-4), [
      `addresses    ${addresses[0]}`,
      ...addresses.slice(1).map((address) => `             ${address}`)
    ])
  })

  it("R5 R10 R15 says plainly what is the matter", () =>
    assert.deepStrictEqual(render(rowsOf(sick.self, sick.readiness, nowMillis), onPaper).slice(1, 10), [
      "state        not ready: postgres: refused",
      "score        50.0% of 2 self-checks, 1 failed",
      "topic peers  none since 2026-11-30T19:50:00Z (10m ago): it is up, but alone",
      "bootstrap    0 of 2 addresses connected",
      "connections  0",
      "others       3 servers known: 0 available, 1 unhealthy, 2 silent, 0 unannounced",
      "clock        10m ahead, by 1 of 1 server heard",
      "database     PostgreSQL",
      "version      0.0.9\\u{1b}[2J, up 2h 5m since 2026-11-30T17:55:00Z"
    ]))
})
