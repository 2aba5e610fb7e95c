import { assert, describe, it } from "@effect/vitest"
import * as Occasions from "../../src/directory/Occasions.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

const peers = Array.from({ length: 100 }, (_, index) => peerIdOf(index))
const [a, b, c, d] = peers.map((peer) => peer) as [
  (typeof peers)[0],
  (typeof peers)[0],
  (typeof peers)[0],
  (typeof peers)[0]
]
const never = { afterMillis: Number.POSITIVE_INFINITY }

const next = (occasions: Occasions.Occasions, nowMillis: number, present = peers) =>
  Occasions.next(occasions, present, 0.5, nowMillis)

/** Asks and is answered, or not, at that moment. */
const exchange = (occasions: Occasions.Occasions, peer: (typeof peers)[0], isAnswered: boolean, nowMillis: number) =>
  Occasions.settle(Occasions.ask(occasions, peer, nowMillis), isAnswered, nowMillis)

describe("a server that looks for whom to ask", () => {
  it("R12 waits while nobody has appeared", () => {
    assert.deepStrictEqual(next(Occasions.none, 0), never)
  })

  it("R12 asks up to three that appeared, the newest first, then waits until a minute has passed", () => {
    let occasions = Occasions.appear(Occasions.none, [a, b, c, d], true)
    for (const peer of [d, c, b]) {
      assert.deepStrictEqual(next(occasions, 1_000), { ask: peer })
      occasions = exchange(occasions, peer, true, 1_000)
    }
    assert.deepStrictEqual(next(occasions, 1_000), { afterMillis: 60_000 })
    assert.deepStrictEqual(next(occasions, 60_999), { afterMillis: 1 })
    assert.deepStrictEqual(next(occasions, 61_000), { ask: a })
    assert.deepStrictEqual(next(exchange(occasions, a, true, 61_000), 61_000), never)
  })

  it("R12 does not wait for an answer that does not come, and does not ask the same peer for it twice", () => {
    const occasions = Occasions.ask(Occasions.appear(Occasions.none, [a, b], true), b, 0)
    assert.deepStrictEqual(next(occasions, 1_000), { ask: a })
    assert.deepStrictEqual(next(Occasions.ask(occasions, a, 1_000), 1_000), never)
  })

  it("R12 asks nobody who has left meanwhile", () => {
    const occasions = Occasions.appear(Occasions.none, [a, b], true)
    assert.deepStrictEqual(next(occasions, 0, [a, c]), { ask: a })
    assert.deepStrictEqual(next(occasions, 0, [c]), never)
  })

  it("R12 counts an answer, not a question: neighbours without the protocol do not stand in the way of those with it", () => {
    let occasions = Occasions.appear(Occasions.none, peers.slice(0, 6), true)
    for (const peer of peers.slice(1, 6).reverse()) {
      assert.deepStrictEqual(next(occasions, 0), { ask: peer })
      occasions = exchange(occasions, peer, false, 0)
    }
    assert.deepStrictEqual(next(occasions, 0), { ask: a })
  })

  it("R12 tries anyone again, at growing pauses up to a minute, until somebody has answered", () => {
    let occasions = exchange(Occasions.appear(Occasions.none, [a], true), a, false, 0)
    let nowMillis = 0
    for (const pauseMillis of [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
      assert.deepStrictEqual(next(occasions, nowMillis), { afterMillis: pauseMillis })
      nowMillis += pauseMillis
      assert.deepStrictEqual(next(occasions, nowMillis), { ask: peerIdOf(50) })
      occasions = exchange(occasions, peerIdOf(50), false, nowMillis)
    }
    assert.deepStrictEqual(next(exchange(occasions, peerIdOf(50), true, nowMillis), nowMillis), never)
  })

  it("R12 that was alone asks at once, however lately it was told", () => {
    let occasions = Occasions.appear(Occasions.none, [a, b, c], true)
    for (const peer of [c, b, a]) occasions = exchange(occasions, peer, true, 0)
    assert.deepStrictEqual(next(Occasions.appear(occasions, [d], false), 5_000), { afterMillis: 55_000 })
    assert.deepStrictEqual(next(Occasions.appear(occasions, [d], true), 5_000), { ask: d })
  })

  it("R12 asks 12 times a minute at most, whatever its links do", () => {
    let occasions = Occasions.none
    for (let flap = 0; flap < 12; flap++) {
      occasions = Occasions.appear(occasions, [a], true)
      assert.deepStrictEqual(next(occasions, flap * 300), { ask: a })
      occasions = exchange(occasions, a, true, flap * 300)
    }
    occasions = Occasions.appear(occasions, [a], true)
    assert.deepStrictEqual(next(occasions, 3_600), { afterMillis: 56_400 })
    assert.deepStrictEqual(next(occasions, 60_000), { ask: a })
  })

  it("R12 remembers a bounded number of peers: 64 while it knows nothing, the newest three then", () => {
    const occasions = Occasions.appear(Occasions.none, peers, true)
    assert.deepStrictEqual(occasions.appeared, peers.slice(-64))
    assert.deepStrictEqual(exchange(occasions, a, true, 0).appeared, peers.slice(-3))
  })
})
