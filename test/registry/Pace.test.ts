import { assert, describe, it } from "@effect/vitest"
import * as Pace from "../../src/registry/Pace.ts"

const pace = (maxSubjects = 10) => Pace.make({ linesPerSubject: 2, linesInAll: 5, windowMillis: 60_000, maxSubjects })

describe("the pace of log lines", () => {
  it("R19 O02 lets so many about one subject through, and the next says how many it held back", () => {
    const lines = pace()
    assert.deepStrictEqual(
      [0, 1, 2, 3, 60_000, 60_000].map((millis) => lines.line("a", millis)),
      [0, 0, undefined, undefined, 2, undefined]
    )
  })

  it("R19 O02 lets so many through in all", () => {
    const lines = pace()
    const subjects = ["a", "a", "b", "b", "c", "c", "d"]
    assert.deepStrictEqual(
      subjects.map((subject) => lines.line(subject, 0)),
      [0, 0, 0, 0, 0, undefined, undefined]
    )
  })

  it("R19 O02 says what it held back when nobody asks any more, once", () => {
    const lines = pace()
    for (let count = 0; count < 60_000; count++) lines.line("a", 0)
    lines.line("b", 0)
    assert.deepStrictEqual(lines.heldBack(), [{ subject: "a", lines: 59_998 }])
    assert.deepStrictEqual(lines.heldBack(), [])
    assert.strictEqual(lines.line("a", 60_000), 0)
  })

  it("R19 counts subjects beyond its bound together", () => {
    const lines = pace(2)
    for (let subject = 0; subject < 100; subject++) lines.line(`s${subject}`, 0)
    assert.deepStrictEqual(lines.heldBack(), [
      { subject: "s5", lines: 1 },
      { subject: "s6", lines: 1 },
      { subject: "others", lines: 93 }
    ])
  })
})
