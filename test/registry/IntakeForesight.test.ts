/** What the door tells those who ask neighbours for more: what would not count, and when there is reason to ask. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Option, Queue } from "effect"
import { TestClock } from "effect/testing"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { Intake, verdictOf } from "../../src/registry/Intake.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import { Registry } from "../../src/registry/Registry.ts"
import { layerBounded } from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../../src/registry/Wire.ts"
import { now } from "../../src/time/Now.ts"
import { alice, announcement, bob, carol, heartbeat, hour, minute, self, topic } from "./Sample.ts"

const lines: Array<unknown> = []

const layer = Intake.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(layerBounded(1_000), OwnWords.layer, Tally.layer, Layer.mock(Gossip, { self }))),
  Layer.provide(Logger.layer([Logger.make(({ message }) => void lines.push(message))]))
)

const handedOn = { kind: "handed-on" } as const

const foresee = (data: Uint8Array, signer = alice, of: typeof announceTopic | typeof heartbeatTopic = announceTopic) =>
  Effect.gen(function* () {
    const refusal = yield* (yield* Intake).foresee({ topic: of, data, signer }, handedOn)
    return refusal === undefined ? "counts" : [refusal.reason, refusal.verdict]
  })

/** Heard over a topic from this neighbour. */
const hear = (of: typeof announceTopic | typeof heartbeatTopic, neighbour = bob) =>
  Effect.gen(function* () {
    const timestamp = (yield* now).wallNanos
    const data =
      of === announceTopic ? encodeAnnouncement(announcement({ timestamp })) : encodeHeartbeat(heartbeat({ timestamp }))
    const message = { topic: of, data, signer: alice, neighbour, signed: () => data }
    return yield* (yield* Intake).consider(message, topic)
  })

describe("what is foreseen of a message", () => {
  it.effect("R12 is what becomes of it, and changes, counts and logs nothing", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(3 * hour)
      const { wallNanos } = yield* now
      const words = (said: Parameters<typeof announcement>[0] = {}) =>
        encodeAnnouncement(announcement({ timestamp: wallNanos, ...said }))
      const counted = yield* (yield* Tally).read
      const foreseen = [
        yield* foresee(words()),
        yield* foresee(words()),
        yield* foresee(words(), bob),
        yield* foresee(new TextEncoder().encode("{")),
        yield* foresee(words({ timestamp: wallNanos - 7_200_000_000_000n })),
        yield* foresee(words({ timestamp: wallNanos + 120_000_000_001n })),
        yield* foresee(words({ serverId: self }), self)
      ]
      assert.deepStrictEqual(foreseen, [
        "counts",
        "counts",
        ["forged", "reject"],
        ["malformed", "reject"],
        ["too-old", "ignore"],
        ["too-far-ahead", "ignore"],
        ["own", "ignore"]
      ])
      const registry = yield* Registry
      assert.deepStrictEqual(yield* registry.entries, [])
      assert.deepStrictEqual(yield* registry.refusalOf(alice), Option.none())
      assert.deepStrictEqual(yield* (yield* Tally).read, counted)
      assert.deepStrictEqual(lines, [])

      yield* hear(announceTopic)
      assert.deepStrictEqual(yield* foresee(words()), ["repeated", "ignore"])
      assert.deepStrictEqual(yield* foresee(words({ timestamp: wallNanos + 1n })), "counts")
      assert.deepStrictEqual(
        yield* foresee(encodeHeartbeat(heartbeat({ timestamp: wallNanos })), alice, heartbeatTopic),
        "counts"
      )
    }).pipe(Effect.provide(layer))
  )
})

describe("a server that is heard again", () => {
  it.effect(
    "R12 names the neighbour that brought its words, where a heartbeat had been missing or two hours were over",
    () =>
      Effect.gen(function* () {
        yield* TestClock.adjust(3 * hour)
        const returns = yield* (yield* Intake).returns
        yield* hear(announceTopic, alice)
        for (let beat = 0; beat < 10; beat++) {
          yield* hear(heartbeatTopic)
          yield* TestClock.adjust(5 * minute)
        }
        assert.deepStrictEqual(yield* Queue.clear(returns), [], "none was missing")
        yield* TestClock.adjust(2 * minute)
        yield* hear(heartbeatTopic)
        assert.deepStrictEqual(yield* Queue.clear(returns), [], "one was late")
        yield* TestClock.adjust(10 * minute)
        yield* hear(heartbeatTopic, carol)
        yield* hear(announceTopic, bob)
        assert.deepStrictEqual(yield* Queue.clear(returns), [carol], "one was missing")
        yield* TestClock.adjust(2 * hour + 1)
        yield* hear(announceTopic)
        assert.deepStrictEqual(yield* Queue.clear(returns), [bob], "it had been silent")
      }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("R12 D02 names who relayed it, where it was not known or has not announced, and not itself", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(3 * hour)
      const returns = yield* (yield* Intake).returns
      yield* hear(heartbeatTopic, bob)
      yield* TestClock.adjust(minute)
      yield* hear(heartbeatTopic, alice)
      yield* TestClock.adjust(minute)
      yield* hear(announceTopic, carol)
      yield* TestClock.adjust(minute)
      yield* hear(announceTopic, bob)
      assert.deepStrictEqual(yield* Queue.clear(returns), [bob, carol])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("R12 is no return where its words were handed on", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(3 * hour)
      const intake = yield* Intake
      const returns = yield* intake.returns
      yield* hear(announceTopic, alice)
      yield* TestClock.adjust(3 * hour)
      const data = encodeAnnouncement(announcement({ timestamp: (yield* now).wallNanos }))
      yield* intake.consider({ topic: announceTopic, data, signer: alice, signed: () => data }, handedOn)
      assert.deepStrictEqual(yield* Queue.clear(returns), [])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

describe("words that came past their topic", () => {
  const reading = Effect.gen(function* () {
    const data = encodeAnnouncement(announcement({ timestamp: (yield* now).wallNanos }))
    const message = { topic: announceTopic, data, signer: alice, neighbour: bob, signed: () => data } as const
    const intake = yield* Intake
    return (origin: typeof handedOn | typeof topic) => Effect.map(intake.consider(message, origin), verdictOf)
  })

  it.effect("R12 R2 are relayed when their topic brings them a moment later, once, and count no second time", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(3 * hour)
      const consider = yield* reading
      assert.strictEqual(yield* consider(handedOn), "accept")
      const registry = yield* Registry
      const believed = yield* registry.find(alice)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* consider(topic), yield* consider(topic)], ["accept", "ignore"])
      assert.deepStrictEqual(yield* registry.find(alice), believed)
    }).pipe(Effect.provide(layer))
  )

  it.effect("R7 are an old message when the topic brings them after more than 30 seconds", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(3 * hour)
      const consider = yield* reading
      yield* consider(handedOn)
      yield* TestClock.adjust("30001 millis")
      assert.strictEqual(yield* consider(topic), "ignore")
    }).pipe(Effect.provide(layer))
  )
})
