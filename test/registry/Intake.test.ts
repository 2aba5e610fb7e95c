import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Layer, Logger, Option, References, Result } from "effect"
import { TestClock } from "effect/testing"
import { Gossip, type Judge, type Received } from "../../src/gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import { Intake, verdictOf } from "../../src/registry/Intake.ts"
import type { Origin } from "../../src/registry/Judge.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import { available } from "../../src/registry/Query.ts"
import { Registry } from "../../src/registry/Registry.ts"
import { layerBounded } from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../../src/registry/Wire.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { now } from "../../src/time/Now.ts"
import { alice, announcement, bob, carol, dave, heartbeat, hour, self, topic } from "./Sample.ts"

interface Line {
  readonly level: string
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** A door with a registry behind it, two hours and a bit after the epoch, and all that it logs. */
const setting = () => {
  const lines: Array<Line> = []
  const judges = new Map<string, Judge>()
  const gossip = Layer.mock(Gossip, {
    self,
    join: (joined, judge) => Effect.sync(() => void judges.set(joined, judge))
  })
  const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
    const facts = { ...fiber.getRef(References.CurrentLogAnnotations) }
    lines.push({ level: logLevel, message: [message].flat().join(" "), facts })
  })
  const log = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Debug"))
  const layer = Intake.layerTopics.pipe(
    Layer.provideMerge(Intake.layer),
    Layer.provideMerge(Layer.mergeAll(layerBounded(1_000), OwnWords.layer, Tally.layer, gossip)),
    Layer.provideMerge(log)
  )
  const run = <A, E>(test: Effect.Effect<A, E, Intake | Registry | OwnWords | Tally | Gossip>) =>
    Effect.andThen(TestClock.adjust(3 * hour), Effect.provide(test, layer))
  const said = (message: string) => lines.filter((line) => line.message === message)
  return { lines, judges, run, said }
}

const received = (from: Partial<Received> & Pick<Received, "topic" | "data">): Received => ({
  signer: alice,
  neighbour: bob,
  signed: () => Uint8Array.of(1),
  ...from
})

const consider = (message: Received, origin: Origin = topic) =>
  Effect.gen(function* () {
    const outcome = yield* (yield* Intake).consider(message, origin)
    return [verdictOf(outcome), Result.isFailure(outcome) ? outcome.failure.reason : "none"]
  })

/** An announcement made now, or so many nanoseconds from now. */
const announce = (said: Parameters<typeof announcement>[0] = {}, from: Partial<Received> = {}, byNanos = 0n) =>
  Effect.gen(function* () {
    const timestamp = (yield* now).wallNanos + byNanos
    const data = encodeAnnouncement(announcement({ timestamp, ...said }))
    return yield* consider(received({ topic: announceTopic, data, ...from }))
  })
const beat = (said: Parameters<typeof heartbeat>[0] = {}, from: Partial<Received> = {}, byNanos = 0n) =>
  Effect.gen(function* () {
    const timestamp = (yield* now).wallNanos + byNanos
    const data = encodeHeartbeat(heartbeat({ timestamp, ...said }))
    return yield* consider(received({ topic: heartbeatTopic, data, ...from }))
  })
const garbage = (neighbour: PeerId, text = "{}") =>
  consider(received({ topic: heartbeatTopic, data: new TextEncoder().encode(text), neighbour }))

const counts = Effect.gen(function* () {
  const all = yield* (yield* Tally).read
  return all
    .filter(({ count }) => count > 0)
    .map(({ topic, verdict, reason, count }) => [topic, verdict, reason, count])
})
const listed = Effect.gen(function* () {
  return available(yield* (yield* Registry).entries, yield* now).map((entry) => entry.serverId)
})
const minuteNanos = 60_000_000_000n

