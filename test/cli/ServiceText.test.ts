import { assert, describe, it } from "@effect/vitest"
import { type Known, rowsOf } from "../../src/cli/ServiceText.ts"
import { render } from "../../src/cli/Table.ts"
import { detail, entry, inColour, lisbon, nowMillis, onPaper, refusal } from "./Sample.ts"

const printed = (known: Known) => render(rowsOf(known, nowMillis), onPaper)

/** What is said of its state, and what to do about it. */
const told = (known: Known) =>
  printed(known)
    .filter((line) => /^(state|to do) /.test(line))
    .map((line) => line.replace(/^(state|to do) +/, ""))

describe("what is known of a server", () => {
  it("R21 is told one fact a line", () =>
    assert.deepStrictEqual(printed(detail), [
      `server       ${lisbon}`,
      "state        listed since 2026-11-30T19:00:00Z (1h ago): its last self-check passed and it was heard within two hours",
      "score        99.6%",
      "verdicts     +++-+ (newest last)",
      "heard        42s ago, every 5m",
      "first heard  2026-11-29T19:00:00Z (1d 1h ago)",
      "clock        agrees with that of the server asked",
      "region       eu-west",
      "offers       store-and-forward, mailbox",
      "storage      10GB, kept for 720h0m0s",
      "port         55223",
      "connected    yes",
      "addresses    /ip4/10.0.0.2/tcp/55223"
    ]))

  it("R21 shows its clock and its silence", () => {
    const late = {
      ...entry,
      skew_seconds: -95,
      overdue_heartbeats: 2,
      restored: true,
      regions: ["eu-west", "eu-north"]
    }
    const lines = printed({ ...detail, service: late })
    for (const line of [
      "heard        42s ago, every 5m, 2 heartbeats overdue, not heard live yet: kept, or told by a neighbour",
      "clock        1m behind that of the server asked",
      "regions      eu-west, eu-north"
    ]) {
      assert.include(lines, line)
    }
  })

  it("R5 cannot move a terminal's cursor", () => {
    const hostile = "\u001b[2J\u202e"
    const said = { region: hostile, regions: [hostile], max_storage: hostile, retention_policy: hostile }
    const text = render(
      rowsOf({ ...detail, service: { ...entry, ...said, capabilities: [hostile] } }, nowMillis),
      onPaper
    ).join("")
    assert.notInclude(text, "\u001b")
    assert.notInclude(text, "\u202e")
    assert.include(text, "region       \\u{1b}[2J\\u{202e}")
  })

  it("is coloured by its state", () =>
    assert.include(render(rowsOf(detail, nowMillis), inColour)[1], "\u001b[32mlisted since"))
})

describe("why a server is not listed", () => {
  const not = (reason: "unhealthy" | "silent" | "never-announced" | "evicted" | "refused", explanation: string) => ({
    ...detail,
    listed: false,
    reason,
    explanation
  })

  it("R21 unhealthy since", () =>
    assert.deepStrictEqual(told(not("unhealthy", "its last self-check failed")), [
      "not listed since 2026-11-30T19:00:00Z (1h ago): its last self-check failed",
      'look for "self-check failed" in its log, and at its /readyz; its next check that passes lists it again'
    ]))

  it("R13 R21 stopped in order, which is no failure", () => {
    const service = { ...entry, healthy: false, stopped: true, uptime_score: 1 }
    const known = { ...not("unhealthy", "it was stopped in order"), service }
    assert.deepStrictEqual(told(known), [
      "not listed since 2026-11-30T19:00:00Z (1h ago): it was stopped in order",
      "start it again, if it is to be listed"
    ])
    assert.include(printed(known), "score        100%")
    assert.include(render(rowsOf(known, nowMillis), inColour)[1], "  not listed since")
  })

  it("R21 silent since", () =>
    assert.deepStrictEqual(told(not("silent", "it was not heard for more than two hours")), [
      "not listed since 2026-11-30T19:00:00Z (1h ago): it was not heard for more than two hours",
      "see whether it runs, and whether it is connected to a server of the network"
    ]))

  it("R21 never announced", () => {
    const known = not("never-announced", "it sends heartbeats but was not heard to announce itself")
    assert.deepStrictEqual(told({ ...known, service: null }), [
      "not listed: it sends heartbeats but was not heard to announce itself; first heard 2026-11-30T19:00:00Z (1h ago)",
      "wait for its next announcement, or start it again: a server announces at its start"
    ])
  })

  it("R21 refused: reason, count, last time", () => {
    const known = { ...not("refused", "4 of its messages did not count"), service: null, refused: refusal }
    assert.deepStrictEqual(told({ ...known, since: refusal.last }), [
      "not listed: its messages do not count, last 2026-11-30T19:58:00Z (2m ago)",
      "set the clock of that machine (NTP); the other servers refuse its messages too"
    ])
    assert.include(
      printed(known),
      "refused    4 messages, the last one dated more than 2 minutes ahead (timestamp: 600 s ahead of this server), 2026-11-30T19:58:00Z (2m ago)"
    )
  })

  it("R21 evicted", () => {
    const evicted = { time: "2026-11-30T19:00:00Z", reason: "stale" }
    const known = { ...not("evicted", "it had to make room in a full registry: stale"), service: null, evicted }
    assert.deepStrictEqual(told(known), [
      "not listed since 2026-11-30T19:00:00Z (1h ago): it had to make room in a full registry: stale",
      "raise discovery.max_servers on the server that was asked"
    ])
  })

  it("R21 never heard, be it connected or not", () => {
    const known = { server_id: lisbon, reason: "never-heard", addresses: [] } as const
    assert.deepStrictEqual(printed({ ...known, connected: false }), [
      `server     ${lisbon}`,
      "state      not listed: no message of it was ever heard here",
      "to do      check the peer ID, and that it is connected to a server of the network (server.bootstrap_peers)",
      "connected  no",
      "addresses  -"
    ])
    assert.deepStrictEqual(
      told({ ...known, connected: true })[1],
      "it is connected, so it is no server of this network, or has not announced yet"
    )
  })

  it("R20 this server itself is told apart", () =>
    assert.deepStrictEqual(
      told({ ...detail, listed: false, reason: "self", since: null, explanation: "it is this server", service: null }),
      ["it is this server"]
    ))
})
