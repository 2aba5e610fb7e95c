/**
 * A process that has nothing but the test kit: whatever opens a socket, a file or a database is refused it. It plays a
 * story, and prints which packages that took.
 */
import { registerHooks } from "node:module"

const refused = [
  /^(libp2p|pg|postgres)(\/|$)/,
  /^@libp2p\/(?!(crypto|interface|peer-id)(\/|$))/,
  /^@(electric-sql|effect)\//,
  /^(node:)?(child_process|cluster|dgram|dns|fs|http|http2|https|net|tls|worker_threads)(\/|$)/
]
const packages = new Set<string>()

registerHooks({
  resolve: (specifier, context, next) => {
    if (refused.some((pattern) => pattern.test(specifier))) {
      throw new Error(`${context.parentURL} imports ${specifier}`)
    }
    const resolved = next(specifier, context)
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(resolved.url)?.[1]
    if (name !== undefined) packages.add(name)
    return resolved
  }
})

const { Effect } = await import("effect")
const { TestClock } = await import("effect/testing")
const { makeVirtualNetwork } = await import("../../src/testing.ts")

const story = Effect.gen(function* () {
  const network = yield* makeVirtualNetwork()
  yield* network.start("berlin")
  yield* network.start("lisbon")
  yield* TestClock.adjust("1 minute")
  yield* network.expectLists({ berlin: ["lisbon"], lisbon: ["berlin"] })
})
await Effect.runPromise(story.pipe(Effect.scoped, Effect.provide(TestClock.layer())))
process.stdout.write(JSON.stringify([...packages].sort()))
