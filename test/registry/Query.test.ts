import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import type { Known } from "../../src/registry/Known.ts"
import * as Query from "../../src/registry/Query.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import {
  alice,
  at,
  bob,
  carol,
  dave,
  hearAnnouncement,
  hearHeartbeat,
  hour,
  known,
  minute,
  second,
  server,
  startMillis,
  wall
} from "./Sample.ts"

const ids = (entries: ReadonlyArray<Known>) => entries.map((entry) => entry.serverId)

describe("a server that was heard", () => {
  it("S15 R6 is listed at exactly two hours, and not a moment later", () => {
    const entry = server(alice)
    assert.isTrue(Query.isAvailable(entry, at(2 * hour)))
    assert.isFalse(Query.isAvailable(entry, at(2 * hour + 0.001)))
  })

  it("R6 ages on the steady clock, whatever becomes of the wall clock", () => {
    const entry = server(alice)
    const jumped = { wallNanos: wall(300 * hour), steadyMillis: at(hour).steadyMillis }
    const setBack = { wallNanos: wall(-300 * hour), steadyMillis: at(hour).steadyMillis }
    assert.isTrue(Query.isAvailable(entry, jumped))
    assert.isTrue(Query.isAvailable(entry, setBack))
    assert.isFalse(Query.isAvailable(entry, { ...setBack, steadyMillis: at(2 * hour + 1).steadyMillis }))
  })

  it("S14 is listed by its last reported check", () => {
    assert.isFalse(Query.isAvailable(server(alice, { healthy: false }), at(0)))
    assert.isTrue(Query.isAvailable(server(alice, { uptimeScore: 0 }), at(0)))
  })

  it("R21 counts the heartbeats that are overdue by its own beat", () => {
    const entry = known(
      hearHeartbeat({ timestamp: wall(0) }),
      hearHeartbeat({ timestamp: wall(5 * minute) }, { now: at(5 * minute) })
    )
    const overdue = (millis: number) => Query.overdueHeartbeats(entry, at(5 * minute + millis))
    assert.deepStrictEqual(
      [0, 5 * minute, 7.4 * minute, 7.5 * minute, 12.5 * minute, 2 * hour].map(overdue),
      [0, 0, 0, 1, 2, 23]
    )
    assert.strictEqual(Query.overdueHeartbeats(server(alice), at(hour)), undefined)
    const stopped = known(
      () => Result.succeed(entry),
      hearHeartbeat({ healthy: false, timestamp: wall(6 * minute) }, { now: at(6 * minute) })
    )
    assert.strictEqual(Query.overdueHeartbeats(stopped, at(hour)), 0)
  })
})

