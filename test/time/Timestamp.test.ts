import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Timestamp from "../../src/time/Timestamp.ts"

const parsed = (text: string) => Result.getOrThrow(Timestamp.parse(text))
const problem = (text: string) => Result.getOrThrow(Result.flip(Timestamp.parse(text)))

describe("a timestamp", () => {
  it("J01 is read in every form that Go prints, to the nanosecond", () => {
    const whole = 1_796_066_052_000_000_000n
    const cases: ReadonlyArray<readonly [string, bigint]> = [
      ["2026-11-30T19:14:12Z", whole],
      ["2026-11-30T19:14:12.1Z", whole + 100_000_000n],
      ["2026-11-30T19:14:12.000000001Z", whole + 1n],
      ["2026-11-30T19:14:12.123456789-00:00", whole + 123_456_789n],
      ["2026-12-01T05:14:12.123456789+10:00", whole + 123_456_789n],
      ["2026-11-30T13:44:12.123456789-05:30", whole + 123_456_789n],
      ["2026-12-01T19:13:12+23:59", whole],
      ["1970-01-01T00:00:00Z", 0n],
      ["1969-12-31T23:59:59.999999999Z", -1n],
      ["2000-02-29T00:00:00Z", 951_782_400_000_000_000n],
      ["2100-03-01T00:00:00Z", 4_107_542_400_000_000_000n],
      ["0001-01-01T00:00:00Z", Timestamp.zero],
      ["0000-01-01T00:00:00Z", -62_167_219_200_000_000_000n],
      ["0000-12-31T23:59:59Z", -62_135_596_801_000_000_000n],
      ["9999-12-31T23:59:59.999999999Z", 253_402_300_799_999_999_999n]
    ]
    assert.deepStrictEqual(
      cases.map(([text]) => [text, parsed(text)]),
      cases.map(([text, nanos]) => [text, nanos])
    )
  })

  it("J01 R3 is refused in every form that Go refuses", () => {
    const refused = [
      "2026-11-30t19:14:12Z",
      "2026-11-30T19:14:12z",
      "2026-11-30 19:14:12Z",
      "2026-11-30T19:14:12",
      "2026-11-30T19:14Z",
      "2026-11-30T19:14:12.Z",
      "2026-11-30T19:14:12,5Z",
      "2026-11-30T19:14:12.1234567890Z",
      "2026-11-30T9:14:12Z",
      "2026-11-30T19:14:12+1000",
      "2026-11-30T19:14:12+10",
      " 2026-11-30T19:14:12Z",
      "2026-11-30T19:14:12Z\n",
      "2026-11-30",
      "",
      "+2026-11-30T19:14:12Z",
      "２026-11-30T19:14:12Z"
    ]
    assert.deepStrictEqual(
      refused.map(problem),
      refused.map(() => Timestamp.notATimestamp)
    )
  })

  it("J02 R3 is a real date and a real time of day", () => {
    const refused: ReadonlyArray<readonly [string, string]> = [
      ["2026-02-30T00:00:00Z", "a day that does not exist"],
      ["2026-02-29T00:00:00Z", "a day that does not exist"],
      ["1900-02-29T00:00:00Z", "a day that does not exist"],
      ["2026-04-31T00:00:00Z", "a day that does not exist"],
      ["2026-01-00T00:00:00Z", "a day that does not exist"],
      ["2026-00-10T00:00:00Z", "a month that does not exist"],
      ["2026-13-10T00:00:00Z", "a month that does not exist"],
      ["2026-11-30T24:00:00Z", "a time of day that does not exist"],
      ["2026-11-30T19:60:00Z", "a time of day that does not exist"],
      ["2026-11-30T23:59:60Z", "a time of day that does not exist"],
      ["2026-11-30T19:14:12+24:00", "a zone that does not exist"],
      ["2026-11-30T19:14:12-10:60", "a zone that does not exist"]
    ]
    assert.deepStrictEqual(
      refused.map(([text]) => [text, problem(text)]),
      refused.map(([text, why]) => [text, why])
    )
  })

  it("B01 is no number, in no unit, and no year beyond 9999", () => {
    for (const text of ["1790000000", "1790000000000", "1790000000000000000", "1", "10000-01-01T00:00:00Z"]) {
      assert.strictEqual(problem(text), Timestamp.notATimestamp)
    }
  })

  it("is written as Go prints it in UTC: Z, and no trailing zeros", () => {
    const cases: ReadonlyArray<readonly [bigint, string]> = [
      [0n, "1970-01-01T00:00:00Z"],
      [-1n, "1969-12-31T23:59:59.999999999Z"],
      [1_796_066_052_000_000_000n, "2026-11-30T19:14:12Z"],
      [1_796_066_052_100_000_000n, "2026-11-30T19:14:12.1Z"],
      [1_796_066_052_123_456_789n, "2026-11-30T19:14:12.123456789Z"],
      [1_796_066_052_000_000_010n, "2026-11-30T19:14:12.00000001Z"],
      [951_782_400_000_000_000n, "2000-02-29T00:00:00Z"],
      [951_868_800_000_000_000n, "2000-03-01T00:00:00Z"],
      [Timestamp.zero, "0001-01-01T00:00:00Z"]
    ]
    assert.deepStrictEqual(
      cases.map(([nanos]) => Timestamp.format(nanos)),
      cases.map(([, text]) => text)
    )
  })

  it("comes back the same from its own text, on every day of four centuries", () => {
    const day = 86_400_000_000_000n
    let nanos = parsed("1899-12-31T23:59:59.999999999Z")
    for (let count = 0; count < 146_097; count++, nanos += day) {
      assert.strictEqual(parsed(Timestamp.format(nanos)), nanos)
    }
    assert.strictEqual(Timestamp.format(nanos), "2299-12-31T23:59:59.999999999Z")
  })

  it("is rounded down to milliseconds, on either side of the epoch", () => {
    assert.deepStrictEqual(
      [0n, 999_999n, 1_000_000n, -1n, -1_000_000n, -1_000_001n].map(Timestamp.toMillis),
      [0, 0, 1, -1, -1, -2]
    )
    assert.strictEqual(Timestamp.toMillis(Timestamp.fromMillis(1_796_066_052_123)), 1_796_066_052_123)
    assert.strictEqual(Timestamp.fromMillis(1.9), 1_000_000n)
  })
})
