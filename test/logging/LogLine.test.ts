import { stripVTControlCharacters } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Cause, DateTime } from "effect"
import * as LogLine from "../../src/logging/LogLine.ts"

const date = DateTime.toDateUtc(DateTime.makeUnsafe("2026-11-30T21:14:03.120Z"))

const event = (about: Partial<LogLine.LogEvent> = {}): LogLine.LogEvent => ({
  date,
  level: "Info",
  message: ["registry started"],
  cause: Cause.empty,
  annotations: {},
  ...about
})

const hostile = "\u001b[2J\u001b[31m\nlevel=INFO all good\u202e"

describe("a line of JSON", () => {
  it("says time, level, message and facts", () => {
    const annotations = { topic: "/sf-network/services/announce", passed: true, score: 0.5, regions: ["a", "b"] }
    assert.strictEqual(
      LogLine.json(event({ annotations })),
      '{"time":"2026-11-30T21:14:03.120Z","level":"INFO","msg":"registry started","topic":"/sf-network/services/announce","passed":true,"score":0.5,"regions":["a","b"]}'
    )
  })

  it("keeps a fact that is named like time, level or message apart", () => {
    const line = LogLine.json(event({ annotations: { level: "x", msg: "y", time: "z" } }))
    assert.deepStrictEqual(JSON.parse(line), {
      time: "2026-11-30T21:14:03.120Z",
      level: "INFO",
      msg: "registry started",
      level_: "x",
      msg_: "y",
      time_: "z"
    })
  })

  it("R5 I09 is one inert line", () => {
    const line = LogLine.json(
      event({
        message: [hostile],
        annotations: { region: hostile, [hostile]: 1 },
        cause: Cause.fail(new Error(hostile))
      })
    )
    const shown = "\\u{1b}[2J\\u{1b}[31m\\u{a}level=INFO all good\\u{202e}"
    assert.match(line, /^[\x20-\x7e]+$/)
    assert.deepStrictEqual(JSON.parse(line), {
      time: "2026-11-30T21:14:03.120Z",
      level: "INFO",
      msg: shown,
      region: shown,
      [shown.slice(0, 60)]: 1,
      cause: shown
    })
  })
})

describe("a line for people", () => {
  it("says time of day, level, message and facts", () => {
    const line = LogLine.pretty(
      event({ annotations: { topic: "/a", error: 'no "peers" here', n: 1, list: ["a", "b c"] } }),
      {
        colours: false
      }
    )
    const [time = "", ...rest] = line.split(" ")
    assert.match(time, /^\d\d:\d\d:\d\d\.120$/)
    assert.strictEqual(
      rest.join(" "),
      'INFO  registry started  topic=/a  error="no \\"peers\\" here"  n=1  list=[a, "b c"]'
    )
  })

  it("R5 I09 is one inert line, with no escape but its own colours", () => {
    const noisy = event({ level: "Warn", message: [hostile], annotations: { region: hostile } })
    const plain = LogLine.pretty(noisy, { colours: false })
    const coloured = LogLine.pretty(noisy, { colours: true })
    assert.match(plain, /^[\x20-\x7e]+$/)
    assert.strictEqual(stripVTControlCharacters(coloured), plain)
    assert.include(coloured, "\u001b[33mWARN \u001b[0m")
  })
})
