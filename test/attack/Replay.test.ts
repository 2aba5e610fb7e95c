import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Random } from "effect"
import { TestClock } from "effect/testing"
import { Tally } from "../../src/registry/Tally.ts"
import {
  type Attacker,
  heartbeatTopic,
  makeVirtualNetwork,
  type VirtualNetwork,
  type VirtualServer
} from "../../src/testing.ts"

/** How many messages a server has refused as old, whoever brought them. */
const refusedAsOld = (server: VirtualServer) =>
  server.run(
    Effect.gen(function* () {
      const counts = yield* (yield* Tally).read
      const old = counts.filter(({ reason }) => reason === "repeated" || reason === "too-old" || reason === "own")
      return old.reduce((sum, { count }) => sum + count, 0)
    })
  )

/** Everything that a server believes, and the list that it makes of it. */
const beliefs = Effect.fnUntraced(function* (observer: VirtualServer, network: VirtualNetwork) {
  const entries = yield* Effect.forEach(network.servers, (server) => observer.entry(server))
  return { entries, list: yield* observer.list }
})

/** Hands an observer all that was ever said, or half of it, in any order; none of it changes what it believes. */
const replayAll = Effect.fnUntraced(function* (network: VirtualNetwork, attacker: Attacker, observer: VirtualServer) {
  const before = yield* beliefs(observer, network)
  const half = yield* Random.nextBoolean
  for (const { atMillis, server, signed } of yield* Random.shuffle([...network.spoken])) {
    if (half && (yield* Random.nextBoolean)) continue
    const outcome = yield* attacker.hand(observer, signed())
    if (outcome !== "ignore" && outcome !== "seen") {
      yield* network.expect(
        `what ${server} said at ${atMillis} ms was heard by ${observer.name} again`,
        outcome,
        "ignore"
      )
    }
  }
  assert.deepStrictEqual(yield* beliefs(observer, network), before, network.history.print())
})

describe("everything that was ever said, played again in any order for more than a day", () => {
  it.effect(
    "R7 R14 A03 A04 refreshes, revives and lists nobody, in a server that runs on and in one that restarts",
    () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork({ seed: 1 })
        const [leaves, dies, ill] = [
          yield* network.start("leaves"),
          yield* network.start("dies"),
          yield* network.start("ill")
        ]
        const [restarted, observer] = [
          yield* network.start("restarted", { keeps: true }),
          yield* network.start("runs on")
        ]
        const mallory = network.attacker("mallory")
        const replays = Effect.andThen(replayAll(network, mallory, restarted), replayAll(network, mallory, observer))
        const restart = Effect.andThen(restarted.crash, restarted.start)
        const events: Readonly<Record<number, Effect.Effect<unknown, unknown>>> = {
          12: leaves.stop,
          24: dies.crash,
          33: ill.check(Effect.fail("refused")),
          45: restart,
          60: ill.crash,
          // Once the dead has just left the list.
          147: restart
        }
        // The beats are at whole minutes; at 20 seconds past them, what was said has arrived and is kept.
        yield* TestClock.adjust("20 seconds")
        for (let minute = 3; minute <= 162; minute += 3) {
          yield* TestClock.adjust("175 seconds")
          yield* events[minute] ?? Effect.void
          yield* TestClock.adjust("5 seconds")
          if (minute % 9 === 0) yield* replays
          if (minute > 36 && minute <= 138) {
            yield* network.expectLists({ restarted: ["dies", "runs on"], "runs on": ["dies", "restarted"] })
          }
          if (minute > 147) yield* network.expectLists({ restarted: ["runs on"], "runs on": ["restarted"] })
        }
        const states = yield* Effect.forEach([leaves, dies, ill], (server) => observer.why(server))
        assert.deepStrictEqual(
          states.map(({ state }) => state),
          ["silent", "silent", "unhealthy"]
        )

        // One is down for as long as descriptions are kept, the other forgets meanwhile: R9.
        yield* restarted.crash
        yield* TestClock.adjust("28 hours")
        yield* replayAll(network, mallory, observer)
        yield* network.expectLists({ "runs on": [] })
        yield* restarted.start
        yield* TestClock.adjust("10 seconds")
        for (let round = 0; round < 3; round++) {
          yield* replays
          yield* network.expectLists({ restarted: ["runs on"], "runs on": ["restarted"] })
          yield* TestClock.adjust("5 minutes")
        }
        for (const server of [leaves, dies, ill]) {
          assert.deepStrictEqual(yield* observer.entry(server), Option.none(), server.name)
          const why = yield* observer.why(server)
          assert.strictEqual(why.state === "refused" && why.refusal.reason, "too-old", server.name)
        }
        assert.isAbove(yield* refusedAsOld(observer), 1_000)
        for (const { logs, name } of [restarted, observer]) {
          assert.deepStrictEqual(yield* network.memory.rejects(name), new Map(), "R2: nobody is punished")
          const warnings = logs.filter(({ level }) => level === "Warn" || level === "Error")
          assert.deepStrictEqual(
            warnings.map(({ message }) => message).filter((message) => !message.startsWith("failed to publish")),
            [],
            `R10: to ${name}, what is old says nothing of anybody's clock`
          )
        }
      }).pipe(Random.withSeed(1))
  )
})

