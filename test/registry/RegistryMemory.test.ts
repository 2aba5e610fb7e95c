import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Queue, Result } from "effect"
import { TestClock } from "effect/testing"
import { Settings } from "../../src/config/Settings.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import { available } from "../../src/registry/Query.ts"
import { refuse } from "../../src/registry/Refusal.ts"
import { type Change, type Decide, Registry } from "../../src/registry/Registry.ts"
import { layer, layerBounded } from "../../src/registry/RegistryMemory.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import { type Now, now } from "../../src/time/Now.ts"
import { alice, bob, carol, dave, hearAnnouncement, hearHeartbeat, hour, minute, second } from "./Sample.ts"

/** A test's hours begin here, so that wall clock and steady clock agree and nothing is before the epoch. */
const withRegistry = (maxServers = 1_000) => Effect.provide(layerBounded(maxServers))

/** Hears a server now: its timestamp is the moment. */
const hear = (make: (at: Now) => Decide, server: PeerId) =>
  Effect.gen(function* () {
    return yield* (yield* Registry).admit(server, make(yield* now))
  })
const announce = (serverId: PeerId, said: { healthy?: boolean; uptimeScore?: number } = {}) =>
  hear((at) => hearAnnouncement({ serverId, timestamp: at.wallNanos, ...said }, { now: at }), serverId)
const beat = (serverId: PeerId, said: { healthy?: boolean } = {}) =>
  hear((at) => hearHeartbeat({ serverId, timestamp: at.wallNanos, ...said }, { now: at }), serverId)

const listed = Effect.gen(function* () {
  return available(yield* (yield* Registry).entries, yield* now).map((entry) => entry.serverId)
})
const knownIds = Effect.gen(function* () {
  return (yield* (yield* Registry).entries).map((entry) => entry.serverId)
})
const reason = (outcome: Result.Result<unknown, { readonly reason: string; readonly verdict: string }>) =>
  Result.isFailure(outcome) ? [outcome.failure.reason, outcome.failure.verdict] : ["accepted", "accept"]
const short = ({ id, serverId, entry, cause }: Change) => [id, serverId, entry !== undefined, cause]

describe("a registry", () => {
  it.effect("S13 keeps an entry for each server, changed in one step", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const first = Result.getOrThrow(yield* announce(alice))
      const second = Result.getOrThrow(yield* beat(bob))
      yield* TestClock.adjust("5 minutes")
      const third = Result.getOrThrow(yield* beat(alice, { healthy: false }))
      assert.deepStrictEqual([first.before, second.before, third.before], [undefined, undefined, first.after])
      assert.deepStrictEqual(yield* registry.entries, [third.after, second.after])
      assert.deepStrictEqual(yield* registry.find(alice), Option.some(third.after))
      assert.deepStrictEqual(yield* registry.find(carol), Option.none())
      assert.strictEqual(yield* registry.entries, yield* registry.entries)
    }).pipe(withRegistry())
  )

  it.effect("S8 stays as it was when a decision refuses", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      yield* announce(alice)
      const before = yield* registry.entries
      const refused = yield* registry.admit(alice, hearAnnouncement({}, { signer: bob }))
      assert.deepStrictEqual(reason(refused), ["forged", "reject"])
      assert.strictEqual(yield* registry.entries, before)
    }).pipe(withRegistry())
  )

  it.effect("R19 is as large as the settings say", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(reason(yield* announce(alice)), ["accepted", "accept"])
      assert.deepStrictEqual(reason(yield* announce(bob)), ["full", "ignore"])
    }).pipe(Effect.provide(layer.pipe(Layer.provide(Layer.succeed(Settings, VirtualSettings.make({ maxServers: 1 }))))))
  )
})

