import { assert, describe, it } from "@effect/vitest"
import { judgeEnding, judgeLine } from "./Conduct.ts"

const line = (level: string, msg: string) => JSON.stringify({ time: "2026-11-30T19:14:03.120Z", level, msg })

describe("a process of a soak run", () => {
  it("may not log an error, warn without reason, or write what is no log line", () => {
    const judged = (text: string) => judgeLine(text, "none", true)
    assert.strictEqual(judged(line("ERROR", "anything")), "logs at ERROR")
    assert.strictEqual(judged(line("FATAL", "anything")), "logs at FATAL")
    assert.strictEqual(judged(line("WARN", "rejected message")), "warns without reason")
    assert.strictEqual(judged("Trace: anything"), "writes what is no log line")
    assert.strictEqual(judged(line("WARN", "self-check failed")), undefined)
    assert.strictEqual(judged(line("INFO", "registry started")), undefined)
  })

  it("may be cut off in its last line by a kill, and by nothing else", () => {
    const half = line("INFO", "registry started").slice(0, 30)
    const wrong = "writes what is no log line"
    assert.strictEqual(judgeLine(half, "crash", true), undefined)
    assert.strictEqual(judgeLine(half, "crash", false), wrong)
    assert.strictEqual(judgeLine(half, "stop", true), wrong)
  })

  it("ends with 0 when it is told to stop, by the kill that killed it, and never by itself", () => {
    const clean = { code: 0, signal: null }
    const killed = { code: null, signal: "SIGKILL" } as const
    assert.strictEqual(judgeEnding(clean, "stop", true), undefined)
    assert.strictEqual(judgeEnding(killed, "crash", true), undefined)
    assert.strictEqual(judgeEnding(clean, "none", true), "ends by itself, with code 0")
    assert.strictEqual(judgeEnding({ code: 1, signal: null }, "stop", true), "ends with code 1, and was told to stop")
    assert.strictEqual(judgeEnding(killed, "stop", true), "ends by SIGKILL, and was told to stop")
    assert.strictEqual(judgeEnding(clean, "crash", true), "ends with code 0, and was killed")
  })

  it("may end by the signal itself before its first line", () => {
    const signalled = { code: null, signal: "SIGTERM" } as const
    assert.strictEqual(judgeEnding(signalled, "stop", false), undefined)
    assert.strictEqual(judgeEnding(signalled, "stop", true), "ends by SIGTERM, and was told to stop")
  })
})
