import { assert, describe, it } from "@effect/vitest"
import { type Act, noTrouble, type Sight, type Trouble, tend } from "../../src/gossip/GossipLibp2pTroubles.ts"

const whole: Sight = { isWhole: true, connections: 1, isOursToSettle: true }
const broken: Sight = { ...whole, isWhole: false }

/** What is done at each look, one a second. */
const acts = (sights: ReadonlyArray<Sight>): ReadonlyArray<Act> => {
  let trouble: Trouble = noTrouble
  return sights.map((sight) => {
    const tended = tend(trouble, sight, 1_000)
    trouble = tended.trouble
    return tended.act
  })
}
const times = <const A>(count: number, value: A): ReadonlyArray<A> => Array.from({ length: count }, () => value)

describe("a connection that is not as it should be", () => {
  it("is left alone while all is well", () => {
    assert.deepStrictEqual(acts(times(100, whole)), times(100, "none"))
  })

  it("R15 gets its stream back at once, or is given up within seconds", () => {
    assert.deepStrictEqual(acts([whole, ...times(6, broken)]), ["none", "reopen", ...times(4, "none"), "give-up"])
  })

  it("R15 is no trouble once its stream is back, and is helped again when it goes again", () => {
    assert.deepStrictEqual(acts([whole, broken, whole, broken, whole]), ["none", "reopen", "none", "reopen", "none"])
  })

  it("has longer to get its first stream, as when many servers start", () => {
    assert.deepStrictEqual(acts(times(30, broken)), ["reopen", ...times(28, "none"), "give-up"])
    assert.strictEqual(tend(noTrouble, broken, 999).act, "none")
  })

  it("R15 is ended where it is one of two for two seconds and ours to end, and after fifteen else", () => {
    const ours = { ...whole, connections: 2 }
    assert.deepStrictEqual(acts(times(4, ours)), ["none", "settle", "none", "settle"])
    const theirs = { ...ours, isOursToSettle: false }
    assert.deepStrictEqual(acts(times(15, theirs)), [...times(14, "none"), "settle"])
    assert.deepStrictEqual(acts([ours, whole, ours]), times(3, "none"))
  })
})
