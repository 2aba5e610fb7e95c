/**
 * Words that reached this server past their topic, through a neighbour's directory. When GossipSub brings its copy a
 * moment later, that copy is nothing new here, but the neighbours behind this server still wait for it: it is passed
 * on, once.
 */
import type { PeerId } from "../identity/PeerId.ts"

/** A copy that takes longer than this to arrive is none that GossipSub is still spreading: 30 seconds in milliseconds. */
const awaitedMillis = 30_000
/** Words awaited at the same time at most, newest kept. */
const maxAwaited = 10_000

export interface Unrelayed {
  /** These words came past their topic. */
  await(kind: string, server: PeerId, timestamp: bigint, steadyMillis: number): void
  /** Whether this is the first copy of awaited words; asked once, they are awaited no more. */
  take(kind: string, server: PeerId, timestamp: bigint, steadyMillis: number): boolean
}

export const make = (): Unrelayed => {
  const awaited = new Map<string, number>()
  const keyOf = (kind: string, server: PeerId, timestamp: bigint) => `${kind} ${server} ${timestamp}`
  return {
    await: (kind, server, timestamp, steadyMillis) => {
      awaited.set(keyOf(kind, server, timestamp), steadyMillis)
      const oldest = awaited.size > maxAwaited ? awaited.keys().next().value : undefined
      if (oldest !== undefined) awaited.delete(oldest)
    },
    take: (kind, server, timestamp, steadyMillis) => {
      const key = keyOf(kind, server, timestamp)
      const since = awaited.get(key)
      awaited.delete(key)
      return since !== undefined && steadyMillis - since <= awaitedMillis
    }
  }
}
