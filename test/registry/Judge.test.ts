import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import type { Known } from "../../src/registry/Known.ts"
import { isAvailable, verdictInForce } from "../../src/registry/Query.ts"
import type { Decide, Remembered } from "../../src/registry/Registry.ts"
import {
  alice,
  announcement,
  at,
  bob,
  hearAnnouncement,
  hearHeartbeat,
  heartbeat,
  hour,
  known,
  minute,
  noBytes,
  second,
  self,
  startMillis,
  wall
} from "./Sample.ts"

const refused = (decide: Decide, entry?: Known, remembered?: Remembered) => {
  const { reason, verdict, detail } = Result.getOrThrow(Result.flip(decide(entry, remembered)))
  return [reason, verdict, detail]
}
const repeated = ["repeated", "ignore", "timestamp: not newer than the last"]
const moment = (millis: number) => ({ wallMillis: startMillis + millis, steadyMillis: at(millis).steadyMillis })

describe("a message that names another server than its signer", () => {
  it("S8 R1 A01 is rejected, and what is known stays as it was", () => {
    const forged = ["forged", "reject", `server_id names ${alice}, signed by ${bob}`]
    assert.deepStrictEqual(refused(hearAnnouncement({}, { signer: bob })), forged)
    assert.deepStrictEqual(refused(hearHeartbeat({}, { signer: bob })), forged)
    assert.deepStrictEqual(
      refused(hearHeartbeat({ timestamp: wall(9) }, { signer: bob }), known(hearAnnouncement({}))),
      forged
    )
  })

  it("S8 is rejected when it names this server, or is signed by it", () => {
    assert.deepStrictEqual(
      [
        refused(hearAnnouncement({ serverId: self }, { signer: bob }))[0],
        refused(hearAnnouncement({}, { signer: self }))[0]
      ],
      ["forged", "forged"]
    )
  })
})

describe("this server's own words", () => {
  it("R20 are ignored: it does not list itself", () => {
    const own = ["own", "ignore", "this server's own words"]
    assert.deepStrictEqual(refused(hearAnnouncement({ serverId: self })), own)
    assert.deepStrictEqual(refused(hearHeartbeat({ serverId: self }, { origin: { kind: "handed-on" } })), own)
  })
})

