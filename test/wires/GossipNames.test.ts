/** A bootstrap address with a name in it, whose machine moves. */
import dns from "node:dns"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { addressAhead, anySeed, onTopic, until, untilTheyHear } from "./LiveNodes.ts"

const name = "moving.invalid"

/** Answers for one name as `answer` says, and lets the system answer for others. */
const resolving = (answer: () => string | undefined) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { lookup } = dns
      const mine = (host: string, options: dns.LookupAllOptions, done: (error: unknown, found?: unknown) => void) => {
        if (host !== name) return lookup(host, options, done)
        const address = answer()
        if (address === undefined) return done(Object.assign(new Error(`ENOTFOUND ${host}`), { code: "ENOTFOUND" }))
        return done(null, [{ address, family: 4 }])
      }
      Object.assign(dns, { lookup: mine })
      return lookup
    }),
    (lookup) => Effect.sync(() => Object.assign(dns, { lookup }))
  )

describe("a name in a bootstrap address", () => {
  it.live("R15 is resolved again at each try, and leads where it leads by then", () =>
    Effect.gen(function* () {
      let tries = 0
      yield* resolving(() => (++tries < 3 ? undefined : "127.0.0.1"))
      const seedHex = anySeed()
      const { address, listen } = yield* addressAhead(seedHex)
      const b = yield* onTopic({ seedHex, listen: [listen] })
      const a = yield* onTopic({ bootstrapPeers: [address.replace("/ip4/127.0.0.1/", `/dns4/${name}/`)] })
      const status = Effect.map(a.node.connectivity.status, ({ bootstrap }) => bootstrap[0])
      yield* until(Effect.map(status, (bootstrap) => bootstrap?.lastError?.includes("ENOTFOUND") === true))
      yield* untilTheyHear(a, b)
      assert.strictEqual((yield* status)?.isConnected, true)
      assert.isAtLeast(tries, 3)
    })
  )
})
