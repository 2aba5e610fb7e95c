import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import * as GoDuration from "../../src/announcing/GoDuration.ts"

describe("a duration as Go prints it", () => {
  it.each([
    [0n, "0s"],
    [1n, "1ns"],
    [999n, "999ns"],
    [1_000n, "1µs"],
    [1_100n, "1.1µs"],
    [999_999n, "999.999µs"],
    [1_000_000n, "1ms"],
    [2_200_000n, "2.2ms"],
    [999_999_999n, "999.999999ms"],
    [1_000_000_000n, "1s"],
    [3_300_000_000n, "3.3s"],
    [59_999_999_999n, "59.999999999s"],
    [60_000_000_000n, "1m0s"],
    [245_000_000_000n, "4m5s"],
    [245_001_000_000n, "4m5.001s"],
    [3_600_000_000_000n, "1h0m0s"],
    [18_367_001_000_000n, "5h6m7.001s"],
    [480_000_000_001n, "8m0.000000001s"],
    [9_223_372_036_854_775_807n, "2562047h47m16.854775807s"],
    [-9_223_372_036_854_775_808n, "-2562047h47m16.854775808s"],
    [-1_500n, "-1.5µs"]
  ])("S6 writes %d nanoseconds as %s", (nanos, text) => {
    assert.strictEqual(GoDuration.fromNanos(nanos), text)
  })

  it("S6 S21 writes a Duration", () => {
    assert.strictEqual(GoDuration.fromDuration(Duration.days(30)), "720h0m0s")
    assert.strictEqual(GoDuration.fromDuration(Duration.minutes(5)), "5m0s")
    assert.strictEqual(GoDuration.fromDuration(Duration.seconds(1.5)), "1.5s")
  })
})
