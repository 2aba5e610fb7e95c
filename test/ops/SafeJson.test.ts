import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { stringify } from "../../src/ops/SafeJson.ts"

describe("safe JSON", () => {
  it("I09 I10 R5 writes what a terminal obeys as escapes", () =>
    assert.strictEqual(
      stringify("\u001b[2J\n\r\u0000\u007f\u009b31m\u2028\u2029\u202e\u2066\ufeff\ud800<b>"),
      String.raw`"\u001b[2J\n\r\u0000\u007f\u009b31m\u2028\u2029\u202e\u2066\ufeff\ud800<b>"`
    ))

  it.prop(
    "reads back as the same value",
    [Schema.String],
    ([text]) => JSON.parse(stringify({ [text]: [text] }))[text][0] === text
  )
})