describe("the door", () => {
  it.effect("S1 S21 opens on both topics, and says so", () => {
    const { judges, run, said } = setting()
    return run(
      Effect.gen(function* () {
        assert.deepStrictEqual([...judges.keys()], [announceTopic, heartbeatTopic])
        assert.deepStrictEqual(said("joined topic"), [
          { level: "Info", message: "joined topic", facts: { topic: announceTopic } },
          { level: "Info", message: "joined topic", facts: { topic: heartbeatTopic } }
        ])
        const judge = judges.get(announceTopic) ?? (() => Effect.die("no judge"))
        const data = encodeAnnouncement(announcement({ timestamp: (yield* now).wallNanos }))
        assert.strictEqual(yield* judge(received({ topic: announceTopic, data })), "accept")
        assert.strictEqual(yield* judge(received({ topic: announceTopic, data })), "ignore")
        assert.strictEqual(yield* judge(received({ topic: announceTopic, data, signer: bob })), "reject")
      })
    )
  })

  it.effect("S22 admits an announcement and says whom it discovered, each time", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* announce(), ["accept", "none"])
        assert.deepStrictEqual(yield* beat(), ["accept", "none"])
        assert.deepStrictEqual(yield* announce({ healthy: false }, {}, 1n), ["accept", "none"])
        assert.deepStrictEqual(yield* listed, [])
        const facts = { server_id: alice, region: "eu-west", port: 55_223, uptime_score: 1, neighbour: bob }
        assert.deepStrictEqual(said("discovered server"), [
          { level: "Debug", message: "discovered server", facts: { ...facts, healthy: true } },
          { level: "Debug", message: "discovered server", facts: { ...facts, healthy: false } }
        ])
        assert.deepStrictEqual(yield* counts, [
          [announceTopic, "accept", "none", 2],
          [heartbeatTopic, "accept", "none", 1]
        ])
        const entry = Option.getOrThrow(yield* (yield* Registry).find(alice))
        assert.deepStrictEqual(entry.announcement?.signed, Uint8Array.of(1))
      })
    )
  })

  it.effect("answers without waiting", () => {
    const { run } = setting()
    return run(
      Effect.gen(function* () {
        const intake = yield* Intake
        const data = encodeAnnouncement(announcement({ timestamp: (yield* now).wallNanos }))
        const context = yield* Effect.context<never>()
        const outcome = Effect.runSync(
          Effect.provideContext(intake.consider(received({ topic: announceTopic, data }), topic), context)
        )
        assert.isTrue(Result.isSuccess(outcome))
      })
    )
  })

  it.effect("S23 A01 R1 refuses what a forger signed, names signer and claimed server, and touches no entry", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        yield* announce({}, { neighbour: carol })
        const before = yield* (yield* Registry).find(alice)
        for (let time = 0; time < 20; time++) {
          const forged = { signer: carol, neighbour: carol }
          assert.deepStrictEqual(yield* announce({ healthy: false }, forged, BigInt(time)), ["reject", "forged"])
        }
        assert.deepStrictEqual(yield* (yield* Registry).find(alice), before)
        assert.deepStrictEqual(yield* counts, [
          [announceTopic, "accept", "none", 1],
          [announceTopic, "reject", "forged", 20]
        ])
        assert.deepStrictEqual(said("rejected message")[0], {
          level: "Warn",
          message: "rejected message",
          facts: {
            topic: announceTopic,
            sender: carol,
            claimed_id: alice,
            neighbour: carol,
            reason: "forged",
            detail: `server_id names ${alice}, signed by ${carol}`
          }
        })
        const record = Option.getOrThrow(yield* (yield* Registry).refusalOf(carol))
        assert.deepStrictEqual([record.reason, record.count], ["forged", 20])
      })
    )
  })

  it.effect("S23 says which topic, sender and field a malformed message has", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* garbage(bob, `{"server_id":"${alice}","healthy":"yes"}`), ["reject", "malformed"])
        assert.deepStrictEqual(
          said("rejected message").map(({ level, facts }) => [level, facts]),
          [
            [
              "Warn",
              {
                topic: heartbeatTopic,
                sender: alice,
                neighbour: bob,
                reason: "malformed",
                detail: 'healthy: expected true or false, found "yes"'
              }
            ]
          ]
        )
      })
    )
  })

  it.effect("R19 O02 writes 5 lines a minute about one bad neighbour, the last of them a count of the rest", () => {
    const { lines, run, said } = setting()
    return run(
      Effect.gen(function* () {
        for (let time = 0; time < 1_000; time++) yield* garbage(bob)
        yield* garbage(carol)
        assert.strictEqual(said("rejected message").length, 5)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          said("more rejected messages, not a fault of this server").map(({ level, facts }) => [level, facts]),
          [["Warn", { neighbour: bob, held_back: 996 }]]
        )
        assert.strictEqual(lines.filter(({ facts }) => facts.neighbour === bob).length, 5)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(said("more rejected messages, not a fault of this server").length, 1)
      })
    )
  })

  it.effect("R19 O02 writes a bounded number of lines about many bad neighbours", () => {
    const { lines, run, said } = setting()
    return run(
      Effect.gen(function* () {
        const before = lines.length
        for (let index = 0; index < 1_000; index++) yield* garbage(peerIdOf(index))
        assert.strictEqual(said("rejected message").length, 30)
        yield* TestClock.adjust("1 minute")
        const summary = said("more rejected messages, not a fault of this server").map(({ facts }) => facts)
        assert.deepStrictEqual([summary.length, summary.at(-1)], [6, { neighbour: "965 others", held_back: 965 }])
        assert.strictEqual(lines.length - before, 36)
      })
    )
  })

  it.effect("R19 counts 12 announcements and 60 heartbeats of one signer a minute", () => {
    const { run } = setting()
    return run(
      Effect.gen(function* () {
        for (let time = 0; time < 1_000; time++) {
          yield* announce({}, {}, BigInt(time))
          yield* beat({}, {}, BigInt(time))
        }
        yield* announce({ serverId: dave }, { signer: dave })
        assert.deepStrictEqual(yield* counts, [
          [announceTopic, "accept", "none", 13],
          [announceTopic, "ignore", "over-rate", 988],
          [heartbeatTopic, "accept", "none", 60],
          [heartbeatTopic, "ignore", "over-rate", 940]
        ])
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* announce(), ["accept", "none"])
      })
    )
  })

  it.effect("R19 R7 lets nobody use up a server's share by repeating its words, or by forging them", () => {
    const { run } = setting()
    return run(
      Effect.gen(function* () {
        const data = encodeHeartbeat(heartbeat({ timestamp: (yield* now).wallNanos }))
        yield* consider(received({ topic: heartbeatTopic, data }))
        for (let time = 0; time < 1_000; time++) {
          assert.deepStrictEqual(yield* consider(received({ topic: heartbeatTopic, data })), ["ignore", "repeated"])
          assert.deepStrictEqual(yield* beat({}, { signer: carol }, BigInt(time)), ["reject", "forged"])
        }
        assert.deepStrictEqual(yield* beat({}, {}, 1n), ["accept", "none"])
        assert.deepStrictEqual(yield* (yield* Registry).refusalOf(alice), Option.none())
      })
    )
  })

  it.effect("R12 takes what a neighbour hands on at any pace, and logs its own words' return", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        const { wallNanos } = yield* now
        for (let time = 0; time < 100; time++) {
          const data = encodeHeartbeat(heartbeat({ timestamp: wallNanos - 1_000n + BigInt(time) }))
          const handedOn = { kind: "handed-on" } as const
          assert.deepStrictEqual(yield* consider(received({ topic: heartbeatTopic, data }), handedOn), [
            "accept",
            "none"
          ])
        }
        const own = encodeHeartbeat(heartbeat({ serverId: self, timestamp: wallNanos - minuteNanos }))
        const message = received({ topic: heartbeatTopic, data: own, signer: self })
        assert.deepStrictEqual(yield* consider(message, { kind: "handed-on" }), ["ignore", "own"])
        assert.deepStrictEqual(said("another server is publishing as this one"), [])
      })
    )
  })
})

