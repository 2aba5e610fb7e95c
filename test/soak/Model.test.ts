import { assert, describe, it } from "@effect/vitest"
import { advance, settled } from "./Hearsay.ts"
import { type BreachKind, expected, judge, type Sight } from "./ListJudge.ts"
import { type Event, happen } from "./Model.ts"
import { make, type State } from "./Network.ts"

const graces = { liveMillis: 10, joinMillis: 20, healMillis: 50, checkMillis: 30, keepMillis: 15 }

type Done = readonly [atMillis: number, kind: Event["kind"], server: number, other?: number | string, state?: string]

const event = ([, kind, server, other, state]: Done): Event =>
  (kind === "link"
    ? { kind, one: server, other, state }
    : kind === "database"
      ? { kind, server, state: other }
      : kind === "calm"
        ? { kind, servers: new Set([server, other]) }
        : { kind, server }) as Event

const having = (state: State, done: ReadonlyArray<Done>): State =>
  done.reduce((before, each) => happen(before, event(each), each[0]), state)

/** Three servers, up since 100, that surely list each other from 160 on. */
const three = having(make(3, graces), [
  [0, "launched", 0],
  [0, "launched", 1],
  [0, "launched", 2],
  [100, "up", 0],
  [100, "up", 1],
  [100, "up", 2]
])
const whole = advance(three, 200)

/** What one may be asked to say of another at that moment. */
const says = (state: State, atMillis: number, observer: number, subject: number) => {
  const now = advance(state, atMillis)
  return expected(now, now, observer, subject)
}

/** Peer IDs in the order of the numbers, all with the same score. */
const entry = (server: number, score = 1) => ({ server, peerId: `peer ${server}`, score, healthy: true })
const sees = (state: State, sight: Partial<Sight>): ReadonlyArray<readonly [BreachKind, number | undefined]> =>
  judge(state, state, { observer: 0, listed: [entry(1), entry(2)], healthy: true, ...sight }).map(
    ({ kind, subject }) => [kind, subject] as const
  )