describe("a server that falls silent", () => {
  it.effect("S15 R6 is told silent once, a millisecond after its two hours, and has left the list", () =>
    Effect.gen(function* () {
      const { changes } = yield* (yield* Registry).subscribe
      yield* announce(alice)
      yield* announce(bob)
      yield* TestClock.adjust("1 hour")
      yield* beat(bob)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* listed, [bob, alice])
      assert.deepStrictEqual((yield* Queue.takeAll(changes)).map(short), [
        [1, alice, true, "announced"],
        [2, bob, true, "announced"],
        [3, bob, true, "heartbeat"]
      ])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* listed, [bob])
      assert.deepStrictEqual((yield* Queue.takeAll(changes)).map(short), [[4, alice, true, "silent"]])
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual(yield* Queue.clear(changes), [])
    }).pipe(Effect.scoped, withRegistry())
  )

  it.effect("R9 E05 is listed again at its first healthy heartbeat, for 24 hours", () =>
    Effect.gen(function* () {
      yield* announce(alice)
      yield* announce(bob)
      yield* TestClock.adjust("24 hours")
      assert.deepStrictEqual(yield* listed, [])
      yield* beat(alice)
      assert.deepStrictEqual(yield* listed, [alice])
    }).pipe(withRegistry())
  )

  it.effect("R9 K01 is forgotten after 24 hours", () =>
    Effect.gen(function* () {
      const { changes } = yield* (yield* Registry).subscribe
      for (let index = 0; index < 300; index++) yield* announce(peerIdOf(index))
      yield* TestClock.adjust("12 hours")
      yield* announce(alice)
      assert.strictEqual((yield* knownIds).length, 301)
      yield* TestClock.adjust("12 hours")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* knownIds, [alice])
      const causes = (yield* Queue.takeAll(changes)).map(({ cause, entry }) => [cause, entry === undefined])
      assert.deepStrictEqual(
        ["announced", "silent", "forgotten"].map((cause) => causes.filter((found) => found[0] === cause).length),
        [301, 301, 300]
      )
      assert.isTrue(causes.every(([cause, gone]) => gone === (cause === "forgotten")))
    }).pipe(Effect.scoped, withRegistry())
  )

  it.effect("R6 is told silent again after each return", () =>
    Effect.gen(function* () {
      const { changes } = yield* (yield* Registry).subscribe
      yield* announce(alice)
      yield* TestClock.adjust("3 hours")
      yield* beat(alice)
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(
        (yield* Queue.takeAll(changes)).map(({ cause }) => cause),
        ["announced", "silent", "heartbeat", "silent"]
      )
    }).pipe(Effect.scoped, withRegistry())
  )
})

