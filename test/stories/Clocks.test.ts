import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { Intake } from "../../src/registry/Intake.ts"
import { announceTopic, heartbeatTopic, makeVirtualNetwork, VirtualWords } from "../../src/testing.ts"

const three = Effect.gen(function* () {
  const network = yield* makeVirtualNetwork()
  const [a, b, c] = [yield* network.start("a"), yield* network.start("b"), yield* network.start("c")]
  yield* TestClock.adjust("11 minutes")
  return { network, a, b, c }
})

describe("a server whose wall clock is set", () => {
  it.effect.each([3, -3])(
    "R6 B06 by %s hours keeps its list, and its dead leave it when they would have left",
    (hours) =>
      Effect.gen(function* () {
        const { network, a, b, c } = yield* three
        yield* network.start("d")
        yield* TestClock.adjust("1 minute")
        // The last word of b was its greeting to d, within a second of eleven minutes.
        yield* b.crash
        yield* c.skew(Duration.hours(hours))
        yield* network.expectLists({ c: ["a", "b", "d"] })
        yield* TestClock.adjust("30 minutes")
        yield* network.expectLists({ c: ["a", "b", "d"] })
        const [warning] = c.logged("this server's clock is off")
        assert.strictEqual(warning?.level, "Warn")
        assert.strictEqual(warning?.annotations.direction, hours > 0 ? "ahead" : "behind")
        yield* c.skew(0)
        yield* TestClock.adjust("89 minutes")
        yield* network.expectLists({ c: ["a", "b", "d"] })
        yield* TestClock.adjust("1 minute")
        yield* network.expectLists({ a: ["c", "d"], c: ["a", "d"] })
        assert.deepStrictEqual(a.logged("this server's clock is off"), [])
      })
  )

  it.effect("R10 B03 ten minutes ahead is told so by itself, and each of the others says it once an hour", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const good = [yield* network.start("a"), yield* network.start("b"), yield* network.start("c")]
      yield* TestClock.adjust("1 minute")
      const fast = yield* network.start("fast", { skew: "10 minutes" })
      yield* TestClock.adjust("6 minutes")
      const [told] = fast.logged("this server's clock is off")
      assert.deepStrictEqual([told?.annotations.direction, told?.annotations.by_seconds], ["ahead", 600])
      const verdict = yield* fast.run(Effect.flatMap(Intake, ({ ownClock }) => ownClock))
      assert.deepStrictEqual([verdict.state, verdict.disagreeing, verdict.heard], ["ahead", 3, 3])
      yield* network.expectLists({ a: ["b", "c"], fast: ["a", "b", "c"] })
      for (const server of good) assert.strictEqual((yield* server.why(fast)).state, "refused")
      yield* TestClock.adjust("50 minutes")
      for (const server of good) {
        const said = server.logged("clock of a server is off")
        assert.deepStrictEqual(
          said.map(({ level, annotations }) => [level, annotations.sender, annotations.reason]),
          [["Warn", fast.peerId, "too-far-ahead"]]
        )
        assert.deepStrictEqual(server.logged("this server's clock is off"), [])
      }
    })
  )

  it.effect("R7 B11 back by ninety seconds is in good standing at its next heartbeat", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [a, b] = [yield* network.start("a", { skew: "90 seconds" }), yield* network.start("b")]
      yield* TestClock.adjust("11 minutes")
      yield* network.expectLists({ b: ["a"] })
      yield* a.skew(0)
      yield* TestClock.adjust("5 minutes")
      yield* network.expectLists({ b: ["a"] })
      assert.isAtLeast(Option.getOrThrow(yield* b.entry(a)).lastHeard.steadyMillis, 15 * 60_000)
    })
  )

  it.effect(
    "R7 R12 B11 back by fifteen minutes, and not listed before, is listed once its first words are of the past",
    () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork()
        const [a, b] = [yield* network.start("a", { skew: "15 minutes" }), yield* network.start("b")]
        yield* TestClock.adjust("11 minutes")
        yield* network.expectLists({ b: [] })
        yield* a.skew(0)
        // Servers ask a neighbour for its directory every ten minutes; the next announcement would come after an hour.
        yield* TestClock.adjust("10 minutes")
        yield* network.expectLists({ b: ["a"] })
        assert.isAtLeast(Option.getOrThrow(yield* b.entry(a)).lastHeard.steadyMillis, 20 * 60_000)
      })
  )
})

describe("a machine that sleeps", () => {
  it.effect(
    "B08 speaks once when it wakes, knows how long it slept, and lists nobody it has not heard for two hours",
    () =>
      Effect.gen(function* () {
        const { network, a, c } = yield* three
        yield* network.partition([c])
        yield* c.suspend
        yield* TestClock.adjust("150 minutes")
        yield* network.expectLists({ a: ["b"], b: ["a"] })
        const before = network.spoken.length
        yield* c.resume
        yield* network.expectLists({ c: [] })
        yield* network.heal
        yield* TestClock.adjust("10 seconds")
        yield* network.expectLists({ a: ["b", "c"], b: ["a", "c"], c: ["a", "b"] })
        const said = network.spoken.slice(before).filter(({ server }) => server === "c")
        assert.deepStrictEqual(said.map(({ topic }) => topic).sort(), [announceTopic, heartbeatTopic])
        assert.deepStrictEqual(
          c.logs.filter(({ message }) => message.startsWith("was suspended")).map(({ message }) => message),
          ["was suspended about 150 min"]
        )
        assert.deepStrictEqual(
          a.logs.filter(({ message }) => message.startsWith("was suspended")),
          []
        )
      })
  )

  it.effect("B08 judges what waited in its sockets by the time at which it reads it", () =>
    Effect.gen(function* () {
      const { network, c } = yield* three
      yield* c.suspend
      yield* TestClock.adjust("150 minutes")
      yield* c.resume
      yield* TestClock.adjust("1 second")
      yield* network.expectLists({ c: ["a", "b"] })
    })
  )
})

describe("a message from a clock that is off", () => {
  it.effect("B04 R7 counts up to two minutes ahead and short of two hours behind", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const b = yield* network.start("b")
      const cases = [
        { ahead: Duration.minutes(2), counts: true },
        { ahead: Duration.millis(120_001), counts: false },
        { ahead: Duration.minutes(-4), counts: true },
        { ahead: Duration.millis(-7_199_999), counts: true },
        { ahead: Duration.hours(-2), counts: false }
      ]
      for (const [index, { ahead, counts }] of cases.entries()) {
        const sender = network.attacker(`sender${index}`)
        const timestamp = (yield* network.wallNanos) + Duration.toNanosUnsafe(ahead)
        const data = VirtualWords.announcement({ serverId: sender.peerId, timestamp })
        const reception = yield* sender.hand(b, sender.sign(announceTopic, data))
        assert.strictEqual(reception, counts ? "accept" : "ignore", String(Duration.toMillis(ahead)))
      }
      yield* network.expectLists({ b: ["sender0", "sender2", "sender3"] })
    })
  )
})
