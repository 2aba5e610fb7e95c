import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeVirtualNetwork, peerIdOf, type VirtualServer } from "../../src/testing.ts"

const asTwin = "another server is publishing as this one"
const asObserver = "two servers seem to publish as one"

/** One identity at both ends of a line, and two servers between that take it for one. */
const line = Effect.fnUntraced(function* (regions: readonly [string, string]) {
  const network = yield* makeVirtualNetwork({ links: "none" })
  const peerId = peerIdOf("twins")
  const left = yield* network.start("left", { peerId, region: regions[0] })
  const observers = [yield* network.start("c"), yield* network.start("d")] as const
  // Twins are seldom started in the same moment.
  yield* TestClock.adjust("137 seconds")
  const right = yield* network.start("right", { peerId, region: regions[1] })
  yield* network.connect(left, observers[0])
  yield* network.connect(...observers)
  yield* network.connect(observers[1], right)
  return { left, right, observers }
})

const warnings = (server: VirtualServer, message: string) =>
  server.logged(message).map(({ level, annotations }) => [level, annotations.sender])

describe("two servers with one identity", () => {
  it.effect("R18 H03 are each told within one interval that another speaks in their name, then once an hour", () =>
    Effect.gen(function* () {
      const { left, observers, right } = yield* line(["default", "default"])
      yield* TestClock.adjust("301 seconds")
      for (const twin of [left, right]) {
        assert.deepInclude(warnings(twin, asTwin), ["Warn", twin.peerId], twin.name)
        for (const warning of warnings(twin, asTwin)) assert.deepStrictEqual(warning, ["Warn", twin.peerId])
      }
      yield* TestClock.adjust("8 hours")
      for (const twin of [left, right]) {
        // Two topics.
        assert.isAtMost(warnings(twin, asTwin).length, 2 * 9, twin.name)
        assert.isAtLeast(warnings(twin, asTwin).length, 2 * 7, twin.name)
      }
      // Twins that say the same are one to everybody else.
      for (const observer of observers) assert.deepStrictEqual(warnings(observer, asObserver), [], observer.name)
    })
  )

  it.effect("R18 H03 are told of by observers within the hour when one of them is ill, also by who is far away", () =>
    Effect.gen(function* () {
      const { observers, right } = yield* line(["default", "default"])
      yield* right.check(Effect.fail("refused"))
      yield* TestClock.adjust("60 minutes")
      for (const observer of observers) {
        assert.deepStrictEqual(warnings(observer, asObserver), [["Warn", right.peerId]], observer.name)
      }
    })
  )

  it.effect(
    "R18 H03 are told of by observers at their third announcement when they describe themselves differently",
    () =>
      Effect.gen(function* () {
        const { observers, right } = yield* line(["eu-west", "us-east"])
        yield* TestClock.adjust("121 minutes")
        for (const observer of observers) {
          assert.deepStrictEqual(warnings(observer, asObserver), [["Warn", right.peerId]], observer.name)
        }
      })
  )
})