describe("the list", () => {
  const entries = [
    server(carol, { uptimeScore: 0.5 }),
    server(dave, { healthy: false }),
    server(bob, { uptimeScore: 0.5 }),
    server(alice, { uptimeScore: 0.75 }),
    known(hearHeartbeat({ serverId: peerIdOf("beats-only") }))
  ]

  it("S17 R20 F05 has the highest score first, then the smaller peer ID, whatever order it is made from", () => {
    assert.isTrue(bob < carol)
    assert.deepStrictEqual(ids(Query.available(entries, at(minute))), [alice, bob, carol])
    assert.deepStrictEqual(ids(Query.available([...entries].reverse(), at(minute))), [alice, bob, carol])
  })

  it("F05 R20 is in one order on every node when all scores are equal", () => {
    const equals = Array.from({ length: 50 }, (_, index) => server(peerIdOf(index)))
    const inOrder = ids(equals)
    for (let turn = 0; turn < 20; turn++) {
      const shuffled = equals.map((_, index) => equals[(index * 7 + turn * 13) % 50] ?? server(alice))
      assert.deepStrictEqual(ids(Query.available(shuffled, at(0))), inOrder)
    }
  })

  it("S17 orders by the verdict in force, not by the announcement", () => {
    const fallen = known(
      hearAnnouncement({ serverId: alice, uptimeScore: 1 }),
      hearHeartbeat({ serverId: alice, uptimeScore: 0.1, timestamp: wall(second) })
    )
    assert.deepStrictEqual(ids(Query.available([fallen, server(bob, { uptimeScore: 0.5 })], at(second))), [bob, alice])
  })

  it("S17 leaves the entries it is made from as they were", () => {
    const before = ids(entries)
    Query.available(entries, at(0))
    assert.deepStrictEqual(ids(entries), before)
  })

  it("R21 is narrowed by capability, region, score, age and number", () => {
    const list = [
      server(alice, { capabilities: ["mailbox"], region: "eu", regions: [], uptimeScore: 1 }),
      server(
        bob,
        { capabilities: ["mailbox", "document-sync"], region: "us", regions: ["us", "eu"], uptimeScore: 0.9 },
        500
      ),
      server(carol, { capabilities: [], region: "us", regions: [], uptimeScore: 0.5 }, 1_000)
    ]
    const selected = (filter: Query.Filter) => ids(Query.select(list, filter, at(1_000)))
    assert.deepStrictEqual(
      [
        selected({}),
        selected({ capability: "mailbox" }),
        selected({ capability: "mail" }),
        selected({ region: "eu" }),
        selected({ region: "us" }),
        selected({ minUptime: 0.9 }),
        selected({ maxAgeMillis: 500 }),
        selected({ maxAgeMillis: 499 }),
        selected({ limit: 2 }),
        selected({ limit: 0 }),
        selected({ region: "us", minUptime: 0.6, limit: 5 }),
        selected({
          capability: undefined,
          region: undefined,
          minUptime: undefined,
          maxAgeMillis: undefined,
          limit: undefined
        })
      ],
      [
        [alice, bob, carol],
        [alice, bob],
        [],
        [alice, bob],
        [bob, carol],
        [alice, bob],
        [bob, carol],
        [carol],
        [alice, bob],
        [],
        [bob],
        [alice, bob, carol]
      ]
    )
    assert.deepStrictEqual(
      ids(Query.select(entries, { capability: "mailbox", region: "eu-west" }, at(0))),
      ids(entries.slice(0, 4))
    )
  })
})

