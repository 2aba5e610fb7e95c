/** The soak run of the suite: under a minute of troubles for four real servers, from a seed that a failure prints. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { seed } from "../registry/Random.ts"
import { soak, summary } from "./Soak.ts"

describe("a network under random troubles", () => {
  it.live(
    "S13 S14 S15 S17 R13 R14 R15 R20 R23 lists at every moment whom it must and nobody whom it must not",
    () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const outcome = yield* soak({ minutes: 0.6, servers: 4, seed, print: (line) => void lines.push(line) })
        const report = [`seed ${seed}`, ...lines, ...summary(outcome)].join("\n")
        assert.deepStrictEqual(outcome.breaches, [], report)
        assert.isAtLeast(outcome.rounds, 1, report)
        assert.isAtLeast(outcome.checks, 50, report)
      }),
    360_000
  )
})
