import { assert, describe, it } from "@effect/vitest"
import * as UptimeScore from "../../src/health/UptimeScore.ts"

/** A fixed sequence without a pattern of 288: passes where a multiplicative walk is not in its lowest third. */
const verdict = (n: number) => ({ ok: (n * 7_919) % 1_009 > 336, n })

describe("the uptime score", () => {
  it("S11 is the share of the last 288 checks that passed, from 1 check to 1000", () => {
    let window: ReadonlyArray<ReturnType<typeof verdict>> = []
    for (let n = 1; n <= 1_000; n++) {
      window = UptimeScore.add(window, verdict(n))
      let passed = 0
      let counted = 0
      for (let m = n; m > 0 && counted < 288; m--, counted++) if (verdict(m).ok) passed++
      assert.strictEqual(UptimeScore.score(window), passed / counted, `after ${n} checks`)
      assert.strictEqual(window.length, counted)
      assert.deepStrictEqual(window.at(-1), verdict(n))
    }
  })

  it("S11 is 287/288 after one failure in a full window, and 1 again when that one has left it", () => {
    const passed = { ok: true }
    let window: ReadonlyArray<UptimeScore.Verdict> = UptimeScore.add([], { ok: false })
    for (let n = 0; n < 287; n++) window = UptimeScore.add(window, passed)
    assert.strictEqual(UptimeScore.score(window), 0.9965277777777778)
    assert.strictEqual(UptimeScore.score(UptimeScore.add(window, passed)), 1)
  })

  it("S11 is 0 of no checks: nothing measured, nothing claimed", () => {
    assert.strictEqual(UptimeScore.score([]), 0)
  })

  it("leaves the window it was given as it was", () => {
    const window = [{ ok: true }]
    assert.deepStrictEqual(UptimeScore.add(window, { ok: false }), [{ ok: true }, { ok: false }])
    assert.deepStrictEqual(window, [{ ok: true }])
  })
})
