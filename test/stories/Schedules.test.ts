import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  announceTopic,
  heartbeatTopic,
  makeVirtualNetwork,
  type Spoken,
  type VirtualServerOptions
} from "../../src/testing.ts"

const minutes = (count: number) => count * 60_000
/** Every so many milliseconds, the last at `until`. */
const every = (millis: number, until: number) =>
  Array.from({ length: Math.floor(until / millis) }, (_, index) => (index + 1) * millis)
const times = (spoken: ReadonlyArray<Spoken>) => spoken.map(({ atMillis }) => atMillis)

/** A pair where `a` is heard: what it says first goes out when `b` is known to be there, after a millisecond. */
const pair = Effect.fnUntraced(function* (options: VirtualServerOptions) {
  const network = yield* makeVirtualNetwork()
  yield* network.start("b")
  return { network, a: yield* network.start("a", options) }
})

describe("a server's two schedules", () => {
  it.effect("S2 S3 announces every hour and beats every five minutes for a day, to the millisecond", () =>
    Effect.gen(function* () {
      const { network, a } = yield* pair({})
      yield* TestClock.adjust("24 hours")
      assert.deepStrictEqual(times(network.spokenBy(a, announceTopic)), [1, ...every(minutes(60), minutes(1_440))])
      assert.deepStrictEqual(times(network.spokenBy(a, heartbeatTopic)), [1, ...every(minutes(5), minutes(1_440))])
    })
  )

  it.effect("S4 announces every minute and beats every thirty seconds with the development preset's intervals", () =>
    Effect.gen(function* () {
      const { network, a } = yield* pair({ serviceAnnouncement: "1 minute", healthCheck: "30 seconds" })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(times(network.spokenBy(a, announceTopic)), [1, ...every(minutes(1), minutes(60))])
      assert.deepStrictEqual(times(network.spokenBy(a, heartbeatTopic)), [1, ...every(30_000, minutes(60))])
    })
  )

  it.effect("S9 says in each heartbeat what the check found that ran before it", () =>
    Effect.gen(function* () {
      let checks = 0
      const everyThirdFails = Effect.suspend(() => (++checks % 3 === 0 ? Effect.fail("refused") : Effect.void))
      const { network, a } = yield* pair({ check: everyThirdFails })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(checks, 13)
      assert.deepStrictEqual(
        network.spokenBy(a, heartbeatTopic).map(({ words }) => [words.healthy, words.uptime_score]),
        Array.from({ length: 13 }, (_, index) => {
          const done = index + 1
          return [done % 3 !== 0, (done - Math.floor(done / 3)) / done]
        })
      )
    })
  )

  it.effect("S10 checks once before it says anything, and its first announcement carries the outcome", () =>
    Effect.gen(function* () {
      const { network, a } = yield* pair({ check: Effect.delay(Effect.fail("refused"), "3 seconds") })
      yield* TestClock.adjust("2999 millis")
      assert.deepStrictEqual(network.spokenBy(a, announceTopic), [])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(
        network.spokenBy(a, announceTopic).map(({ atMillis, words }) => [atMillis, words.healthy, words.uptime_score]),
        [[3_000, false, 0]]
      )
      yield* network.expectLists({ b: [] })
      assert.strictEqual(a.logged("registry started")[0]?.annotations.first_check_passed, false)
    })
  )

  it.effect("S12 R16 gives a check that hangs up after ten seconds, logs it, and beats on", () =>
    Effect.gen(function* () {
      const { network, a } = yield* pair({ check: Effect.void })
      yield* TestClock.adjust("1 minute")
      yield* a.check(Effect.never)
      yield* TestClock.adjust("8 minutes")
      yield* a.check(Effect.void)
      yield* TestClock.adjust("11 minutes")
      assert.deepStrictEqual(
        network.spokenBy(a, heartbeatTopic).map(({ atMillis, words }) => [atMillis, words.healthy]),
        [
          [1, true],
          [minutes(5) + 10_000, false],
          [minutes(10), true],
          [minutes(15), true],
          [minutes(20), true]
        ]
      )
      assert.deepStrictEqual(
        a.logged("self-check failed").map(({ atMillis, level }) => [atMillis, level]),
        [[minutes(5) + 10_000, "Warn"]]
      )
    })
  )

  it.effect("E03 announces what is so now, not what was so at the start", () =>
    Effect.gen(function* () {
      const { network, a } = yield* pair({})
      yield* TestClock.adjust("1 minute")
      yield* a.check(Effect.fail("refused"))
      yield* TestClock.adjust("59 minutes")
      const [first, second] = network.spokenBy(a, announceTopic)
      assert.deepStrictEqual([first?.words.healthy, first?.words.uptime_score], [true, 1])
      // At the hour the announcement goes out before that moment's check has ended.
      assert.deepStrictEqual([second?.words.healthy, second?.words.uptime_score], [false, 1 / 12])
    })
  )

  it.effect("G12 keeps its beat for two days although each check takes ten seconds", () =>
    Effect.gen(function* () {
      const { network, a } = yield* pair({ check: Effect.sleep("10 seconds") })
      yield* TestClock.adjust("48 hours")
      const late = 10_000
      assert.deepStrictEqual(times(network.spokenBy(a, announceTopic)), [
        late,
        ...every(minutes(60), minutes(2_880) - late).map((at) => at + late)
      ])
      const beats = times(network.spokenBy(a, heartbeatTopic))
      assert.isAtLeast(beats.length, 575)
      assert.isAtMost(beats.length, 577)
      for (const [index, at] of beats.entries()) {
        assert.strictEqual((at - (index === 0 ? 0 : late)) % minutes(5), late % minutes(5), `beat ${index} at ${at}`)
      }
    })
  )
})
