import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { OwnWords } from "../../src/registry/OwnWords.ts"

const inSeconds = (seconds: number) => BigInt(seconds) * 1_000_000_000n

describe("this server's own words", () => {
  it.effect("R18 are those it remembers, and those from before it started", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 minute")
      yield* Effect.gen(function* () {
        const words = yield* OwnWords
        yield* words.remember(inSeconds(70))
        const timestamps = [
          inSeconds(59),
          inSeconds(60),
          inSeconds(60) + 1n,
          inSeconds(69),
          inSeconds(70),
          inSeconds(71)
        ]
        assert.deepStrictEqual(yield* Effect.forEach(timestamps, words.isMine), [true, true, false, false, true, false])
      }).pipe(Effect.provide(OwnWords.layer))
    })
  )

  it.effect("R19 are remembered 4 096 at a time, and what is older is taken for its own", () =>
    Effect.gen(function* () {
      const words = yield* OwnWords
      for (let count = 1; count <= 4_098; count++) yield* words.remember(inSeconds(2 * count))
      const timestamps = [
        inSeconds(1),
        inSeconds(2),
        inSeconds(3),
        inSeconds(4),
        inSeconds(5),
        inSeconds(6),
        inSeconds(8_196),
        inSeconds(8_197)
      ]
      assert.deepStrictEqual(yield* Effect.forEach(timestamps, words.isMine), [
        true,
        true,
        true,
        true,
        false,
        true,
        true,
        false
      ])
    }).pipe(Effect.provide(OwnWords.layer))
  )
})
