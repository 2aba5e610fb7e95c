import { assert, describe, it } from "@effect/vitest"
import * as Search from "../../src/gossip/GossipLibp2pSearch.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

const known = Array.from({ length: 40 }, (_, n) => peerIdOf(n))
const begun = Search.begin(0, 0)

describe("whom a server that is alone tries", () => {
  it("R15 leaves the first two seconds to its bootstrap peers", () => {
    assert.deepStrictEqual(Search.next(begun, known, 0, 1_999, 0), [[], begun])
    assert.deepStrictEqual(Search.next(begun, known, 0, 2_000, 0)[0], known.slice(0, 16))
  })

  it("R15 R19 tries each once a round, those heard of last first, at most 16 at a time", () => {
    let search = begun
    const tried: Array<ReadonlyArray<unknown>> = []
    for (const underway of [0, 16, 10, 20, 0, 2, 0]) {
      const [due, after] = Search.next(search, known, underway, 2_000, 0)
      tried.push(due)
      search = after
    }
    assert.deepStrictEqual(tried, [
      known.slice(0, 16),
      [],
      known.slice(16, 22),
      [],
      known.slice(22, 38),
      known.slice(38),
      []
    ])
    assert.strictEqual(search.rounds, 1)
  })

  it("R15 goes round again, up to a minute apart, sooner at random, and for ever", () => {
    const distances = (random: number) => {
      let search = Search.begin(0, random)
      const at: Array<number> = []
      for (let round = 0; round < 8; round++) {
        const nowMillis = search.dueMillis
        const [due, after] = Search.next(search, known.slice(0, 1), 0, nowMillis, random)
        assert.deepStrictEqual(due, known.slice(0, 1))
        at.push(after.dueMillis - nowMillis)
        search = after
      }
      return at
    }
    assert.deepStrictEqual(distances(0), [4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000])
    assert.deepStrictEqual(distances(1), [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000])
  })

  it("R15 waits no longer for having known nobody", () => {
    assert.deepStrictEqual(Search.next(begun, [], 0, 100_000, 0), [[], begun])
  })
})