describe("a timestamp", () => {
  const decide = (offsetNanos: bigint) => hearHeartbeat({ timestamp: wall(0) + offsetNanos }, { now: at(0) })

  it("R7 is refused when it is more than 2 minutes ahead, to the nanosecond", () => {
    assert.isTrue(Result.isSuccess(decide(120_000_000_000n)(undefined, undefined)))
    assert.deepStrictEqual(refused(decide(120_000_000_001n)), [
      "too-far-ahead",
      "ignore",
      "timestamp: 120 s ahead of this server"
    ])
  })

  it("R7 is refused when it is 2 hours or more behind, to the nanosecond", () => {
    assert.isTrue(Result.isSuccess(decide(-7_199_999_999_999n)(undefined, undefined)))
    assert.deepStrictEqual(refused(decide(-7_200_000_000_000n)), [
      "too-old",
      "ignore",
      "timestamp: 7200 s behind this server"
    ])
  })

  it("A02 of the year 2200 is refused, and locks nobody out", () => {
    const farAhead = hearAnnouncement({ timestamp: 7_258_118_400_000_000_000n }, { now: at(0) })
    assert.deepStrictEqual(refused(farAhead).slice(0, 2), ["too-far-ahead", "ignore"])
    assert.isTrue(isAvailable(known(hearAnnouncement({}, { now: at(0) })), at(0)))
  })

  it("J05 that is missing is too old to count", () => {
    assert.deepStrictEqual(
      refused(hearAnnouncement({ timestamp: -62_135_596_800_000_000_000n }, { now: at(0) })).slice(0, 2),
      ["too-old", "ignore"]
    )
  })

  it("R7 counts once, and only when it is newer, by a nanosecond", () => {
    const entry = known(hearHeartbeat({ timestamp: wall(0) }), hearAnnouncement({ timestamp: wall(0) }))
    for (const older of [0n, -1n, -1_000_000_000n]) {
      assert.deepStrictEqual(refused(hearHeartbeat({ timestamp: wall(0) + older }, { now: at(5) }), entry), repeated)
      assert.deepStrictEqual(refused(hearAnnouncement({ timestamp: wall(0) + older }, { now: at(5) }), entry), repeated)
    }
    assert.isTrue(Result.isSuccess(hearHeartbeat({ timestamp: wall(0) + 1n }, { now: at(5) })(entry, undefined)))
    assert.isTrue(Result.isSuccess(hearAnnouncement({ timestamp: wall(0) + 1n }, { now: at(5) })(entry, undefined)))
  })

  it("R7 is compared for each topic apart", () => {
    const entry = known(hearHeartbeat({ timestamp: wall(10 * second) }))
    const late = hearAnnouncement({ timestamp: wall(5 * second) }, { now: at(11 * second) })
    assert.isTrue(Result.isSuccess(late(entry, undefined)))
  })

  it("R7 is remembered when the entry is gone, also beside a new entry", () => {
    const remembered = { announcementTimestamp: wall(0), heartbeatTimestamp: wall(60) }
    const gone = ["repeated", "ignore", "timestamp: not newer than the last of an entry that is gone"]
    const entry = known(hearHeartbeat({ timestamp: wall(61) }))
    assert.deepStrictEqual(
      [
        refused(hearAnnouncement({ timestamp: wall(0) }), undefined, remembered),
        refused(hearHeartbeat({ timestamp: wall(60), healthy: false }), undefined, remembered),
        refused(hearAnnouncement({ timestamp: wall(0) }), entry, remembered)
      ],
      [gone, gone, gone]
    )
    assert.isTrue(Result.isSuccess(hearAnnouncement({ timestamp: wall(1) })(entry, remembered)))
    assert.isTrue(Result.isSuccess(hearHeartbeat({ timestamp: wall(61) })(undefined, remembered)))
  })

  it("R7 B11 of a clock that ran 2 minutes ahead keeps its owner out for no more than those", () => {
    const ahead = known(hearHeartbeat({ timestamp: wall(2 * minute) }, { now: at(0) }))
    const corrected = (millis: number) =>
      hearHeartbeat({ timestamp: wall(millis) }, { now: at(millis) })(ahead, undefined)
    assert.isTrue(Result.isFailure(corrected(2 * minute)))
    assert.isTrue(Result.isSuccess(corrected(2 * minute + 1)))
  })
})