describe("a full registry", () => {
  const fill = (servers: ReadonlyArray<PeerId>) => Effect.forEach(servers, (server) => announce(server))

  it.effect("R19 gives up the one that is silent for longest first", () =>
    Effect.gen(function* () {
      yield* fill([alice, bob])
      yield* TestClock.adjust("1 minute")
      yield* fill([carol])
      yield* beat(alice, { healthy: false })
      yield* TestClock.adjust("2 hours")
      yield* beat(alice, { healthy: false })
      yield* announce(dave)
      assert.deepStrictEqual(yield* knownIds, [alice, carol, dave])
      assert.deepStrictEqual(Option.getOrThrow(yield* (yield* Registry).evictionOf(bob)), {
        wallMillis: 121 * minute,
        reason: "silent, and the registry was full"
      })
      assert.deepStrictEqual(yield* (yield* Registry).evictionOf(alice), Option.none())
    }).pipe(withRegistry(3))
  )

  it.effect("R19 gives up what is unannounced, then what is unhealthy, then nothing", () =>
    Effect.gen(function* () {
      yield* announce(alice, { healthy: false })
      yield* beat(bob)
      yield* announce(carol)
      assert.deepStrictEqual(reason(yield* announce(dave)), ["accepted", "accept"])
      assert.deepStrictEqual(yield* knownIds, [alice, carol, dave])
      assert.deepStrictEqual(reason(yield* announce(peerIdOf(1))), ["accepted", "accept"])
      assert.deepStrictEqual(yield* knownIds, [carol, dave, peerIdOf(1)])
      assert.deepStrictEqual(reason(yield* announce(peerIdOf(2))), ["full", "ignore"])
      assert.deepStrictEqual(yield* knownIds, [carol, dave, peerIdOf(1)])
    }).pipe(withRegistry(3))
  )

  it.effect("R19 gives up nothing but the silent for a stranger that is not available itself", () =>
    Effect.gen(function* () {
      yield* announce(alice, { healthy: false })
      assert.deepStrictEqual(reason(yield* beat(bob)), ["full", "ignore"])
      assert.deepStrictEqual(reason(yield* announce(bob, { healthy: false })), ["full", "ignore"])
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(reason(yield* beat(bob)), ["accepted", "accept"])
      assert.deepStrictEqual(yield* knownIds, [bob])
    }).pipe(withRegistry(1))
  )

  it.effect("R19 keeps a server known for a day, silent or not, from every stranger", () =>
    Effect.gen(function* () {
      yield* fill([alice, bob])
      yield* TestClock.adjust("23 hours")
      yield* beat(alice, { healthy: false })
      yield* beat(bob)
      yield* TestClock.adjust("1 hour")
      yield* beat(alice, { healthy: false })
      assert.deepStrictEqual(reason(yield* announce(carol)), ["full", "ignore"])
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(yield* listed, [])
      assert.deepStrictEqual(reason(yield* announce(carol)), ["full", "ignore"])
      assert.deepStrictEqual(yield* knownIds, [alice, bob])
      yield* TestClock.adjust("22 hours")
      assert.deepStrictEqual(reason(yield* announce(carol)), ["accepted", "accept"])
    }).pipe(withRegistry(2))
  )

  it.effect("R7 takes no old copy from a server that it gave up, however it comes back", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const oldAnnouncement = hearAnnouncement({ serverId: alice, timestamp: 0n, healthy: false }, { now: yield* now })
      yield* registry.admit(alice, oldAnnouncement)
      yield* TestClock.adjust("1 second")
      yield* beat(alice, { healthy: false })
      yield* announce(bob)
      assert.deepStrictEqual(yield* knownIds, [bob])
      yield* TestClock.adjust("1 minute")
      const replay = (at: Now) => hearAnnouncement({ serverId: alice, timestamp: 0n, healthy: false }, { now: at })
      assert.deepStrictEqual(reason(yield* hear(replay, alice)), ["repeated", "ignore"])
      yield* beat(bob, { healthy: false })
      assert.deepStrictEqual(reason(yield* announce(alice)), ["accepted", "accept"])
      assert.deepStrictEqual(reason(yield* hear(replay, alice)), ["repeated", "ignore"])
      const oldBeat = (at: Now) =>
        hearHeartbeat({ serverId: alice, timestamp: 1_000_000_000n, healthy: false }, { now: at })
      assert.deepStrictEqual(reason(yield* hear(oldBeat, alice)), ["repeated", "ignore"])
    }).pipe(withRegistry(1))
  )

  it.effect(
    "K02 R19 survives 100 000 strangers: five honest servers stay listed, and the map shrinks back",
    () =>
      Effect.gen(function* () {
        const honest = [alice, bob, carol, dave, peerIdOf("erin")].sort()
        const strangers = Array.from({ length: 100_000 }, (_, index) => `stranger-${index}` as PeerId)
        yield* fill(honest)
        const began = process.hrtime.bigint()
        const accepted: Record<string, number> = {}
        for (const [index, stranger] of strangers.entries()) {
          const [outcome = ""] = reason(yield* announce(stranger))
          accepted[outcome] = (accepted[outcome] ?? 0) + 1
          if (index % 10_000 !== 0) continue
          yield* Effect.forEach(honest, (server) => beat(server))
          assert.deepStrictEqual(
            (yield* listed).filter((server) => honest.includes(server)),
            honest
          )
          yield* TestClock.adjust("1 minute")
        }
        const seconds = Number(process.hrtime.bigint() - began) / 1e9
        assert.deepStrictEqual(accepted, { accepted: 19_995, full: 80_005 })
        assert.isBelow(seconds, 20)
        for (let quarters = 0; quarters < 26 * 4; quarters++) {
          yield* TestClock.adjust("15 minutes")
          yield* Effect.forEach(honest, (server) => beat(server))
        }
        assert.deepStrictEqual((yield* knownIds).sort(), honest)
      }).pipe(withRegistry(20_000)),
    60_000
  )
})

