import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Targets from "../../src/gossip/GossipLibp2pTargets.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

const peer = peerIdOf("peer")
const bootstrap = Targets.make({ kind: "bootstrap", peer, address: "/ip4/192.0.2.1/tcp/1" }, 0)
const neighbour = Targets.make({ kind: "neighbour", peer, address: undefined }, 0)
const failing = (target: Targets.Target, times: number) =>
  Array.from({ length: times }).reduce<Targets.Target>(
    (one) => Targets.failed(one, "refused", one.dueMillis, 0),
    target
  )

describe("whom to dial", () => {
  it("R15 D05 every bootstrap address at once", () => {
    assert.isTrue(Targets.isDue(bootstrap, 0))
  })

  it("R15 waits twice as long after each failure, and never over 60 seconds", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 2_000].map((failures) => Targets.waitMillis(failures, 0)),
      [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
    )
  })

  it.prop("R15 makes a wait up to half shorter at random", [Schema.Int, Schema.Int], ([failures, thousandths]) => {
    const full = Targets.waitMillis(failures, 0)
    const random = (Math.abs(thousandths) % 1_000) / 1_000
    const wait = Targets.waitMillis(failures, random)
    return wait <= full && wait >= full / 2
  })

  it("R15 D02 D08 goes on with a bootstrap address for ever", () => {
    const old = failing(bootstrap, 1_000)
    assert.isFalse(Targets.isOver(old, old.dueMillis + 1_000 * 24 * 3_600_000))
    assert.isTrue(Targets.isDue(old, old.dueMillis))
    assert.isFalse(Targets.isDue(old, old.dueMillis - 1))
  })

  it("R15 gives a lost neighbour up after a day", () => {
    const day = 24 * 3_600_000
    assert.isFalse(Targets.isOver(neighbour, day - 1))
    assert.isTrue(Targets.isOver(neighbour, day))
  })

  it("leaves a peer of the local network to its own announcements after three tries", () => {
    const nearby = Targets.make({ kind: "nearby", peer, address: undefined }, 0, 3_000)
    assert.deepStrictEqual([Targets.isDue(nearby, 2_999), Targets.isDue(nearby, 3_000)], [false, true])
    assert.isFalse(Targets.isOver(failing(nearby, 2), 10_000))
    assert.isTrue(Targets.isOver(failing(nearby, 3), 10_000))
  })

  it("needs nobody who is connected", () => {
    const connected = Targets.seen(failing(bootstrap, 5), "connected", 100_000, 0)
    assert.isFalse(Targets.isDue(connected, 1_000_000))
    assert.strictEqual(connected.lastError, undefined)
    assert.isTrue(Targets.isOver(Targets.seen(neighbour, "connected", 100, 0), 100))
  })

  it("R15 C04 C06 makes a connection that is cut again within a second, if it was of use", () => {
    const useful = Targets.seen(Targets.seen(failing(bootstrap, 100), "connected", 0, 0), "on-topic", 1, 0)
    const cut = Targets.seen(Targets.seen(useful, "connected", 2, 0), "absent", 3, 0)
    assert.deepStrictEqual([cut.failures, cut.dueMillis, cut.sinceMillis], [1, 1_003, 3])
    const again = Targets.seen(Targets.seen(cut, "on-topic", 1_010, 0), "absent", 1_020, 0)
    assert.strictEqual(again.dueMillis, 2_020)
  })

  it("R15 waits longer and longer, up to seconds, for a peer that connects and is gone before it is on a topic", () => {
    const waits: Array<number> = []
    let target = failing(bootstrap, 1)
    for (let n = 0; n < 5; n++) {
      target = Targets.seen(Targets.seen(target, "connected", 0, 0), "absent", 0, 0)
      waits.push(target.dueMillis)
    }
    assert.deepStrictEqual(waits, [2_000, 4_000, 8_000, 8_000, 8_000])
  })

  it("D05 says of a failing address at first, then every ten minutes, and anew once it was connected for a minute", () => {
    const failed = Targets.failed(bootstrap, "refused", 0, 0)
    assert.isTrue(Targets.isWorthWarning(failed, 0))
    const warned = { ...failed, warnedMillis: 0 }
    assert.isFalse(Targets.isWorthWarning(warned, 599_999))
    assert.isTrue(Targets.isWorthWarning(warned, 600_000))
    const connected = Targets.seen(warned, "connected", 1_000, 0)
    assert.isFalse(Targets.isWorthWarning(Targets.seen(connected, "absent", 60_999, 0), 60_999))
    assert.isFalse(Targets.isWorthWarning(Targets.seen(connected, "connected", 60_999, 0), 60_999))
    assert.isTrue(Targets.isWorthWarning(Targets.seen(connected, "connected", 61_000, 0), 61_000))
    assert.isFalse(Targets.isWorthWarning(failing(neighbour, 1), 0))
  })
})
