import { it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeVirtualNetwork } from "ricochet-discovery/testing"

it.effect("a server that crashed stays listed for two hours after its last word", () =>
  Effect.gen(function* () {
    const network = yield* makeVirtualNetwork()
    yield* network.start("berlin")
    const lisbon = yield* network.start("lisbon")
    yield* TestClock.adjust("1 minute")
    yield* network.expectLists({ berlin: ["lisbon"], lisbon: ["berlin"] })

    yield* lisbon.crash
    yield* TestClock.adjust("119 minutes")
    yield* network.expectLists({ berlin: ["lisbon"] })
    yield* TestClock.adjust("1 minute")
    yield* network.expectLists({ berlin: [] })
  })
)
