import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { explain } from "../../src/ops/ServiceExplanation.ts"
import type { Moment } from "../../src/ops/Surroundings.ts"
import type { Remains } from "../../src/registry/Query.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { known, self } from "./Doubles.ts"

const a = peerIdOf("a")
const nothing: Remains = { entry: Option.none(), refusal: Option.none(), eviction: Option.none() }
const refusal = {
  reason: "too-old",
  detail: "timestamp: 3 h behind this server",
  count: 7,
  lastWallMillis: 60_000
} as const
const at: Moment = {
  now: { wallNanos: 3_600_000_000_000n * 3n, steadyMillis: 3_600_000 * 3 },
  neighbours: new Set([a]),
  addresses: new Map([[a, ["/ip4/10.0.0.1/tcp/1"]]])
}
const recently = 3_600_000 * 3 - 1_000

const answer = (remains: Partial<Remains>, server = a) => {
  const found = explain(server, self, { ...nothing, ...remains }, at)
  return found && { listed: found.listed, reason: found.reason, since: found.since, explanation: found.explanation }
}

describe("why a server is listed or not", () => {
  it("R21 listed", () =>
    assert.deepStrictEqual(answer({ entry: Option.some(known(a, recently)) }), {
      listed: true,
      reason: "available",
      since: "1970-01-01T02:59:59Z",
      explanation: "its last self-check passed and it was heard within two hours"
    }))

  it("R21 unhealthy since", () =>
    assert.deepStrictEqual(answer({ entry: Option.some(known(a, recently, { healthy: false })) }), {
      listed: false,
      reason: "unhealthy",
      since: "1970-01-01T02:59:59Z",
      explanation: "its last self-check failed"
    }))

  it("R13 R21 stopped in order, which is no failure", () => {
    const stopped = (heardMillis: number) =>
      answer({ entry: Option.some(known(a, heardMillis, { healthy: false }, { saidGoodbye: true })) })
    assert.deepInclude(stopped(recently), { reason: "unhealthy", explanation: "it was stopped in order" })
    assert.deepInclude(stopped(0), {
      reason: "silent",
      explanation: "it was stopped in order, and was not heard for more than two hours"
    })
  })

  it("R21 silent since", () =>
    assert.deepStrictEqual(answer({ entry: Option.some(known(a, 0)) }), {
      listed: false,
      reason: "silent",
      since: "1970-01-01T02:00:00Z",
      explanation: "it was not heard for more than two hours"
    }))

  it("R21 never announced, though it sends heartbeats", () =>
    assert.deepStrictEqual(answer({ entry: Option.some(known(a, recently, {}, { announcement: undefined })) }), {
      listed: false,
      reason: "never-announced",
      since: "1970-01-01T02:59:59Z",
      explanation: "it sends heartbeats but was not heard to announce itself"
    }))

  it("R21 refused: reason, count, last time", () => {
    assert.deepStrictEqual(answer({ refusal: Option.some(refusal) }), {
      listed: false,
      reason: "refused",
      since: "1970-01-01T00:01:00Z",
      explanation: "7 of its messages did not count, the last one as too-old: timestamp: 3 h behind this server"
    })
    assert.deepStrictEqual(explain(a, self, { ...nothing, refusal: Option.some(refusal) }, at)?.refused, {
      reason: "too-old",
      verdict: "ignore",
      detail: "timestamp: 3 h behind this server",
      count: 7,
      last: "1970-01-01T00:01:00Z"
    })
  })

  it("R21 evicted", () =>
    assert.deepStrictEqual(answer({ eviction: Option.some({ wallMillis: 1_000, reason: "silent" }) }), {
      listed: false,
      reason: "evicted",
      since: "1970-01-01T00:00:01Z",
      explanation: "it had to make room in a full registry: silent"
    }))

  it("R20 this server itself is told apart", () =>
    assert.deepStrictEqual(answer({}, self), {
      listed: false,
      reason: "self",
      since: null,
      explanation: "it is this server, which does not list itself"
    }))

  it("R21 nothing at all is known of a peer never heard of", () => assert.strictEqual(answer({}), undefined))

  it("R21 with it come its entry, its verdicts, its addresses", () => {
    const found = explain(a, self, { ...nothing, entry: Option.some(known(a, recently)) }, at)
    assert.deepStrictEqual(found?.recent, [{ time: "1970-01-01T02:59:59Z", healthy: true }])
    assert.deepStrictEqual(found?.addresses, ["/ip4/10.0.0.1/tcp/1"])
    assert.strictEqual(found?.connected, true)
    assert.strictEqual(found?.service?.server_id, a)
  })
})
