import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import { Intake } from "../../src/registry/Intake.ts"
import type { Known } from "../../src/registry/Known.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import { available, verdictInForce } from "../../src/registry/Query.ts"
import { type Decide, Registry } from "../../src/registry/Registry.ts"
import { layerBounded } from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../../src/registry/Wire.ts"
import { type Now, now } from "../../src/time/Now.ts"
import { type Random, random, seed } from "./Random.ts"
import {
  alice,
  announcement,
  at,
  bob,
  carol,
  dave,
  hearAnnouncement,
  hearHeartbeat,
  heartbeat,
  minute,
  second,
  self,
  startMillis,
  topic,
  wall
} from "./Sample.ts"

interface Sent {
  readonly kind: "announcement" | "heartbeat"
  readonly serverId: PeerId
  readonly timestamp: bigint
  readonly healthy: boolean
  readonly uptimeScore: number
  readonly region: string
}

/** Messages of four servers with timestamps so near to one another that many are equal. */
const messages = (choose: Random): ReadonlyArray<Sent> => {
  const sent = new Map<string, Sent>()
  for (let count = 0; count < 24; count++) {
    const kind = choose.of(["announcement", "heartbeat"] as const)
    const serverId = choose.of([alice, bob, carol, dave])
    const nanos = choose.below(6)
    const healthy = choose.chance(0.6)
    const uptimeScore = choose.below(4) / 4
    // A server does not say two things at the same moment on the same topic, but for its health.
    const key = [kind, serverId, nanos, healthy].join()
    if (!sent.has(key)) {
      sent.set(key, { kind, serverId, timestamp: wall(0) + BigInt(nanos), healthy, uptimeScore, region: `r${count}` })
    }
  }
  return [...sent.values()]
}

/** What an observer believes after it got these, one a second: a message at a time, as Registry would. */
const observe = (received: ReadonlyArray<Sent>) => {
  const entries = new Map<PeerId, Known>()
  for (const [index, { kind, serverId, region, ...said }] of received.entries()) {
    const circumstances = { now: at(index * second) }
    const decide: Decide =
      kind === "announcement"
        ? hearAnnouncement({ serverId, region, ...said }, circumstances)
        : hearHeartbeat({ serverId, ...said }, circumstances)
    const decided = decide(entries.get(serverId), undefined)
    if (Result.isSuccess(decided)) entries.set(serverId, decided.success)
  }
  return [...entries.values()]
}

/** A whole observer from the topics inwards, in the time of the test's clock: what it lists after it got these. */
const observeInTime = (received: ReadonlyArray<Sent>, choose: Random) =>
  Effect.gen(function* () {
    const intake = yield* Intake
    for (const { kind, ...said } of received) {
      if (choose.chance(0.3)) yield* TestClock.adjust(choose.below(15_000))
      const data = kind === "announcement" ? encodeAnnouncement(announcement(said)) : encodeHeartbeat(heartbeat(said))
      const ofTopic = kind === "announcement" ? announceTopic : heartbeatTopic
      const { serverId: signer } = said
      yield* intake.consider({ topic: ofTopic, data, signer, neighbour: signer, signed: () => data }, topic)
    }
    return list(yield* (yield* Registry).entries, yield* now)
  }).pipe(
    Effect.provide(
      Intake.layer.pipe(
        Layer.provideMerge(
          Layer.mergeAll(layerBounded(1_000), OwnWords.layer, Tally.layer, Layer.mock(Gossip, { self }))
        ),
        Layer.fresh
      )
    )
  )

const list = (entries: ReadonlyArray<Known>, when: Now = at(10 * minute)) =>
  available(entries, when).map((known) => ({
    server: known.serverId,
    region: known.announcement?.message.region,
    score: verdictInForce(known).uptimeScore
  }))

/** The same list from the messages alone, by the words of R8, R16 and R20, without asking Judge or Query. */
const expected = (received: ReadonlyArray<Sent>) => {
  const newest = (messages: ReadonlyArray<Sent>) =>
    [...messages].sort(
      (left, right) =>
        Number(right.timestamp - left.timestamp) ||
        Number(left.healthy) - Number(right.healthy) ||
        left.uptimeScore - right.uptimeScore
    )[0]
  return [alice, bob, carol, dave]
    .flatMap((server) => {
      const [said, beats] = (["announcement", "heartbeat"] as const).map((kind) =>
        newest(received.filter((sent) => sent.serverId === server && sent.kind === kind))
      )
      const verdict = newest([said, beats].filter((message) => message !== undefined))
      if (said === undefined || verdict === undefined || !verdict.healthy) return []
      return [{ server, region: said.region, score: verdict.uptimeScore }]
    })
    .sort((left, right) => right.score - left.score || (left.server < right.server ? -1 : 1))
}

describe(`observers of the same messages (SEED=${seed})`, () => {
  it("R8 R20 have the same list in the same order after any interleaving and duplication", () => {
    const choose = random(seed)
    for (let network = 0; network < 100; network++) {
      const sent = messages(choose)
      const wanted = expected(sent)
      for (let observer = 0; observer < 50; observer++) {
        const copies = Array.from({ length: choose.below(20) }, () => choose.of(sent))
        assert.deepStrictEqual(list(observe(choose.shuffled([...sent, ...copies]))), wanted, `SEED=${seed}`)
      }
    }
  })

  it("R8 R20 have the list of what reached them, whatever was lost", () => {
    const choose = random(seed + 1)
    let listed = 0
    for (let network = 0; network < 600; network++) {
      const sent = messages(choose)
      const received = sent.filter(() => choose.chance(0.5))
      const copies = received.filter(() => choose.chance(0.3))
      const wanted = expected(received)
      assert.deepStrictEqual(list(observe(choose.shuffled([...received, ...copies]))), wanted, `SEED=${seed}`)
      listed += wanted.length
    }
    assert.isAbove(listed, 500)
  })

  it.effect(
    "R8 R20 F01 agree in the time of a clock too: six hundred interleavings with losses and copies",
    () =>
      Effect.gen(function* () {
        const choose = random(seed + 3)
        for (let network = 0; network < 500; network++) {
          const received = messages(choose).filter(() => choose.chance(0.7))
          const wanted = expected(received)
          for (let observer = 0; observer < 4; observer++) {
            yield* TestClock.setTime(startMillis)
            const copies = received.filter(() => choose.chance(0.3))
            const got = yield* observeInTime(choose.shuffled([...received, ...copies]), choose)
            assert.deepStrictEqual(got, wanted, `SEED=${seed}`)
          }
        }
      }),
    60_000
  )

  it("R7 believe nothing more when every message comes again", () => {
    const choose = random(seed + 2)
    for (let network = 0; network < 200; network++) {
      const sent = choose.shuffled(messages(choose))
      const once = observe(sent)
      assert.deepStrictEqual(observe([...sent, ...choose.shuffled(sent), ...sent]), once, `SEED=${seed}`)
    }
  })
})
