import { assert, describe, it } from "@effect/vitest"
import * as RateLimit from "../../src/registry/RateLimit.ts"

const twice = (maxKeys = 10) => RateLimit.make({ limit: 2, windowMillis: 60_000, maxKeys })

describe("a rate limit", () => {
  it("R19 lets so many count in any window, and not one more", () => {
    const rate = twice()
    const times = [0, 10_000, 59_999, 60_000, 60_001, 69_999, 70_000]
    assert.deepStrictEqual(
      times.map((millis) => rate.take("a", millis)),
      [true, true, false, true, false, false, true]
    )
  })

  it("R19 counts each key for itself", () => {
    const rate = twice()
    assert.deepStrictEqual(
      ["a", "a", "b", "a", "b", "b"].map((key) => rate.take(key, 0)),
      [true, true, true, false, true, false]
    )
  })

  it("R19 is not used up by what does not count", () => {
    const rate = twice()
    const outcomes = Array.from({ length: 1_000 }, (_, index) => rate.take("a", index * 1_000))
    assert.strictEqual(outcomes.filter((counted) => counted).length, 34)
  })

  it("R19 remembers a bounded number of keys, the quietest forgotten first", () => {
    const rate = twice(2)
    for (const key of ["a", "a", "b", "b", "c"]) rate.take(key, 0)
    assert.deepStrictEqual(
      ["b", "a"].map((key) => rate.take(key, 1)),
      [false, true]
    )
  })
})
