import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { entryOf, render, stateOf } from "../../src/ops/ServiceRendering.ts"
import { ServiceEntry } from "../../src/ops/ServiceView.ts"
import type { Moment } from "../../src/ops/Surroundings.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { known } from "./Doubles.ts"

const a = peerIdOf("a")
const hour = 3_600_000
const at = (steadyMillis: number, network: Partial<Moment> = {}): Moment => ({
  now: { wallNanos: BigInt(steadyMillis) * 1_000_000n, steadyMillis },
  neighbours: new Set(),
  addresses: new Map(),
  ...network
})

describe("an entry as it is told", () => {
  it("O07 O08 says all that the server announced, and how this node knows it", () => {
    const entry = known(
      a,
      1_000,
      { capabilities: ["mailbox"], region: "eu-west", regions: ["eu-west", "eu"], timestamp: 999_123_456_789n },
      {
        heartbeat: {
          message: { serverId: a, healthy: true, uptimeScore: 0.5, timestamp: 1_000_000_000_001n },
          signed: new Uint8Array()
        },
        beatMillis: 30_000,
        skewMillis: -1_500,
        verdictChanges: 2,
        firstHeard: { wallMillis: 500, steadyMillis: 500 },
        recent: [true, true, false, true].map((healthy) => ({ wallMillis: 0, healthy }))
      }
    )
    assert.deepStrictEqual(
      entryOf(entry, at(91_999, { neighbours: new Set([a]), addresses: new Map([[a, ["/ip4/10.0.0.1/tcp/1"]]]) })),
      {
        server_id: a,
        capabilities: ["mailbox"],
        max_storage: "10GB",
        retention_policy: "720h0m0s",
        region: "eu-west",
        regions: ["eu-west", "eu"],
        uptime_score: 0.5,
        healthy: true,
        stopped: false,
        timestamp: "1970-01-01T00:16:40.000000001Z",
        port: 55223,
        last_heard: "1970-01-01T00:00:01Z",
        first_heard: "1970-01-01T00:00:00.5Z",
        skew_seconds: -1.5,
        beat_seconds: 30,
        verdict_changes: 2,
        recent_verdicts: "++-+",
        restored: false,
        state: "available",
        since: "1970-01-01T00:00:01Z",
        overdue_heartbeats: 2,
        connected: true,
        addresses: ["/ip4/10.0.0.1/tcp/1"],
        age_seconds: 90
      }
    )
  })

  it("M04 says of a server that it is not connected to that it knows no address", () => {
    const entry = entryOf(known(a, 0), at(0))
    assert.deepStrictEqual(
      { connected: entry?.connected, addresses: entry?.addresses },
      { connected: false, addresses: [] }
    )
  })

  it.each([
    { state: "available", entry: known(a, 0), ageMillis: 2 * hour },
    { state: "silent", entry: known(a, 0), ageMillis: 2 * hour + 1 },
    { state: "unhealthy", entry: known(a, 0, { healthy: false }), ageMillis: 2 * hour },
    { state: "silent", entry: known(a, 0, { healthy: false }), ageMillis: 2 * hour + 1 },
    { state: "unannounced", entry: known(a, 0, {}, { announcement: undefined }), ageMillis: 3 * hour }
  ])("is $state at an age of $ageMillis ms", ({ ageMillis, entry, state }) =>
    assert.strictEqual(stateOf(entry, at(ageMillis)), state)
  )

  it("is silent since two hours after it was last heard, not since it was looked at", () =>
    assert.strictEqual(entryOf(known(a, 1_000), at(5 * hour))?.since, "1970-01-01T02:00:01Z"))

  it("is the same as text as it is as a value, and fits its schema", () => {
    const hostile = "\u001b]0;x\u0007\n<img src=x onerror=alert(1)>\u202e\ud800"
    const entry = known(a, 0, { region: hostile, capabilities: [hostile], retentionPolicy: hostile })
    const text = render(entry, at(5_000))?.text ?? ""
    assert.deepStrictEqual(JSON.parse(text), entryOf(entry, at(5_000)))
    assert.strictEqual(Schema.is(ServiceEntry)(JSON.parse(text)), true)
    assert.strictEqual(/[\p{Cc}\p{Bidi_Control}]/u.test(text), false)
  })

  it("has the same substance while nothing but its age changes", () => {
    const entry = known(a, 0)
    assert.strictEqual(render(entry, at(1_000))?.substance, render(entry, at(60_000))?.substance)
    assert.notStrictEqual(render(entry, at(1_000))?.substance, render(entry, at(2 * hour + 1))?.substance)
    assert.notStrictEqual(
      render(entry, at(1_000))?.substance,
      render(entry, at(1_000, { neighbours: new Set([a]) }))?.substance
    )
  })

  it("S16 is nothing while the server has only sent heartbeats", () =>
    assert.strictEqual(render(known(a, 0, {}, { announcement: undefined }), at(0)), undefined))
})
