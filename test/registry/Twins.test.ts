import { assert, describe, it } from "@effect/vitest"
import { contradiction } from "../../src/registry/Twins.ts"
import { at, hearAnnouncement, hearHeartbeat, known, minute, wall } from "./Sample.ts"

const says = (minutes: number, uptimeScore: number, healthy = true) =>
  hearHeartbeat({ timestamp: wall(minutes * minute), uptimeScore, healthy }, { now: at(minutes * minute) })

/** A server with a beat of five minutes that said so much last, and what it says then. */
const follows = (...[minutes, uptimeScore, healthy]: Parameters<typeof says>) => {
  const before = known(hearAnnouncement({}), says(5, 0.8), says(10, 0.8))
  const decide = says(minutes, uptimeScore, healthy)
  return contradiction(
    before,
    known(
      () => decide(undefined, undefined),
      () => decide(before, undefined)
    )
  )
}

describe("the words of a server that contradict those before", () => {
  it("H03 R18 are scores that one check cannot move so far", () => {
    assert.deepStrictEqual(
      [follows(15, 0.8), follows(15, 0.9), follows(15, 0.79), follows(15, 0.91), follows(15, 0.4, false)],
      [undefined, undefined, "score", "score", undefined]
    )
    assert.deepStrictEqual([follows(15, 0.39, false), follows(15, 0.81, false)], ["score", "score"])
  })

  it("H03 are not scores that moved while heartbeats may have been lost", () => {
    assert.deepStrictEqual([follows(17, 0.2), follows(18, 0.2), follows(60, 0.2)], ["score", undefined, undefined])
    const before = known(hearAnnouncement({ uptimeScore: 0.8 }))
    const after = known(hearAnnouncement({ uptimeScore: 0.8 }), says(1, 0.2))
    assert.strictEqual(contradiction(before, after), undefined)
  })
})