describe("a message from another time", () => {
  it.effect("B03 R7 is refused, its owner's clock reported once an hour", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        for (let time = 0; time < 12; time++) {
          assert.deepStrictEqual(yield* beat({}, {}, 10n * minuteNanos), ["ignore", "too-far-ahead"])
          yield* TestClock.adjust("5 minutes")
        }
        assert.deepStrictEqual(
          said("clock of a server is off").map(({ level, facts }) => [level, facts]),
          [
            [
              "Warn",
              {
                topic: heartbeatTopic,
                sender: alice,
                neighbour: bob,
                reason: "too-far-ahead",
                detail: "timestamp: 600 s ahead of this server"
              }
            ]
          ]
        )
        assert.deepStrictEqual(said("rejected message"), [])
        yield* beat({}, {}, 10n * minuteNanos)
        assert.strictEqual(said("clock of a server is off").length, 2)
        const record = Option.getOrThrow(yield* (yield* Registry).refusalOf(alice))
        assert.deepStrictEqual([record.reason, record.count], ["too-far-ahead", 13])
      })
    )
  })

  it.effect("R19 O02 B03 of many strangers costs 4 lines a minute a neighbour, and hides no clock of another", () => {
    const { run, said } = setting()
    const isOff = Effect.fnUntraced(function* (signer: PeerId, neighbour: PeerId) {
      assert.deepStrictEqual(yield* beat({ serverId: signer }, { signer, neighbour }, 10n * minuteNanos), [
        "ignore",
        "too-far-ahead"
      ])
    })
    const told = () => said("clock of a server is off").map(({ facts }) => facts.sender)
    const strangers = Array.from({ length: 40 }, (_, index) => peerIdOf(index))
    return run(
      Effect.gen(function* () {
        yield* announce({ serverId: dave }, { signer: dave })
        yield* Effect.forEach(strangers, (stranger) => isOff(stranger, bob))
        assert.deepStrictEqual(told(), strangers.slice(0, 4))
        yield* isOff(carol, carol)
        yield* isOff(dave, bob)
        assert.deepStrictEqual(told().slice(4), [carol, dave], "one that it brought itself, one listed before")
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          said("more clocks of servers are off").map(({ level, facts }) => [level, facts]),
          [["Warn", { neighbour: bob, held_back: 36 }]]
        )
        // Those that were held back are told when there is room, each of them once an hour.
        yield* Effect.forEach(strangers, (stranger) => isOff(stranger, bob))
        assert.deepStrictEqual(told().slice(6), strangers.slice(4, 8))
        for (let minutes = 0; minutes < 8; minutes++) {
          yield* TestClock.adjust("1 minute")
          yield* Effect.forEach(strangers, (stranger) => isOff(stranger, bob))
        }
        assert.sameMembers(told(), [...strangers, carol, dave])
        // Through many neighbours: 30 lines a minute.
        yield* TestClock.adjust("1 minute")
        const before = told().length
        for (let index = 0; index < 100; index++) yield* isOff(peerIdOf(`new ${index}`), peerIdOf(`by ${index}`))
        assert.strictEqual(told().length - before, 30)
      })
    )
  })

  it.effect("A03 R7 that was heard before says nothing of its signer's clock", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        const data = encodeHeartbeat(heartbeat({ timestamp: (yield* now).wallNanos }))
        yield* consider(received({ topic: heartbeatTopic, data }))
        yield* TestClock.adjust("3 hours")
        assert.deepStrictEqual(yield* consider(received({ topic: heartbeatTopic, data })), ["ignore", "too-old"])
        assert.deepStrictEqual(said("clock of a server is off"), [])
        assert.deepStrictEqual(yield* (yield* Registry).refusalOf(alice), Option.none())
      })
    )
  })

  it.effect("B03 R7 is refused as too old, and its owner's clock reported once it is seen to go on", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* beat({}, {}, -180n * minuteNanos), ["ignore", "too-old"])
        assert.deepStrictEqual(said("clock of a server is off"), [])
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(yield* beat({}, {}, -180n * minuteNanos), ["ignore", "too-old"])
        assert.deepStrictEqual(
          said("clock of a server is off").map(({ facts }) => [facts.sender, facts.detail]),
          [[alice, "timestamp: 10800 s behind this server"]]
        )
        assert.deepStrictEqual(
          said("this server's clock is off").map(({ facts }) => facts.direction),
          ["ahead"]
        )
      })
    )
  })

  it.effect("R7 R10 of a server that is not known, played again, says nothing of any clock", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        const { wallNanos } = yield* now
        for (const minutes of [200, 195, 190]) {
          const data = encodeHeartbeat(heartbeat({ timestamp: wallNanos - BigInt(minutes) * minuteNanos }))
          assert.deepStrictEqual(yield* consider(received({ topic: heartbeatTopic, data })), ["ignore", "too-old"])
          yield* TestClock.adjust("3 minutes")
        }
        assert.deepStrictEqual([said("clock of a server is off"), said("this server's clock is off")], [[], []])
        assert.strictEqual((yield* (yield* Intake).ownClock).state, "unknown")
      })
    )
  })

  it.effect("R10 B03 tells this server when it is the one whose clock is off", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        const intake = yield* Intake
        assert.strictEqual((yield* intake.ownClock).state, "unknown")
        for (const server of [alice, carol, dave]) {
          yield* beat({ serverId: server }, { signer: server }, -10n * minuteNanos)
          yield* TestClock.adjust("10 seconds")
        }
        assert.deepStrictEqual(yield* intake.ownClock, { state: "ahead", byMillis: 600_000, disagreeing: 3, heard: 3 })
        assert.deepStrictEqual(
          said("this server's clock is off").map(({ level, facts }) => [level, facts]),
          [["Warn", { direction: "ahead", by_seconds: 600, disagreeing: 1, heard: 1 }]]
        )
        // Also by servers whose messages do not count for the difference.
        for (const server of [alice, carol, dave]) {
          assert.deepStrictEqual(yield* beat({ serverId: server }, { signer: server }, 5n * minuteNanos), [
            "ignore",
            "too-far-ahead"
          ])
          yield* TestClock.adjust("10 seconds")
        }
        assert.strictEqual((yield* intake.ownClock).state, "behind")
        assert.strictEqual(said("this server's clock is off").length, 2)
      })
    )
  })
})