describe("an entry", () => {
  it("S13 holds what was said and when it was heard", () => {
    const signed = Uint8Array.of(1, 2, 3)
    const first = known(hearAnnouncement({ healthy: false }, { now: at(250), signed: () => signed }))
    assert.deepStrictEqual(first, {
      serverId: alice,
      announcement: { message: announcement({ healthy: false }), signed },
      heartbeat: undefined,
      firstHeard: moment(250),
      lastHeard: moment(250),
      skewMillis: -250,
      verdictSince: moment(250),
      verdictChanges: 0,
      saidGoodbye: false,
      beatMillis: undefined,
      restored: false,
      recent: [{ wallMillis: startMillis + 250, healthy: false }]
    })
    assert.deepStrictEqual(
      known(() => Result.succeed(first), hearHeartbeat({ timestamp: wall(minute) }, { now: at(minute) })),
      {
        ...first,
        heartbeat: { message: heartbeat({ timestamp: wall(minute) }), signed: noBytes },
        lastHeard: moment(minute),
        skewMillis: 0,
        verdictSince: moment(minute),
        verdictChanges: 1,
        beatMillis: minute - 250,
        recent: [
          { wallMillis: startMillis + 250, healthy: false },
          { wallMillis: startMillis + minute, healthy: true }
        ]
      }
    )
  })

  it("R13 is of a server that was stopped in order, from its goodbye to its next word", () => {
    const from = (...more: ReadonlyArray<Decide>) => known(hearAnnouncement({ uptimeScore: 0.5 }), ...more).saidGoodbye
    const beat = (millis: number, said: Partial<Heartbeat>) =>
      hearHeartbeat({ uptimeScore: 0.5, timestamp: wall(millis), ...said }, { now: at(millis) })
    const goodbye = beat(minute, { healthy: false })
    assert.isTrue(from(goodbye))
    assert.isFalse(from(beat(minute, {})))
    // A check that fails costs some of the score.
    assert.isFalse(from(beat(minute, { healthy: false, uptimeScore: 0.49 })))
    assert.isFalse(from(goodbye, beat(2 * minute, {})))
    assert.isFalse(from(goodbye, beat(2 * minute, { healthy: false })))
    assert.isFalse(
      from(beat(minute, { healthy: false, uptimeScore: 0.49 }), beat(2 * minute, { healthy: false, uptimeScore: 0.49 }))
    )
    // An announcement that was made before it, and is heard after it, takes nothing back, and may be what it turned from.
    const earlier = (said: Partial<Announcement>) =>
      hearAnnouncement({ uptimeScore: 0.5, timestamp: wall(1), ...said }, { now: at(minute) })
    assert.isTrue(from(goodbye, earlier({ healthy: false })))
    assert.isTrue(known(goodbye, earlier({})).saidGoodbye)
    assert.isFalse(known(goodbye).saidGoodbye)
  })

  it("S16 R2 begins with a heartbeat, and is not listed before its server announces", () => {
    const heard = known(hearHeartbeat({ timestamp: wall(1) }))
    assert.isFalse(isAvailable(heard, at(1)))
    assert.isTrue(
      isAvailable(
        known(() => Result.succeed(heard), hearAnnouncement({ timestamp: wall(2) })),
        at(2)
      )
    )
  })

  it("S16 counts a heartbeat from before the announcement once there is one", () => {
    const entry = known(
      hearHeartbeat({ timestamp: wall(10), healthy: false, uptimeScore: 0.5 }),
      hearAnnouncement({ timestamp: wall(5) }, { now: at(20) })
    )
    assert.isFalse(isAvailable(entry, at(20)))
    assert.deepStrictEqual(verdictInForce(entry), heartbeat({ timestamp: wall(10), healthy: false, uptimeScore: 0.5 }))
  })

  it("S14 A04 stays unhealthy whatever older word arrives", () => {
    const unhealthy = known(
      hearAnnouncement({ timestamp: wall(0) }),
      hearHeartbeat({ timestamp: wall(1 * second) }),
      hearHeartbeat({ timestamp: wall(2 * second), healthy: false, uptimeScore: 0.5 })
    )
    assert.isFalse(isAvailable(unhealthy, at(3 * second)))
    assert.deepStrictEqual(
      refused(hearHeartbeat({ timestamp: wall(1 * second) }, { now: at(3 * second) }), unhealthy),
      repeated
    )
    assert.deepStrictEqual(
      refused(hearAnnouncement({ timestamp: wall(0) }, { now: at(3 * second) }), unhealthy),
      repeated
    )
    const described = known(
      () => Result.succeed(unhealthy),
      hearAnnouncement({ timestamp: wall(1 * second), region: "us", uptimeScore: 1 }, { now: at(3 * second) })
    )
    // The description is newer; verdict, score and last heard are those of the heartbeat.
    assert.deepStrictEqual(described, {
      ...unhealthy,
      announcement: { message: announcement({ timestamp: wall(1 * second), region: "us" }), signed: noBytes }
    })
    assert.strictEqual(verdictInForce(described).uptimeScore, 0.5)
    const healthyAgain = known(() => Result.succeed(described), hearHeartbeat({ timestamp: wall(4 * second) }))
    assert.isTrue(isAvailable(healthyAgain, at(4 * second)))
  })

  it("F01 R8 takes the newest verdict, in whatever order they arrive; on equal timestamps unhealthy", () => {
    const down = hearHeartbeat({ timestamp: wall(10), healthy: false }, { now: at(20) })
    const up = hearHeartbeat({ timestamp: wall(5) }, { now: at(20) })
    const said = hearAnnouncement({ timestamp: wall(7) }, { now: at(20) })
    const upAtOnce = hearHeartbeat({ timestamp: wall(10) }, { now: at(20) })
    assert.isFalse(verdictInForce(known(down, said)).healthy)
    assert.isFalse(verdictInForce(known(up, down, said)).healthy)
    assert.isFalse(verdictInForce(known(said, up, down)).healthy)
    assert.isFalse(verdictInForce(known(said, upAtOnce, down)).healthy)
    assert.deepStrictEqual(refused(upAtOnce, known(down)), repeated)
    assert.deepStrictEqual(refused(down, known(down)), repeated)
  })

  it("R8 takes unhealthy, then the lower score, where announcement and heartbeat are equally old", () => {
    const tie = (said: { healthy: boolean; uptimeScore: number }, beat: { healthy: boolean; uptimeScore: number }) => {
      const orders = [
        known(hearAnnouncement(said), hearHeartbeat(beat)),
        known(hearHeartbeat(beat), hearAnnouncement(said))
      ]
      return orders.map(verdictInForce).map(({ healthy, uptimeScore }) => ({ healthy, uptimeScore }))
    }
    const [up, down, better] = [
      { healthy: true, uptimeScore: 0.5 },
      { healthy: false, uptimeScore: 0.9 },
      { healthy: true, uptimeScore: 0.9 }
    ]
    assert.deepStrictEqual(
      [tie(up, down), tie(down, up), tie(up, better), tie(better, up)],
      [
        [down, down],
        [down, down],
        [up, up],
        [up, up]
      ]
    )
  })

  it("R6 A03 is heard later only through words that are newer than all before", () => {
    const entry = known(hearAnnouncement({ timestamp: wall(2 * second) }, { now: at(2 * second) }))
    const delayed = known(() => Result.succeed(entry), hearHeartbeat({ timestamp: wall(second) }, { now: at(hour) }))
    assert.deepStrictEqual(delayed.lastHeard, moment(2 * second))
    assert.strictEqual(delayed.skewMillis, 0)
    const fresh = known(
      () => Result.succeed(delayed),
      hearHeartbeat({ timestamp: wall(3 * second) }, { now: at(hour) })
    )
    assert.deepStrictEqual([fresh.lastHeard, fresh.skewMillis], [moment(hour), -hour + 3 * second])
  })

  it("F02 counts its changes and keeps its last 60 checks", () => {
    let entry = known(hearAnnouncement({}))
    for (let check = 1; check <= 100; check++) {
      const millis = check * 5 * minute
      const decide = hearHeartbeat({ timestamp: wall(millis), healthy: check % 2 === 0 }, { now: at(millis) })
      entry = known(() => Result.succeed(entry), decide)
    }
    assert.strictEqual(entry.verdictChanges, 100)
    assert.deepStrictEqual(entry.verdictSince, moment(500 * minute))
    assert.deepStrictEqual(
      entry.recent,
      Array.from({ length: 60 }, (_, index) => ({
        wallMillis: startMillis + (41 + index) * 5 * minute,
        healthy: index % 2 === 1
      }))
    )
  })

  it("R11 R21 knows the beat of its server through words said again and silences", () => {
    /** Heartbeats alone, at these seconds, and with an announcement before them, as at a start or to a newcomer. */
    const alone = (...seconds: ReadonlyArray<number>) =>
      seconds.map((count) => hearHeartbeat({ timestamp: wall(count * second) }, { now: at(count * second) }))
    const together = (...seconds: ReadonlyArray<number>) =>
      seconds.flatMap((count) => [
        hearAnnouncement({ timestamp: wall(count * second) }, { now: at(count * second) }),
        hearHeartbeat({ timestamp: wall(count * second + 1) }, { now: at(count * second + 1) })
      ])
    const heardAll = (...heard: ReadonlyArray<ReturnType<typeof alone>>) => {
      const [first, ...more] = heard.flat()
      const entry = first === undefined ? undefined : known(first, ...more)
      return [entry?.beatMillis, entry?.recent.length]
    }
    assert.deepStrictEqual(heardAll(alone(0)), [undefined, 1])
    assert.deepStrictEqual(heardAll(alone(0, 0.5)), [undefined, 2])
    assert.deepStrictEqual(heardAll(alone(0, 300)), [300 * second, 2])
    assert.deepStrictEqual(heardAll(together(0, 2, 8, 14, 59)), [undefined, 1])
    assert.deepStrictEqual(heardAll(together(0, 2, 8, 14), alone(300)), [300 * second, 2])
    assert.deepStrictEqual(heardAll(together(0), alone(300, 600), together(612, 620), alone(900)), [300 * second, 4])
    assert.deepStrictEqual(heardAll(together(0), alone(300), together(600), alone(900)), [300 * second, 4])
    assert.deepStrictEqual(heardAll(alone(0, 300, 600, 7_200, 7_500, 7_800)), [300 * second, 6])
    assert.deepStrictEqual(heardAll(together(0, 840), alone(870, 900)), [30 * second, 4])
    assert.deepStrictEqual(heardAll(alone(0, 30), together(60), alone(90), together(120)), [30 * second, 5])
    assert.deepStrictEqual(heardAll(alone(0, 300, 600, 900, 1_200, 1_230, 1_260, 1_290, 1_320)), [30 * second, 9])
  })
})