describe("a reader of the registry", () => {
  it.effect("gets the entries and every change after exactly these", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      yield* announce(alice)
      yield* announce(bob)
      const { changes, entries, lastId } = yield* registry.subscribe
      assert.strictEqual(lastId, 2)
      assert.deepStrictEqual(
        entries.map((entry) => entry.serverId),
        [alice, bob]
      )
      yield* TestClock.adjust("1 second")
      yield* beat(alice, { healthy: false })
      yield* announce(carol)
      yield* announce(carol)
      const next = yield* Queue.takeAll(changes)
      assert.deepStrictEqual(next.map(short), [
        [3, alice, true, "heartbeat"],
        [4, carol, true, "announced"]
      ])
      assert.deepStrictEqual(
        next.map(({ entry }) => entry),
        yield* Effect.map(registry.entries, (all) => [all[0], all[2]])
      )
    }).pipe(Effect.scoped, withRegistry())
  )

  it.effect("R19 is told of restored and evicted entries", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const { changes } = yield* registry.subscribe
      yield* TestClock.adjust("1 hour")
      const at = yield* now
      const origin = { kind: "restored", heardWallMillis: 0, firstHeardWallMillis: 0 } as const
      yield* registry.admit(alice, hearAnnouncement({ timestamp: 1n, healthy: false }, { now: at, origin }))
      yield* announce(bob)
      assert.deepStrictEqual((yield* Queue.takeAll(changes)).map(short), [
        [1, alice, true, "restored"],
        [2, alice, false, "evicted"],
        [3, bob, true, "announced"]
      ])
    }).pipe(Effect.scoped, withRegistry(1))
  )

  it.effect("is told that it is too slow at 1 024 changes, and holds up nobody", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const slow = yield* registry.subscribe
      const quick = yield* registry.subscribe
      for (let index = 0; index < 1_024; index++) yield* announce(peerIdOf(index))
      assert.strictEqual((yield* Queue.takeAll(quick.changes)).length, 1_024)
      yield* announce(alice)
      assert.deepStrictEqual((yield* Queue.takeAll(quick.changes)).map(short), [[1_025, alice, true, "announced"]])
      assert.strictEqual((yield* Queue.takeAll(slow.changes)).length, 1_024)
      assert.strictEqual(yield* Effect.flip(Queue.take(slow.changes)), "too-slow")
      yield* announce(bob)
      assert.deepStrictEqual((yield* Queue.takeAll(quick.changes)).map(short), [[1_026, bob, true, "announced"]])
    }).pipe(Effect.scoped, withRegistry(2_000))
  )

  it.effect("ends with its scope", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const { changes } = yield* Effect.scoped(registry.subscribe)
      yield* announce(alice)
      assert.isTrue(Exit.hasInterrupts(yield* Effect.exit(Queue.take(changes))))
    }).pipe(withRegistry())
  )
})

describe("refusals", () => {
  it.effect("R21 are remembered by signer: the newest reason, how many, and when", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      yield* registry.noteRefusal(alice, refuse("malformed", "port: not a whole number"))
      yield* TestClock.adjust(5 * second)
      yield* registry.noteRefusal(alice, refuse("too-old", "timestamp"))
      assert.deepStrictEqual(
        yield* registry.refusalOf(alice),
        Option.some({ reason: "too-old" as const, detail: "timestamp", count: 2, lastWallMillis: 5 * second })
      )
      assert.deepStrictEqual(yield* registry.refusalOf(bob), Option.none())
    }).pipe(withRegistry())
  )

  it.effect("are told latest first, as many as are asked for", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      yield* registry.noteRefusal(alice, refuse("malformed", "a"))
      yield* registry.noteRefusal(bob, refuse("forged", "b"))
      yield* TestClock.adjust(second)
      yield* registry.noteRefusal(alice, refuse("too-old", "c"))
      const ofAlice = { signer: alice, reason: "too-old", detail: "c", count: 2, lastWallMillis: second } as const
      const ofBob = { signer: bob, reason: "forged", detail: "b", count: 1, lastWallMillis: 0 } as const
      assert.deepStrictEqual(yield* registry.latestRefusals(2), [ofAlice, ofBob])
      assert.deepStrictEqual(yield* registry.latestRefusals(1), [ofAlice])
    }).pipe(withRegistry())
  )

  it.effect("R19 are remembered of 4 096 signers, the newest", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      yield* registry.noteRefusal(alice, refuse("malformed", ""))
      yield* registry.noteRefusal(bob, refuse("malformed", ""))
      for (let index = 0; index < 4_094; index++) yield* registry.noteRefusal(peerIdOf(index), refuse("forged", ""))
      yield* registry.noteRefusal(alice, refuse("malformed", ""))
      yield* registry.noteRefusal(carol, refuse("malformed", ""))
      const remembered = yield* Effect.forEach([alice, bob, carol, peerIdOf(0)], registry.refusalOf)
      assert.deepStrictEqual(remembered.map(Option.isSome), [true, false, true, true])
    }).pipe(withRegistry())
  )
})

describe("two days of a hundred servers", () => {
  it.effect("S18 list each of them at every quarter of an hour", () =>
    Effect.gen(function* () {
      const servers = Array.from({ length: 100 }, (_, index) => peerIdOf(index))
      yield* Effect.forEach(servers, (server) => announce(server))
      for (let quarters = 0; quarters < 48 * 4; quarters++) {
        yield* TestClock.adjust(hour / 4)
        yield* Effect.forEach(servers, (server) => beat(server))
        assert.strictEqual((yield* listed).length, 100)
      }
    }).pipe(withRegistry())
  )
})
