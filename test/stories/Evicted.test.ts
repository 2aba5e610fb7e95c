import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { announceTopic, heartbeatTopic, makeVirtualNetwork, VirtualWords } from "../../src/testing.ts"

describe("a server that restarts", () => {
  it.effect.each(["runs on", "restarts", "crashes"] as const)(
    "R7 R14 R19 takes no old copy from a server that it gave up, also when it %s",
    (fate) =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork()
        const b = yield* network.start("b", { keeps: true, maxServers: 3 })
        const announce = Effect.fnUntraced(function* (name: string, healthy = true) {
          const server = network.attacker(name)
          const words = { serverId: server.peerId, timestamp: yield* network.wallNanos, healthy }
          const signed = server.sign(announceTopic, VirtualWords.announcement(words))
          assert.strictEqual(yield* server.hand(b, signed), "accept", name)
          yield* TestClock.adjust("10 seconds")
          return signed
        })
        const healthy = yield* announce("victim")
        yield* announce("victim", false)
        for (const name of ["x", "y", "z"]) yield* announce(name)
        yield* network.expectLists({ b: (yield* b.list).filter((name) => name !== "victim") })
        assert.strictEqual((yield* b.list).length, 3, "x, y and z took its place")
        yield* TestClock.adjust("10 minutes")
        if (fate !== "runs on") yield* Effect.andThen(fate === "crashes" ? b.crash : b.stop, b.start)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* b.list).length, 3)
        // One of them makes room.
        yield* announce("x", false)
        const mallory = network.attacker("mallory")
        assert.strictEqual(yield* mallory.hand(b, healthy), "ignore")
        const [victim] = [network.attacker("victim")]
        assert.deepStrictEqual(yield* b.entry(victim), Option.none())
        // Its new words make it known again, and listed.
        yield* announce("victim")
        assert.include(yield* b.list, "victim")
        yield* TestClock.adjust("3 minutes")
        assert.strictEqual(yield* mallory.hand(b, healthy), "ignore")
      })
  )

  it.effect("R8 F01 R14 believes of two messages of the same moment still the unhealthy one", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork()
      const b = yield* network.start("b", { keeps: true })
      const sender = network.attacker("sender")
      const { peerId: serverId } = sender
      const timestamp = yield* network.wallNanos
      yield* sender.hand(b, sender.sign(announceTopic, VirtualWords.announcement({ serverId, timestamp })))
      const beat = (healthy: boolean) =>
        sender.sign(heartbeatTopic, VirtualWords.heartbeat({ serverId, timestamp: timestamp + 1n, healthy }))
      const healthy = beat(true)
      yield* sender.hand(b, healthy)
      yield* TestClock.adjust("10 seconds")
      yield* network.expectLists({ b: ["sender"] })
      yield* sender.hand(b, beat(false))
      yield* TestClock.adjust("3 minutes")
      yield* network.expectLists({ b: [] })
      yield* Effect.andThen(b.crash, b.start)
      yield* TestClock.adjust("10 seconds")
      yield* network.expectLists({ b: [] })
      assert.strictEqual((yield* b.why(sender)).state, "unhealthy")
      assert.strictEqual(yield* network.attacker("mallory").hand(b, healthy), "ignore")
      yield* network.expectLists({ b: [] })
    })
  )
})