describe("picking a server", () => {
  const picked = (entries: ReadonlyArray<Known>, key: string) =>
    Option.getOrUndefined(Option.map(Query.pick(entries, key), (entry) => entry.serverId))
  const keys = Array.from({ length: 10_000 }, (_, index) => `key-${index}`)
  const shares = (entries: ReadonlyArray<Known>) => {
    const counts = new Map<string, number>()
    for (const key of keys) {
      const id = picked(entries, key) ?? "nobody"
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    return entries.map((entry) => (counts.get(entry.serverId) ?? 0) / keys.length)
  }

  it("R20 finds nobody among nobody", () => {
    assert.deepStrictEqual(Query.pick([], "key"), Option.none())
  })

  it("R20 gives the same answer on every machine, in whatever order the servers are known", () => {
    const entries = [server(alice), server(bob), server(carol, { uptimeScore: 0.5 })]
    const answers = ["", "a", "user-17", "日本", "x".repeat(1_000)].map((key) => picked(entries, key))
    // Worked out by a program in another language, from the words of Rendezvous.
    assert.deepStrictEqual(answers, [alice, bob, bob, alice, carol])
    assert.deepStrictEqual(
      ["", "a", "user-17", "日本", "x".repeat(1_000)].map((key) => picked([...entries].reverse(), key)),
      answers
    )
  })

  it("R20 F05 shares the keys in proportion to the scores", () => {
    const fair = shares([server(alice), server(bob), server(carol), server(dave)])
    for (const share of fair) assert.approximately(share, 0.25, 0.015)
    const weighted = shares([server(alice), server(bob, { uptimeScore: 0.5 }), server(carol, { uptimeScore: 0.25 })])
    for (const [index, share] of [4 / 7, 2 / 7, 1 / 7].entries())
      assert.approximately(weighted[index] ?? 0, share, 0.015)
  })

  it("R20 never picks a score of 0, unless all are 0", () => {
    assert.deepStrictEqual(shares([server(alice, { uptimeScore: 0 }), server(bob, { uptimeScore: 0.001 })]), [0, 1])
    const equal = shares([server(alice, { uptimeScore: 0 }), server(bob, { uptimeScore: 0 })])
    for (const share of equal) assert.approximately(share, 0.5, 0.015)
  })

  it("R20 moves only the keys of the server that goes", () => {
    const entries = Array.from({ length: 10 }, (_, index) => server(peerIdOf(index)))
    const gone = peerIdOf(3)
    const rest = entries.filter((entry) => entry.serverId !== gone)
    const moved = keys.filter((key) => picked(entries, key) !== picked(rest, key))
    assert.isTrue(moved.every((key) => picked(entries, key) === gone))
    assert.approximately(moved.length / keys.length, 0.1, 0.015)
  })
})

describe("why a server is listed, or is not", () => {
  const why = (remains: Partial<Query.Remains>, millis = 0) =>
    Query.why({ entry: Option.none(), refusal: Option.none(), eviction: Option.none(), ...remains }, at(millis))
  const refusal = (millis: number) =>
    Option.some({ reason: "too-far-ahead" as const, detail: "d", count: 3, lastWallMillis: startMillis + millis })
  const evicted = (millis: number) => Option.some({ wallMillis: startMillis + millis, reason: "silent" })

  it("R21 O04 is told of each state, with since when", () => {
    const unhealthy = known(
      hearAnnouncement({}),
      hearHeartbeat({ timestamp: wall(minute), healthy: false }, { now: at(minute) })
    )
    assert.deepStrictEqual(
      [
        why({ entry: Option.some(server(alice)) }, hour),
        why({ entry: Option.some(unhealthy) }, hour),
        why({ entry: Option.some(unhealthy) }, 3 * hour),
        why({ entry: Option.some(server(alice)) }, 3 * hour),
        why({ entry: Option.some(known(hearHeartbeat({}))) }, minute),
        why({})
      ],
      [
        { state: "listed", sinceMillis: startMillis },
        { state: "unhealthy", sinceMillis: startMillis + minute },
        { state: "silent", sinceMillis: startMillis + minute + 2 * hour },
        { state: "silent", sinceMillis: startMillis + 2 * hour },
        { state: "never-announced", sinceMillis: startMillis },
        { state: "unknown" }
      ]
    )
  })

  it("R21 is that its messages are refused, where they are since it was last heard", () => {
    const record = Option.getOrThrow(refusal(hour))
    const refused = { state: "refused", refusal: record } as const
    const entry = Option.some(server(alice))
    assert.deepStrictEqual(why({ refusal: refusal(hour) }), refused)
    assert.deepStrictEqual(why({ entry, refusal: refusal(hour) }, 3 * hour), refused)
    assert.deepStrictEqual(why({ entry, refusal: refusal(-1) }, 3 * hour), {
      state: "silent",
      sinceMillis: startMillis + 2 * hour
    })
    assert.deepStrictEqual(why({ entry, refusal: refusal(hour) }, hour), { state: "listed", sinceMillis: startMillis })
    const onlyBeats = Option.some(known(hearHeartbeat({ timestamp: wall(2 * hour) }, { now: at(2 * hour) })))
    assert.deepStrictEqual(why({ entry: onlyBeats, refusal: refusal(hour) }, 2 * hour), refused)
  })

  it("R21 is that it was evicted, unless it was refused since", () => {
    assert.deepStrictEqual(why({ eviction: evicted(0) }), {
      state: "evicted",
      eviction: { wallMillis: startMillis, reason: "silent" }
    })
    assert.strictEqual(why({ eviction: evicted(0), refusal: refusal(-1) }).state, "evicted")
    assert.strictEqual(why({ eviction: evicted(0), refusal: refusal(1) }).state, "refused")
    assert.strictEqual(why({ eviction: evicted(0), entry: Option.some(server(alice)) }).state, "listed")
  })
})

describe("the verdict in force", () => {
  it("R8 of an entry with nothing in it is unhealthy", () => {
    const entry = Result.getOrThrow(hearHeartbeat({})(undefined, undefined))
    assert.isFalse(Query.verdictInForce({ ...entry, heartbeat: undefined }).healthy)
  })
})