describe("a newcomer that is played the last words of the dead", () => {
  it.effect("R7 R12 lists nobody who is gone for its neighbours", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const a = yield* network.start("a")
      yield* network.start("b")
      yield* TestClock.adjust("11 minutes")
      yield* a.stop
      yield* TestClock.adjust("1 hour")
      const mallory = network.attacker("mallory")
      const newcomer = yield* network.start("newcomer")
      yield* TestClock.adjust("10 seconds")
      for (const { signed } of network.spoken) yield* mallory.hand(newcomer, signed())
      yield* network.expectLists({ newcomer: ["b"], b: ["newcomer"] })
      assert.strictEqual((yield* newcomer.why(a)).state, "unhealthy")
    })
  )

  it.effect("R6 R7 that has no other neighbour is deceived for less than two hours more than the dead had", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ links: "none" })
      const [a, b] = [yield* network.start("a"), yield* network.start("b")]
      yield* network.connect(a, b)
      yield* TestClock.adjust("10 seconds")
      yield* a.crash
      const mallory = network.attacker("mallory")
      const newcomer = yield* network.start("newcomer")
      const last = network.spoken.filter(({ server }) => server === "a")
      const lastMillis = Math.max(...last.map(({ atMillis }) => atMillis))
      const replay = Effect.forEach(last, ({ signed }) => mallory.hand(newcomer, signed()))
      yield* TestClock.adjust(lastMillis + 7_199_000 - (yield* network.nowMillis))
      yield* replay
      yield* network.expectLists({ newcomer: ["a"] })
      // Again and again, it is told the same: nothing of it counts twice.
      for (let minute = 0; minute < 120; minute += 3) {
        yield* network.expectLists({ newcomer: ["a"] })
        yield* TestClock.adjust("3 minutes")
        yield* replay
      }
      yield* TestClock.adjust("1 second")
      yield* network.expectLists({ newcomer: [] })
      assert.isAtMost((yield* network.nowMillis) - lastMillis, 4 * 3_600_000)
    })
  )

  it.effect("A02 R7 from the future lists nobody before its date, and counts no more two hours after it", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const [fast, b] = [yield* network.start("fast", { skew: "1 hour" }), yield* network.start("b")]
      yield* TestClock.adjust("6 minutes")
      const recorded = network.spokenBy(fast, heartbeatTopic)
      // Dated an hour and five minutes from the start.
      const last = recorded.at(-1)
      assert(last !== undefined)
      yield* network.expectLists({ b: [] })
      yield* fast.skew(0)
      yield* TestClock.adjust("55 minutes")
      yield* network.expectLists({ b: ["fast"] })
      yield* fast.crash
      const mallory = network.attacker("mallory")
      const lastHeard = Effect.map(b.entry(fast), (entry) => Option.getOrThrow(entry).lastHeard.wallMillis)
      const before = yield* lastHeard
      yield* TestClock.adjust("3 minutes")
      const replay = Effect.forEach(recorded, ({ signed }) => mallory.hand(b, signed()))
      assert.notInclude(yield* replay, "reject")
      const dated = yield* lastHeard
      assert.isAbove(dated, before, "within two minutes of its date it is as good as new, once")
      yield* TestClock.adjust("3 minutes")
      yield* replay
      assert.strictEqual(yield* lastHeard, dated, "and not twice")
      yield* TestClock.adjust("2 hours")
      yield* network.expectLists({ b: [] })
      yield* replay
      yield* network.expectLists({ b: [] })
    })
  )
})