describe("a message that says nothing of the time", () => {
  it.effect("J05 has no timestamp: it is ignored, and no clock is blamed", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* garbage(bob, `{"server_id":"${alice}"}`), ["ignore", "too-old"])
        assert.deepStrictEqual([said("clock of a server is off"), said("this server's clock is off")], [[], []])
        assert.strictEqual((yield* (yield* Intake).ownClock).state, "unknown")
      })
    )
  })

  it.effect("R10 was heard before: replays talk nobody out of the time", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        const { wallNanos } = yield* now
        const data = encodeHeartbeat(heartbeat({ timestamp: wallNanos - 60n * minuteNanos }))
        const message = received({ topic: heartbeatTopic, data })
        assert.deepStrictEqual(yield* consider(message, { kind: "handed-on" }), ["accept", "none"])
        assert.deepStrictEqual(yield* consider(message), ["accept", "none"])
        assert.strictEqual((yield* (yield* Intake).ownClock).state, "unknown")
        assert.deepStrictEqual(said("this server's clock is off"), [])
      })
    )
  })
})

describe("a twin", () => {
  it.effect("R18 H03 is told of at WARN, once an hour, and this server's own words are not", () => {
    const { run, said } = setting()
    const twin = { signer: self, neighbour: carol }
    return run(
      Effect.gen(function* () {
        const { wallNanos } = yield* now
        yield* (yield* OwnWords).remember(wallNanos + 1n)
        assert.deepStrictEqual(yield* beat({ serverId: self }, twin, 1n), ["ignore", "own"])
        assert.deepStrictEqual(said("another server is publishing as this one"), [])
        assert.deepStrictEqual(yield* beat({ serverId: self }, twin, 2n), ["ignore", "own"])
        assert.deepStrictEqual(yield* beat({ serverId: self }, twin, 3n), ["ignore", "own"])
        assert.deepStrictEqual(
          said("another server is publishing as this one").map(({ level, facts }) => [level, facts]),
          [["Warn", { topic: heartbeatTopic, sender: self, neighbour: carol }]]
        )
        yield* TestClock.adjust("1 hour")
        yield* announce({ serverId: self }, twin)
        yield* beat({ serverId: self }, twin)
        assert.strictEqual(said("another server is publishing as this one").length, 3)
      })
    )
  })
})

