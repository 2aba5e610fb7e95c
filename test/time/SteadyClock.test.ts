import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { layerLive, SteadyClock } from "../../src/time/SteadyClock.ts"

const nowMillis = Effect.flatMap(SteadyClock, (steady) => steady.nowMillis)

describe("the steady clock", () => {
  it.live("R6 B07 is the time since boot: what the date is set to does not move it", () =>
    Effect.gen(function* () {
      const before = yield* nowMillis
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3 * 3_600_000 })),
        () => Effect.sync(() => vi.useRealTimers())
      )
      const after = yield* nowMillis
      assert.isAtLeast(after, before)
      assert.isBelow(after - before, 60_000)
    }).pipe(Effect.provide(layerLive))
  )

  // The kernel's time since boot goes on while the machine is suspended, which process.hrtime does not.
  it.live.skipIf(process.platform !== "linux")("R6 B08 counts suspend, on Linux as /proc/uptime does", () =>
    Effect.gen(function* () {
      const [seconds] = readFileSync("/proc/uptime", "utf8").split(" ")
      assert.closeTo(yield* nowMillis, Number(seconds) * 1_000, 5_000)
    }).pipe(Effect.provide(layerLive))
  )

  it.effect("R6 is the test's clock where nothing else is provided", () =>
    Effect.gen(function* () {
      const before = yield* nowMillis
      yield* TestClock.adjust("90 minutes")
      assert.strictEqual((yield* nowMillis) - before, 5_400_000)
    })
  )
})
