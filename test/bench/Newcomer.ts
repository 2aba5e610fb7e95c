/**
 * The other process of the directory benchmark: a newcomer that connects to the node at an address, asks it for its
 * list, and tells what that took. Nothing else of a server runs in it.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { multiaddr } from "@multiformats/multiaddr"
import { Effect, Logger } from "effect"
import { announceTopic } from "../../src/gossip/Topic.ts"
import { liveDirectory } from "../directory/LiveDirectory.ts"

export interface Told {
  /** From the open connection until all is known, in milliseconds. */
  readonly millis: number
  readonly processorSeconds: number
  /** The longest the event loop stood still, in milliseconds. */
  readonly longestStallMillis: number
  readonly bytes: number
  /** The same question once more. */
  readonly again: { readonly millis: number; readonly messages: number }
}

const [address = "", expected] = process.argv.slice(2)

const cpuSeconds = (since: NodeJS.CpuUsage) => {
  const { system, user } = process.cpuUsage(since)
  return (system + user) / 1e6
}

const told = Effect.gen(function* () {
  const { node, sync } = yield* liveDirectory
  const stalls = monitorEventLoopDelay({ resolution: 1 })
  yield* Effect.promise(() => node.libp2p.dial(multiaddr(address)))
  stalls.enable()
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  while ((yield* sync.counts).accepted < Number(expected)) yield* Effect.sleep("5 millis")
  const millis = performance.now() - start
  const processorSeconds = cpuSeconds(cpu)
  stalls.disable()

  const [peer] = yield* node.topicPeers(announceTopic)
  while (peer !== undefined && !(yield* sync.ask(peer))) yield* Effect.sleep("5 millis")
  const before = yield* sync.counts
  const startAgain = performance.now()
  if (peer !== undefined) yield* sync.ask(peer)
  const again = { millis: performance.now() - startAgain, messages: (yield* sync.counts).messages - before.messages }
  return { millis, processorSeconds, longestStallMillis: stalls.max / 1e6, bytes: before.bytes, again } satisfies Told
})

process.send?.(await Effect.runPromise(told.pipe(Effect.scoped, Effect.provide(Logger.layer([])))))
process.exit(0)