describe("words that were not heard over a topic", () => {
  it("R12 are heard no later than they were said, and no later than now", () => {
    const origin = { kind: "handed-on" } as const
    const entry = known(hearAnnouncement({ timestamp: wall(0) }, { now: at(hour), origin }))
    assert.deepStrictEqual(
      [entry.firstHeard, entry.lastHeard, entry.restored, entry.skewMillis],
      [moment(0), moment(0), true, undefined]
    )
    const early = known(hearAnnouncement({ timestamp: wall(minute) }, { now: at(0), origin }))
    assert.deepStrictEqual(early.lastHeard, moment(0))
  })

  it("R12 are judged as strictly as any", () => {
    const origin = { kind: "handed-on" } as const
    assert.deepStrictEqual(refused(hearAnnouncement({}, { now: at(2 * hour), origin })).slice(0, 2), [
      "too-old",
      "ignore"
    ])
    assert.deepStrictEqual(refused(hearAnnouncement({}, { signer: bob, origin })).slice(0, 2), ["forged", "reject"])
    const entry = known(hearAnnouncement({}))
    assert.deepStrictEqual(refused(hearAnnouncement({}, { now: at(minute), origin }), entry), repeated)
  })

  it("R12 make nobody be heard later than the topic did", () => {
    const live = known(hearAnnouncement({ timestamp: wall(0) }, { now: at(minute) }))
    const origin = { kind: "handed-on" } as const
    const more = known(
      () => Result.succeed(live),
      hearHeartbeat({ timestamp: wall(second) }, { now: at(hour), origin })
    )
    assert.deepStrictEqual([more.lastHeard, more.restored, more.skewMillis], [moment(minute), false, -minute])
  })

  it("R14 B05 are restored as heard when they were heard, and live again with the first live word", () => {
    const heardWallMillis = startMillis + 10 * minute
    const origin = { kind: "restored", heardWallMillis, firstHeardWallMillis: startMillis - 48 * hour } as const
    const entry = known(hearAnnouncement({ timestamp: wall(9 * minute) }, { now: at(hour), origin }))
    assert.deepStrictEqual(
      [entry.firstHeard, entry.lastHeard, entry.restored],
      [moment(-48 * hour), moment(10 * minute), true]
    )
    const live = known(() => Result.succeed(entry), hearHeartbeat({ timestamp: wall(hour) }, { now: at(hour) }))
    assert.deepStrictEqual([live.firstHeard, live.lastHeard, live.restored], [moment(-48 * hour), moment(hour), false])
  })

  it("R9 R14 keep a description for 24 hours after its server was heard, and no longer", () => {
    const restored = (millis: number) =>
      hearAnnouncement(
        { timestamp: wall(0) },
        {
          now: at(millis),
          origin: { kind: "restored", heardWallMillis: startMillis, firstHeardWallMillis: startMillis }
        }
      )
    assert.isTrue(Result.isSuccess(restored(24 * hour)(undefined, undefined)))
    assert.isFalse(isAvailable(known(restored(24 * hour)), at(24 * hour)))
    assert.deepStrictEqual(refused(restored(24 * hour + 1)).slice(0, 2), ["too-old", "ignore"])
  })

  it("R14 are not heard in the future where the wall clock was set back meanwhile", () => {
    const ahead = startMillis + 90 * second
    const origin = { kind: "restored", heardWallMillis: ahead, firstHeardWallMillis: ahead } as const
    const entry = known(hearAnnouncement({ timestamp: wall(90 * second) }, { now: at(0), origin }))
    assert.deepStrictEqual([entry.firstHeard, entry.lastHeard], [moment(0), moment(0)])
  })
})
