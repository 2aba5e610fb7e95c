import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Redacted } from "effect"
import { causeText, factOf, textOf } from "../../src/logging/FactText.ts"

/** Lists in lists, made without recursion: that is what is tested. */
const nested = (levels: number): unknown => {
  let value: unknown = "core"
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

describe("a fact", () => {
  it("keeps its kind where JSON has one", () => {
    assert.deepStrictEqual(
      [1, 0.5, true, "a", ["a", "b"], null, undefined, 10n, Number.NaN, Duration.seconds(90)].map(factOf),
      [1, 0.5, true, "a", ["a", "b"], "null", "undefined", "10", "NaN", "1m 30s"]
    )
  })

  it("R5 I02 is inert and bounded, whatever it is", () => {
    assert.strictEqual(factOf("\u001b[2J"), "\\u{1b}[2J")
    assert.strictEqual(String(factOf("x".repeat(1e6))).length, 300)
    assert.isAtMost(String(factOf({ ["k".repeat(1e6)]: "\n" })).length, 300)
    const list = factOf(Array.from({ length: 50 }, (_, n) => `\n${n}`))
    assert.deepStrictEqual(Array.isArray(list) ? [list.length, list[0], list[20]] : list, [21, "\\u{a}0", "… 30 more"])
  })

  it("I01 survives depth, circles and what throws", () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    assert.strictEqual(textOf(nested(100_000)), "[[[…]]]")
    assert.strictEqual(textOf(circle), "{self: {self: {self: …}}}")
    const throwing = {
      toString: () => {
        throw new RangeError("deep")
      }
    }
    assert.strictEqual(textOf(throwing), "(a value that cannot be printed)")
    assert.strictEqual(textOf(Object.create(null)), "{}")
  })

  it("shows no secret", () => {
    const secret = Redacted.make("hunter2")
    assert.strictEqual(factOf(secret), "<redacted>")
    assert.strictEqual(textOf({ password: secret }), "{password: <redacted>}")
  })
})

describe("what went wrong", () => {
  it("is an error and what caused it, in one line", () => {
    const error = new Error("outer", { cause: new Error("inner", { cause: "root\n" }) })
    assert.strictEqual(causeText(Cause.fail(error)), "outer: inner: root\\u{a}")
    assert.strictEqual(causeText(Cause.fail(new Error("says root", { cause: "root" }))), "says root")
    assert.strictEqual(causeText(Cause.fail(new TypeError())), "TypeError")
    assert.strictEqual(causeText(Cause.fail(new TypeError("", { cause: new Error("inner") }))), "inner")
    assert.strictEqual(
      causeText(Cause.fail(Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" }))),
      "ECONNREFUSED"
    )
    assert.strictEqual(causeText(Cause.fail("plain")), "plain")
    assert.strictEqual(causeText(Cause.interrupt()), "interrupted")
  })

  it("says where a bug is", () => {
    assert.match(causeText(Cause.die(new Error("bug"))), /^bug \(at .*FactText\.test\.ts:\d+:\d+.*\)$/)
  })

  it("R5 I02 is bounded, however many and however long", () => {
    const long = Array.from({ length: 50 }, (_, n) => Cause.fail(new Error(`${n} ${"x".repeat(1e5)}`)))
    const all = long.reduce<Cause.Cause<Error>>((together, one) => Cause.combine(together, one), Cause.empty)
    assert.isAtMost(causeText(all).length, 1_000)
  })
})
