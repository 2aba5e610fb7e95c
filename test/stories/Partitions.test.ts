import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { announceTopic, makeVirtualNetwork } from "../../src/testing.ts"

const whole = { a: ["b", "c", "d"], b: ["a", "c", "d"], c: ["a", "b", "d"], d: ["a", "b", "c"] }

const four = Effect.gen(function* () {
  const network = yield* makeVirtualNetwork()
  const [a, b] = [yield* network.start("a"), yield* network.start("b")]
  const [c, d] = [yield* network.start("c"), yield* network.start("d")]
  yield* TestClock.adjust("11 minutes")
  yield* network.expectLists(whole)
  return { network, a, b, c, d }
})

describe("a network in two halves", () => {
  it.effect("D01 keeps its lists for ten minutes, and is whole within two minutes of healing", () =>
    Effect.gen(function* () {
      const { network, a, b, c, d } = yield* four
      yield* network.partition([a, b], [c, d])
      yield* TestClock.adjust("10 minutes")
      yield* network.expectLists(whole)
      yield* network.heal
      yield* TestClock.adjust("2 minutes")
      yield* network.expectLists(whole)
    })
  )

  it.effect("D01 lists its own half after two and a half hours, and is whole within two minutes of healing", () =>
    Effect.gen(function* () {
      const { network, a, b, c, d } = yield* four
      yield* network.partition([a, b], [c, d])
      yield* TestClock.adjust("150 minutes")
      yield* network.expectLists({ a: ["b"], b: ["a"], c: ["d"], d: ["c"] })
      yield* network.heal
      yield* TestClock.adjust("2 minutes")
      yield* network.expectLists(whole)
    })
  )

  it.effect("D02 R12 becomes one within two minutes through a single link, although its halves had never met", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ links: "none" })
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      const [c, d] = [yield* network.start("c"), yield* network.start("d")]
      yield* network.connect(a, b)
      yield* network.connect(c, d)
      yield* TestClock.adjust("5 minutes")
      yield* network.expectLists({ a: ["b"], b: ["a"], c: ["d"], d: ["c"] })
      yield* network.connect(b, c)
      yield* TestClock.adjust("2 seconds")
      yield* network.expectLists({ b: whole.b, c: whole.c })
      // Those behind them hear of one stranger, and ask who brought it for the rest.
      yield* TestClock.adjust("2 minutes")
      yield* network.expectLists(whole)
    })
  )
})

describe("a link that drops", () => {
  it.effect("for a moment, fifty times, costs nobody a place in a list", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* TestClock.adjust("1 second")
      for (let drop = 0; drop < 50; drop++) {
        yield* network.disconnect(a, b)
        yield* TestClock.adjust("300 millis")
        yield* network.connect(a, b)
        yield* TestClock.adjust("2700 millis")
        yield* network.expectLists({ a: ["b"], b: ["a"] })
      }
      assert.isBelow(network.spokenBy(a, announceTopic).length, 40)
    })
  )

  it.effect("C04 R14 is nothing to a server that crashes and is started again under its identity, twenty times", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b, c] = [yield* network.start("a"), yield* network.start("b"), yield* network.start("c")]
      yield* TestClock.adjust("10 seconds")
      for (let life = 0; life < 20; life++) {
        yield* a.crash
        yield* TestClock.adjust(Duration.seconds([1, 5, 30][life % 3] ?? 1))
        yield* a.start
        yield* TestClock.adjust("10 seconds")
        yield* network.expectLists({ a: ["b", "c"], b: ["a", "c"], c: ["a", "b"] })
        assert.strictEqual((yield* b.why(a)).state, "listed")
        assert.strictEqual((yield* c.why(a)).state, "listed")
      }
    })
  )
})

describe("a server that keeps what it knows", () => {
  it.effect("R14 lists after a crash what it listed before, with nobody there to tell it", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a", { keeps: true })
      yield* network.start("b")
      yield* TestClock.adjust("11 minutes")
      yield* a.crash
      yield* network.partition(["a"])
      yield* TestClock.adjust("30 minutes")
      yield* a.start
      yield* network.expectLists({ a: ["b"] })
      // Two hours after b's last word, which came at ten minutes, and not after the restart.
      yield* TestClock.adjust("89 minutes")
      yield* network.expectLists({ a: ["b"] })
      yield* TestClock.adjust("1 minute")
      yield* network.expectLists({ a: [] })
    })
  )
})
