import { assert, describe, it } from "@effect/vitest"
import * as OwnClock from "../../src/registry/OwnClock.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { alice, hour, minute, second } from "./Sample.ts"

const sure = { isDoubtful: false }

const heard = (skews: ReadonlyArray<number>, steadyMillis = 0) => {
  const samples = OwnClock.empty()
  for (const [index, skewMillis] of skews.entries()) {
    OwnClock.hear(samples, peerIdOf(index), { timestamp: 1n, skewMillis, steadyMillis, ...sure })
  }
  return samples
}
const verdict = (skews: ReadonlyArray<number>) => OwnClock.verdict(heard(skews), 0)

describe("this server's own clock", () => {
  it("R10 is not known while nobody was heard, and agrees within 30 seconds", () => {
    assert.deepStrictEqual(verdict([]), { state: "unknown", byMillis: 0, disagreeing: 0, heard: 0 })
    assert.deepStrictEqual(verdict([30_000, -30_000, 0]), { state: "agrees", byMillis: 0, disagreeing: 0, heard: 3 })
  })

  it("R10 B03 is off by the median when more than half say so, in the same direction", () => {
    const fast = { state: "ahead", byMillis: 10 * minute, disagreeing: 3, heard: 3 }
    assert.deepStrictEqual(verdict([-10 * minute, -10 * minute - 5, -9 * minute]), { ...fast, byMillis: 10 * minute })
    assert.deepStrictEqual(verdict([40 * second, 50 * second, 60 * second, 0, 0]), {
      state: "behind",
      byMillis: 50 * second,
      disagreeing: 3,
      heard: 5
    })
    assert.strictEqual(verdict([-minute, -minute, 0, 0]).state, "agrees")
    assert.strictEqual(verdict([-minute, minute, minute, -minute]).state, "agrees")
    assert.strictEqual(verdict([-30_001]).state, "ahead")
    assert.strictEqual(verdict([30_001]).state, "behind")
  })

  it("R10 is judged by the servers heard within the last hour", () => {
    const samples = heard([-minute, -minute], 0)
    OwnClock.hear(samples, alice, { timestamp: 1n, skewMillis: 0, steadyMillis: hour, ...sure })
    assert.deepStrictEqual(OwnClock.verdict(samples, hour).state, "ahead")
    assert.deepStrictEqual(OwnClock.verdict(samples, hour + 1), {
      state: "agrees",
      byMillis: 0,
      disagreeing: 0,
      heard: 1
    })
  })

  it("R10 is not talked out of its time by replays: only a signer's newest message speaks", () => {
    const samples = OwnClock.empty()
    OwnClock.hear(samples, alice, { timestamp: 5n, skewMillis: 0, steadyMillis: 0, ...sure })
    OwnClock.hear(samples, alice, { timestamp: 5n, skewMillis: -hour, steadyMillis: hour, ...sure })
    OwnClock.hear(samples, alice, { timestamp: 4n, skewMillis: -hour, steadyMillis: hour, ...sure })
    assert.strictEqual(OwnClock.verdict(samples, hour).state, "agrees")
    OwnClock.hear(samples, alice, { timestamp: 6n, skewMillis: -hour, steadyMillis: hour, ...sure })
    assert.strictEqual(OwnClock.verdict(samples, hour).state, "ahead")
  })

  it("R7 R10 is not told by words too old to count, unless a second message says that their signer's clock goes on", () => {
    const doubtful = (timestamp: bigint, skewMillis: number, steadyMillis: number) =>
      OwnClock.hear(samples, alice, { timestamp, skewMillis, steadyMillis, isDoubtful: true })
    const samples = OwnClock.empty()
    assert.isFalse(doubtful(1n, -3 * hour, 0))
    assert.strictEqual(OwnClock.verdict(samples, 0).state, "unknown")
    // Played again in their order, but not at their pace; then in no time.
    assert.isFalse(doubtful(2n, -3 * hour - 5_001, 20 * second))
    assert.isFalse(doubtful(3n, -3 * hour - 5_001, 40 * second - 1))
    assert.isTrue(doubtful(4n, -3 * hour - 1, 60 * second))
    // At once after that, as a heartbeat beside an announcement.
    assert.isTrue(doubtful(5n, -3 * hour - 2, 60 * second))
    assert.deepStrictEqual(OwnClock.verdict(samples, 60 * second), {
      state: "ahead",
      byMillis: 3 * hour + 2,
      disagreeing: 1,
      heard: 1
    })
  })

  it("R19 is compared with the 1 024 servers heard last", () => {
    const samples = heard(Array.from({ length: 2_000 }, (_, index) => (index < 1_000 ? -minute : 0)))
    assert.strictEqual(samples.size, 1_024)
    assert.strictEqual(OwnClock.verdict(samples, 0).state, "agrees")
  })
})
