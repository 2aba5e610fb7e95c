import { assert, describe, it } from "@effect/vitest"
import { fuzz } from "../fuzz/Fuzz.ts"
import { seed } from "./Random.ts"

describe(`ten thousand mutated messages (SEED=${seed})`, () => {
  it("R3 R4 I01 I05 are read as an oracle reads them, in bounded time and with bounded words", {
    timeout: 60_000
  }, () => {
    const report = fuzz(10_000, seed)
    assert.deepStrictEqual(report.breaches, [])
    assert.isAbove(report.accepted, 500)
    for (const reason of ["malformed", "oversize", "forged", "too-old", "too-far-ahead", "repeated"]) {
      assert.isAbove(report.refused[reason] ?? 0, 20, reason)
    }
    assert.isBelow(report.slowestMicros / report.medianMicros, 20, report.slowest)
  })
})