describe("a twin of another server", () => {
  const sign = "two servers seem to publish as one"

  it.effect("R18 H03 is told of by observers when one identity says what one server cannot", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        yield* announce({ uptimeScore: 1 })
        for (let check = 1; check <= 6; check++) {
          yield* TestClock.adjust("150 seconds")
          yield* beat({ healthy: false, uptimeScore: (288 - check) / 288 })
          yield* TestClock.adjust("150 seconds")
          yield* beat({ healthy: true, uptimeScore: 1 })
        }
        assert.deepStrictEqual(
          said(sign).map(({ level, facts }) => [level, facts]),
          [["Warn", { sender: alice, neighbour: bob }]]
        )
      })
    )
  })

  it.effect("H03 is told of by its other description", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        for (const port of [1, 2, 1]) yield* announce({ port }, {}, BigInt(port))
        yield* TestClock.adjust("1 second")
        for (const port of [2, 1, 2]) {
          yield* announce({ port })
          yield* TestClock.adjust("1 second")
        }
        assert.strictEqual(said(sign).length, 1)
      })
    )
  })

  it.effect("R19 O02 H03 costs 4 lines a minute a neighbour, and is told of one that is known for a day", () => {
    const { run, said } = setting()
    const twin = Effect.fnUntraced(function* (serverId: PeerId) {
      for (const port of [1, 2, 1, 2]) {
        yield* announce({ serverId, port }, { signer: serverId })
        yield* TestClock.adjust("1 millis")
      }
    })
    return run(
      Effect.gen(function* () {
        yield* announce({ serverId: dave }, { signer: dave })
        yield* TestClock.adjust("23 hours")
        yield* beat({ serverId: dave }, { signer: dave })
        yield* TestClock.adjust("1 hour")
        const strangers = Array.from({ length: 20 }, (_, index) => peerIdOf(index))
        yield* Effect.forEach(strangers, twin)
        yield* twin(dave)
        assert.deepStrictEqual(
          said(sign).map(({ facts }) => facts.sender),
          [...strangers.slice(0, 4), dave]
        )
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          said("more servers seem to publish as one").map(({ facts }) => facts),
          [{ neighbour: bob, held_back: 16 }]
        )
      })
    )
  })

  it.effect("F02 is no server that flaps, restarts, changes its settings, or loses some of its words", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        yield* announce({ uptimeScore: 1 })
        let passed = 1
        for (let check = 2; check <= 100; check++) {
          yield* TestClock.adjust("5 minutes")
          const healthy = check % 2 === 0
          if (healthy) passed++
          yield* beat({ healthy, uptimeScore: passed / check })
        }
        yield* beat({ healthy: false, uptimeScore: passed / 100 }, {}, 1n)
        yield* announce({ uptimeScore: 1, port: 7 }, {}, 2n)
        assert.deepStrictEqual(said(sign), [])
      })
    )
  })
})

