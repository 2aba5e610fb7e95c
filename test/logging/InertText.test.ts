import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { inert, isInert, stringify } from "../../src/logging/InertText.ts"

describe("inert text", () => {
  it("R5 is the text itself where nothing in it acts", () => {
    for (const text of ["", "eu-west", "Grüße, 日本 🚀", "a\\nb", "<img src=x onerror=alert(1)>", "e\u0301"]) {
      assert.strictEqual(inert(text), text)
      assert.isTrue(isInert(text))
    }
  })

  it("R5 I09 spells out whatever moves a cursor, breaks a line or turns a direction", () => {
    const pairs = [
      ["\u0000\u0007\b\t\n\r\u001b", "\\u{0}\\u{7}\\u{8}\\u{9}\\u{a}\\u{d}\\u{1b}"],
      ["\u007f\u0080\u0085\u009b\u009f", "\\u{7f}\\u{80}\\u{85}\\u{9b}\\u{9f}"],
      ["\u2028\u2029", "\\u{2028}\\u{2029}"],
      ["\u202a\u202b\u202c\u202d\u202e", "\\u{202a}\\u{202b}\\u{202c}\\u{202d}\\u{202e}"],
      ["\u2066\u2067\u2068\u2069", "\\u{2066}\\u{2067}\\u{2068}\\u{2069}"],
      ["\u061c\u200e\u200f\ufeff", "\\u{61c}\\u{200e}\\u{200f}\\u{feff}"],
      ["\ud800a\udc00", "\\u{d800}a\\u{dc00}"],
      ["\u001b[2J\u001b[31m\nlevel=INFO all good", "\\u{1b}[2J\\u{1b}[31m\\u{a}level=INFO all good"]
    ] as const
    for (const [hostile, shown] of pairs) assert.strictEqual(inert(hostile), shown)
  })

  it("I02 is cut where it is too long, and says so", () => {
    assert.strictEqual(inert("abcde", 5), "abcde")
    assert.strictEqual(inert("abcdef", 5), "abcd…")
    assert.strictEqual(inert("ab\n", 5), "ab…")
    assert.strictEqual(inert("abc🚀", 5), "abc🚀")
    assert.strictEqual(inert("abc🚀d", 5), "abc…")
    assert.strictEqual(inert("abcd🚀", 5), "abcd…")
    assert.strictEqual(inert("x".repeat(1_000)).length, 300)
    assert.isAtMost(inert("\u001b".repeat(10_000_000)).length, 300)
  })

  it.prop("R5 is inert and bounded whatever the text", [Schema.String], ([text]) => {
    const shown = inert(text, 40)
    return isInert(shown) && shown.length <= 40 && inert(shown, 40) === shown
  })
})

describe("inert JSON", () => {
  it("I09 I10 R5 writes what a terminal obeys as escapes", () =>
    assert.strictEqual(
      stringify("\u001b[2J\n\r\u0000\u007f\u009b31m\u2028\u2029\u202e\u2066\ufeff\ud800<b>🚀"),
      String.raw`"\u001b[2J\n\r\u0000\u007f\u009b31m\u2028\u2029\u202e\u2066\ufeff\ud800<b>🚀"`
    ))

  it.prop("R5 is inert, and reads back as the same value", [Schema.String], ([text]) => {
    const json = stringify({ [text]: [text] })
    return isInert(json) && JSON.parse(json)[text][0] === text
  })
})
