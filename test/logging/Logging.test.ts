import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestConsole } from "effect/testing"
import * as Logging from "../../src/logging/Logging.ts"

const talk = Effect.gen(function* () {
  yield* Effect.logDebug("details")
  yield* Effect.logInfo("news").pipe(Effect.annotateLogs({ region: "eu\n" }))
  yield* Effect.logWarning("trouble")
  yield* Effect.logError("failure", new Error("why"))
})

const parsed = (line: unknown) => {
  const { time, ...rest } = JSON.parse(String(line))
  assert.strictEqual(time, "1970-01-01T00:00:00.000Z")
  return rest
}

describe("the log", () => {
  it.effect("R5 is JSON lines on standard output", () =>
    Effect.gen(function* () {
      yield* talk.pipe(Effect.provide(Logging.layer({ level: "debug", format: "json" })))
      assert.deepStrictEqual((yield* TestConsole.logLines).map(parsed), [
        { level: "DEBUG", msg: "details" },
        { level: "INFO", msg: "news", region: "eu\\u{a}" },
        { level: "WARN", msg: "trouble" },
        { level: "ERROR", msg: "failure why" }
      ])
      assert.deepStrictEqual(yield* TestConsole.errorLines, [])
    })
  )

  it.effect("drops what is less severe than its level", () =>
    Effect.gen(function* () {
      yield* talk.pipe(Effect.provide(Logging.layer({ level: "warn", format: "json" })))
      assert.deepStrictEqual(
        (yield* TestConsole.logLines).map((line) => parsed(line).msg),
        ["trouble", "failure why"]
      )
    })
  )

  it.effect("is lines for people where that is asked for", () =>
    Effect.gen(function* () {
      yield* talk.pipe(Effect.provide(Logging.layer({ level: "error", format: "pretty" })))
      const [line, ...others] = yield* TestConsole.logLines
      assert.match(String(line), /ERROR.* failure why$/)
      assert.deepStrictEqual(others, [])
    })
  )

  it.effect("of a command whose output is its answer is remarks on standard error", () =>
    Effect.gen(function* () {
      yield* talk.pipe(Effect.provide(Logging.layerRemarks))
      assert.deepStrictEqual(yield* TestConsole.logLines, [])
      assert.strictEqual((yield* TestConsole.errorLines).length, 2)
    })
  )
})