describe("the model of a soak run", () => {
  it("finds nothing wrong with a whole list, or with any list before the servers had their time", () => {
    assert.deepStrictEqual(sees(whole, {}), [])
    assert.deepStrictEqual(sees(advance(three, 110), { listed: [] }), [])
  })

  it("must have a server listed once the slowest check, connection and delivery had their time, and may before", () => {
    assert.deepStrictEqual([says(three, 139, 0, 1), says(three, 140, 0, 1)], ["either", "listed"])
  })

  it("reports a list in the wrong order, by score and then by peer ID", () => {
    assert.deepStrictEqual(sees(whole, { listed: [entry(2), entry(1)] }), [["wrong order", 1]])
    assert.deepStrictEqual(sees(whole, { listed: [entry(1, 0.5), entry(2, 1)] }), [["wrong order", 2]])
    assert.deepStrictEqual(sees(whole, { listed: [entry(2, 1), entry(1, 0.5)] }), [])
  })

  it("reports a server that is listed twice, itself, a stranger, and one that is listed as unhealthy", () => {
    assert.deepStrictEqual(sees(whole, { listed: [entry(1), entry(1), entry(2)] }), [["listed twice", 1]])
    assert.deepStrictEqual(sees(whole, { listed: [entry(0), entry(1), entry(2)] }), [["lists itself", 0]])
    const stranger = { server: undefined, peerId: "peer 9", score: 1, healthy: true }
    assert.deepStrictEqual(sees(whole, { listed: [entry(1), entry(2), stranger] }), [["lists a stranger", undefined]])
    const ill = { ...entry(2), healthy: false }
    assert.deepStrictEqual(sees(whole, { listed: [entry(1), ill] }), [["lists one as unhealthy", 2]])
  })

  it("reports one that was never started and is listed", () => {
    const two = having(make(2, graces), [
      [0, "launched", 0],
      [100, "up", 0]
    ])
    assert.deepStrictEqual(sees(advance(two, 101), { listed: [entry(1)] }), [["lists one that must not be listed", 1]])
  })

  it("reports one that is missing", () => {
    assert.deepStrictEqual(sees(whole, { listed: [entry(2)] }), [["misses one that must be listed", 1]])
  })

  it("R13 must not have a server listed that has said goodbye, and may while the word is on its way", () => {
    const gone = having(three, [
      [200, "told", 1],
      [205, "ended", 1]
    ])
    assert.deepStrictEqual([says(gone, 214, 0, 1), says(gone, 215, 0, 1)], ["either", "unlisted"])
    assert.deepStrictEqual(sees(advance(gone, 215), {}), [["lists one that must not be listed", 1]])
  })

  it("R13 asks no goodbye of a server that was told to stop before it was up", () => {
    const again = having(three, [
      [200, "killed", 1],
      [210, "launched", 1],
      [220, "told", 1],
      [230, "ended", 1]
    ])
    assert.strictEqual(says(again, 9_000, 0, 1), "either")
  })

  it("S15 must have a crashed server listed, and one that stands still", () => {
    assert.strictEqual(says(having(three, [[200, "killed", 1]]), 9_000, 0, 1), "listed")
    // Its last check may have been caught in the middle of it.
    const still = having(three, [[200, "frozen", 1]])
    assert.strictEqual(says(still, 9_000, 0, 1), "either")
    assert.strictEqual(says(having(still, [[300, "thawed", 1]]), 360, 0, 1), "listed")
  })

  it("S14 must not have a server listed whose database is away, and must again when it is back", () => {
    const away = having(three, [[200, "database", 1, "away"]])
    assert.deepStrictEqual([says(away, 239, 0, 1), says(away, 240, 0, 1)], ["either", "unlisted"])
    assert.deepStrictEqual(sees(advance(away, 240), {}), [["lists one that must not be listed", 1]])
    const back = having(away, [[300, "database", 1, "there"]])
    assert.deepStrictEqual([says(back, 339, 0, 1), says(back, 340, 0, 1)], ["either", "listed"])
  })

  it("S14 reports a server that is wrong about itself", () => {
    assert.deepStrictEqual(sees(whole, { healthy: false }), [["wrong verdict on itself", 0]])
    const away = advance(having(three, [[200, "database", 0, "away"]]), 231)
    assert.deepStrictEqual(sees(away, {}), [["wrong verdict on itself", 0]])
    assert.deepStrictEqual(sees(away, { healthy: false }), [])
  })

  it("takes back nothing for a change that was over before a check", () => {
    const blink = having(three, [
      [200, "database", 1, "away"],
      [210, "database", 1, "there"]
    ])
    assert.deepStrictEqual([says(blink, 230, 0, 1), says(blink, 250, 0, 1)], ["either", "listed"])
  })

  it("R15 asks nothing new of who is cut off, keeps what was, and asks all again once it has healed", () => {
    const parted = having(three, [
      [200, "link", 0, 1, "cut"],
      [200, "link", 0, 2, "cut"],
      [210, "told", 1],
      [215, "ended", 1]
    ])
    assert.deepStrictEqual([says(parted, 900, 0, 1), says(parted, 900, 2, 1)], ["listed", "unlisted"])
    const healed = having(parted, [[1_000, "link", 2, 0, "open"]])
    assert.deepStrictEqual(
      [says(healed, 1_001, 0, 1), says(healed, 1_059, 0, 1), says(healed, 1_060, 0, 1)],
      ["either", "either", "unlisted"]
    )
  })

  it("knows a way to be in use as soon as a calm has shown it, until anything happens to it or to its ends", () => {
    const mended = having(three, [
      [200, "link", 0, 1, "cut"],
      [200, "link", 0, 2, "cut"],
      [210, "link", 0, 1, "open"]
    ])
    const lost = (before: State) => having(before, [[225, "database", 1, "away"]])
    const met = having(mended, [[220, "calm", 0, 1]])
    assert.deepStrictEqual([says(lost(mended), 265, 0, 1), says(lost(met), 265, 0, 1)], ["either", "unlisted"])
    const troubles: ReadonlyArray<ReadonlyArray<Done>> = [
      [
        [221, "link", 1, 0, "cut"],
        [222, "link", 1, 0, "open"]
      ],
      [
        [221, "frozen", 0],
        [222, "thawed", 0]
      ]
    ]
    for (const trouble of troubles) assert.strictEqual(says(lost(having(met, trouble)), 265, 0, 1), "either")
  })

  it("knows what was said and heard as soon as a calm has shown it", () => {
    const young = having(make(2, graces), [
      [0, "launched", 0],
      [0, "launched", 1],
      [100, "up", 0],
      [100, "up", 1]
    ])
    const crashed = (before: State) => having(before, [[103, "killed", 1]])
    const calm = having(young, [[102, "calm", 0, 1]])
    assert.deepStrictEqual([says(crashed(young), 104, 0, 1), says(crashed(calm), 104, 0, 1)], ["either", "listed"])
  })

  it("takes a silent way for one that words may come over, and do not surely", () => {
    const silent = having(three, [
      [200, "link", 0, 1, "silent"],
      [200, "link", 0, 2, "silent"],
      [210, "told", 1]
    ])
    assert.strictEqual(says(silent, 900, 0, 1), "either")
  })

  it("S19 lets words pass over others, not over one that stands still or has just come", () => {
    const line = having(three, [[200, "link", 0, 1, "cut"]])
    const lost = (state: State) => having(state, [[300, "database", 1, "away"]])
    assert.strictEqual(says(lost(line), 340, 0, 1), "unlisted")
    assert.strictEqual(says(lost(having(line, [[290, "frozen", 2]])), 9_000, 0, 1), "either")
    const anew = lost(
      having(line, [
        [250, "killed", 2],
        [251, "launched", 2],
        [299, "up", 2]
      ])
    )
    assert.deepStrictEqual([says(anew, 328, 0, 1), says(anew, 340, 0, 1)], ["either", "unlisted"])
  })

  it("R14 must have a server list whom it has kept, when it has crashed and is alone, and may not what is too new", () => {
    const alone: ReadonlyArray<Done> = [
      [300, "killed", 1],
      [300, "killed", 2],
      [301, "killed", 0],
      [302, "launched", 0],
      [350, "up", 0]
    ]
    assert.strictEqual(says(having(whole, alone), 370, 0, 1), "listed")
    const away = having(whole, [[290, "database", 0, "away"], ...alone])
    assert.strictEqual(says(away, 9_000, 0, 1), "either")
    const tooNew = having(three, [
      [141, "killed", 1],
      [142, "killed", 2],
      [143, "killed", 0],
      [144, "launched", 0],
      [160, "up", 0]
    ])
    assert.strictEqual(says(tooNew, 9_000, 0, 1), "either")
  })

  it("R12 must have a newcomer list one that has crashed before, when all its neighbours know it", () => {
    const newcomer = having(three, [
      [200, "killed", 2],
      [250, "killed", 1],
      [300, "launched", 2],
      [350, "up", 2]
    ])
    assert.strictEqual(says(newcomer, 380, 2, 1), "listed")
  })

  it("judges an answer by what was sure when it was asked for and by what was possible when it came", () => {
    const told = having(whole, [[201, "told", 1]])
    const sight = { observer: 0, listed: [entry(2)], healthy: true }
    assert.deepStrictEqual(judge(whole, told, sight), [])
    assert.strictEqual(judge(whole, whole, sight).length, 1)
  })

  it("knows how it ends if nothing more happens", () => {
    const end = settled(
      having(three, [
        [101, "told", 1],
        [102, "ended", 1]
      ])
    )
    assert.deepStrictEqual([expected(end, end, 0, 1), expected(end, end, 0, 2)], ["either", "listed"])
  })
})
