import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { refusalReasons, refuse } from "../../src/registry/Refusal.ts"
import { Tally } from "../../src/registry/Tally.ts"

describe("a refusal", () => {
  it("R2 knows its verdict: reject what every reader refuses for ever, ignore the rest", () => {
    assert.deepStrictEqual(
      refusalReasons.map((reason) => [reason, refuse(reason, "").verdict]),
      [
        ["oversize", "reject"],
        ["malformed", "reject"],
        ["forged", "reject"],
        ["too-old", "ignore"],
        ["too-far-ahead", "ignore"],
        ["repeated", "ignore"],
        ["own", "ignore"],
        ["over-rate", "ignore"],
        ["full", "ignore"],
        ["defect", "ignore"]
      ]
    )
  })

  it("R4 I02 never carries more than 200 characters of what it complains about", () => {
    assert.strictEqual(refuse("malformed", "x".repeat(1e6)).detail, "x".repeat(200))
    assert.strictEqual(refuse("malformed", "port: not a whole number").message, "malformed: port: not a whole number")
  })
})

describe("the tally", () => {
  it.effect("O01 has a fixed set of labels, counted from the start", () =>
    Effect.gen(function* () {
      const tally = yield* Tally
      const before = yield* tally.read
      assert.strictEqual(before.length, 2 * (1 + refusalReasons.length))
      assert.isTrue(before.every(({ count }) => count === 0))
      yield* tally.count(announceTopic, undefined)
      yield* tally.count(heartbeatTopic, refuse("forged", ""))
      yield* tally.count(heartbeatTopic, refuse("forged", ""))
      assert.deepStrictEqual(
        (yield* tally.read).filter(({ count }) => count > 0),
        [
          { topic: announceTopic, verdict: "accept", reason: "none", count: 1 },
          { topic: heartbeatTopic, verdict: "reject", reason: "forged", count: 2 }
        ]
      )
    }).pipe(Effect.provide(Tally.layer))
  )
})
