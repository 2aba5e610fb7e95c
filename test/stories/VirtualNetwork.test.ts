import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeVirtualNetwork, Unexpected } from "../../src/testing.ts"

describe("a virtual network", () => {
  it.effect("says what had happened when a list is not as expected, by the names of the servers", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a")
      yield* network.start("b")
      yield* TestClock.adjust("1 minute")
      yield* a.crash
      const unexpected = yield* Effect.flip(network.expectLists({ b: ["c"] }))
      assert.instanceOf(unexpected, Unexpected)
      const lines = unexpected.message.split("\n")
      assert.deepStrictEqual(lines.slice(0, 4), [
        "b lists not c, but a",
        'expected: ["c"]',
        'actual: ["a"]',
        "history at 00:01:00.000:"
      ])
      assert.strictEqual(lines.at(-1), "  00:01:00.000 a: crashes")
      assert.isTrue(lines.some((line) => line.startsWith('  00:00:00.002 b: DEBUG discovered server server_id="a"')))
    })
  )

  it.effect("plays the same story for the same seed, and another for another", () =>
    Effect.gen(function* () {
      const play = Effect.fnUntraced(function* (seed: number) {
        const network = yield* makeVirtualNetwork({ seed, weather: { jitter: "3 seconds", loss: 0.2 } })
        for (const name of ["a", "b", "c", "d"]) {
          yield* network.start(name)
          yield* TestClock.adjust("10 seconds")
        }
        yield* TestClock.adjust("30 minutes")
        return network.history.print(10_000)
      }, Effect.scoped)
      const story = yield* play(1)
      assert.strictEqual(yield* play(1), story)
      assert.notStrictEqual(yield* play(2), story)
    })
  )
})

describe("a virtual server", () => {
  it.effect("R23 that may not start fails as the process would, and has said nothing", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      yield* network.start("b")
      const a = yield* network.server("a", { region: "x".repeat(300) })
      const refused = yield* Effect.flip(a.start)
      assert.strictEqual(refused.exitCode, 78)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        network.spoken.filter(({ server }) => server === "a"),
        []
      )
      yield* network.expectLists({ b: [] })
    })
  )

  it.effect("N03 that is stopped while it starts goes, and may start again", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      yield* network.start("b")
      const a = yield* network.start("a", { check: Effect.never })
      yield* TestClock.adjust("5 seconds")
      yield* a.stop
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        network.spoken.filter(({ server }) => server === "a"),
        []
      )
      yield* a.check(Effect.void)
      yield* a.start
      yield* TestClock.adjust("5 seconds")
      yield* network.expectLists({ a: ["b"], b: ["a"] })
    })
  )

  it.effect("has ended when the test has", () =>
    Effect.gen(function* () {
      let checks = 0
      const check = Effect.sync(() => void checks++)
      const story = Effect.gen(function* () {
        const network = yield* makeVirtualNetwork()
        yield* network.start("a", { check })
        yield* network.start("b", { check, drainDelay: "2 seconds" })
        yield* TestClock.adjust("10 minutes")
      })
      yield* Effect.scoped(story)
      assert.strictEqual(checks, 6)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(checks, 6)
    })
  )

  it.effect("R13 waits for its drain delay before it says goodbye", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a", { drainDelay: "2 seconds" })
      yield* network.start("b")
      yield* TestClock.adjust("1 minute")
      yield* a.stop
      yield* TestClock.adjust("2 seconds")
      yield* network.expectLists({ b: ["a"] })
      yield* TestClock.adjust("1 millis")
      yield* network.expectLists({ b: [] })
    })
  )
})
