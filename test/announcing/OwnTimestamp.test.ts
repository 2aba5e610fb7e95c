import { assert, describe, it } from "@effect/vitest"
import { following } from "../../src/announcing/OwnTimestamp.ts"

const twoMinutes = 120_000_000_000n
const last = 1_790_000_000_000_000_000n

describe("the timestamp of a server's next message", () => {
  it.each([
    { what: "is the clock's when nothing was said", last: undefined, wall: 5n, next: 5n },
    { what: "is the clock's when that has gone on", last, wall: last + 1n, next: last + 1n },
    { what: "goes on by a nanosecond while the clock stands", last, wall: last, next: last + 1n },
    { what: "goes on by a nanosecond when the clock is set back a little", last, wall: last - 1n, next: last + 1n },
    { what: "does so until just under 2 minutes", last, wall: last - twoMinutes + 1n, next: last + 1n },
    { what: "follows a clock set back by 2 minutes", last, wall: last - twoMinutes, next: last - twoMinutes },
    { what: "follows a clock set back by years", last, wall: 0n, next: 0n }
  ])("R7 $what", ({ last, next, wall }) => {
    assert.strictEqual(following(last, wall), next)
  })
})