describe("a server that flaps", () => {
  const flap = Effect.fnUntraced(function* (serverId: PeerId, checks: number, every: Duration.Input) {
    for (let check = 1; check <= checks; check++) {
      yield* TestClock.adjust(every)
      yield* beat({ serverId, healthy: check % 2 === 0 }, { signer: serverId })
    }
  })

  it.effect("F02 is told of in one line an hour, with how often its verdict has changed", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        yield* announce()
        yield* flap(alice, 6, "5 minutes")
        assert.deepStrictEqual(said("server is flapping"), [])
        yield* flap(alice, 42, "5 minutes")
        const facts = { server_id: alice, neighbour: bob }
        assert.deepStrictEqual(
          said("server is flapping").map(({ level, facts }) => [level, facts]),
          [7, 19, 31, 43].map((verdict_changes) => ["Info", { ...facts, verdict_changes }])
        )
      })
    )
  })

  it.effect("F02 is none that fails a check now and then", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        yield* announce()
        yield* flap(alice, 100, "10 minutes")
        assert.deepStrictEqual(said("server is flapping"), [])
      })
    )
  })

  it.effect("F02 R19 O02 is one of many: 4 lines a minute a neighbour, and a count of the rest", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        const flapping = Array.from({ length: 50 }, (_, index) => peerIdOf(index))
        for (const serverId of flapping) {
          yield* announce({ serverId }, { signer: serverId })
          yield* flap(serverId, 7, "1 millis")
        }
        assert.strictEqual(said("server is flapping").length, 4)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          said("more servers are flapping").map(({ level, facts }) => [level, facts]),
          [["Info", { neighbour: bob, held_back: 46 }]]
        )
      })
    )
  })
})

describe("a defect of this server", () => {
  it.effect("R17 makes a message be ignored, and is counted and told", () => {
    const { run, said } = setting()
    return run(
      Effect.gen(function* () {
        const data = encodeHeartbeat(heartbeat({ timestamp: (yield* now).wallNanos }))
        const broken = received({
          topic: heartbeatTopic,
          data,
          signed: () => {
            throw new Error("no bytes")
          }
        })
        assert.deepStrictEqual(yield* consider(broken), ["ignore", "defect"])
        assert.deepStrictEqual(yield* counts, [[heartbeatTopic, "ignore", "defect", 1]])
        assert.strictEqual(said("message could not be judged").length, 1)
        const [line] = said("message could not be judged")
        assert.strictEqual(line?.level, "Error")
        assert.match(String(line?.facts.error), /no bytes/)
        assert.isAtMost(String(line?.facts.error).length, 200)
        assert.deepStrictEqual(yield* consider(received({ topic: heartbeatTopic, data })), ["accept", "none"])
      })
    )
  })
})
