import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Announcer } from "../../src/announcing/Announcer.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { Readiness } from "../../src/health/Readiness.ts"
import { SelfCheck } from "../../src/health/SelfCheck.ts"
import { Servers } from "../../src/library/Servers.ts"
import { make } from "../../src/testing/VirtualNetwork.ts"

const usual = ["store-and-forward", "mailbox", "document-sync"]

/** Two servers that know each other. */
const pair = Effect.gen(function* () {
  const network = yield* make()
  const lisbon = yield* network.start("lisbon")
  const berlin = yield* network.start("berlin")
  yield* TestClock.adjust("1 minute")
  const seenInLisbon = lisbon.run(
    Effect.map(
      Effect.flatMap(Servers, ({ find }) => find(berlin.peerId)),
      Option.map(({ capabilities }) => capabilities)
    )
  )
  return { network, lisbon, berlin, seenInLisbon }
})

const offer = (capability: string) => Effect.flatMap(Announcer, (announcer) => announcer.offer(capability))

describe("a capability that an application adds", () => {
  it.effect("S2 is announced at once, and its end too, while the schedule stays as it was", () =>
    Effect.gen(function* () {
      const { network, berlin, seenInLisbon } = yield* pair
      const scope = yield* Scope.make()
      yield* berlin.run(Scope.provide(offer("translation"), scope))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* seenInLisbon, Option.some([...usual, "translation"]))

      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* seenInLisbon, Option.some(usual))

      yield* TestClock.adjust("1 hour")
      const minutes = network.spokenBy(berlin, announceTopic).map(({ atMillis }) => Math.floor(atMillis / 60_000))
      assert.deepStrictEqual(minutes.slice(-3), [1, 1, 60])
    })
  )

  it.effect("stays as long as one of those who added it", () =>
    Effect.gen(function* () {
      const { berlin, seenInLisbon } = yield* pair
      const [one, other] = [yield* Scope.make(), yield* Scope.make()]
      yield* berlin.run(Scope.provide(offer("translation"), one))
      yield* berlin.run(Scope.provide(offer("translation"), other))
      yield* Scope.close(one, Exit.void)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* seenInLisbon, Option.some([...usual, "translation"]))
    })
  )

  it.effect("R4 is refused where every other server would refuse it, and nothing is said of it", () =>
    Effect.gen(function* () {
      const { network, berlin } = yield* pair
      const said = network.spokenBy(berlin, announceTopic).length
      const refused = yield* Effect.flip(berlin.run(Effect.scoped(offer("x".repeat(257)))))
      assert.strictEqual(refused._tag, "OwnAnnouncementRefused")
      assert.strictEqual(network.spokenBy(berlin, announceTopic).length, said)
      const tooMany = Effect.forEach(Array(62).keys(), (index) => offer(`capability ${index}`))
      assert.strictEqual((yield* Effect.flip(berlin.run(Effect.scoped(tooMany))))._tag, "OwnAnnouncementRefused")
      const { capabilities } = yield* berlin.run(Effect.flatMap(Announcer, ({ announcement }) => announcement))
      assert.deepStrictEqual(capabilities, usual)
    })
  )

  it.effect("R13 is not spoken of after the farewell", () =>
    Effect.gen(function* () {
      const { network, berlin } = yield* pair
      const said = network.spokenBy(berlin, announceTopic).length
      const scope = yield* Scope.make()
      yield* berlin.run(Effect.flatMap(Announcer, ({ farewell }) => farewell))
      yield* berlin.run(Scope.provide(offer("translation"), scope))
      yield* berlin.stop
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(network.spokenBy(berlin, announceTopic).length, said)
    })
  )
})

describe("a readiness check that an application adds", () => {
  it.effect("S9 S14 counts in the self-check from the next one on, until its scope closes", () =>
    Effect.gen(function* () {
      const { network, berlin } = yield* pair
      const scope = yield* Scope.make()
      const register = Effect.flatMap(Readiness, (readiness) =>
        readiness.register("queue", Effect.fail(new Error("the queue is full")))
      )
      yield* berlin.run(Scope.provide(register, scope))
      yield* network.expectLists({ lisbon: ["berlin"] })
      yield* TestClock.adjust("5 minutes")
      yield* network.expectLists({ lisbon: [] })
      assert.deepInclude(network.spokenBy(berlin, heartbeatTopic).at(-1)?.words, { healthy: false, uptime_score: 0.5 })
      const { score } = yield* berlin.run(Effect.flatMap(SelfCheck, (selfCheck) => selfCheck.score))
      assert.strictEqual(score, 0.5)

      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("5 minutes")
      yield* network.expectLists({ lisbon: ["berlin"] })
    })
  )
})
