/**
 * What this server can hand on, and the digests of it, worked out a little at a time: the list may be long, and
 * everything else goes on meanwhile.
 */
import { Effect, Result } from "effect"
import type { Gossip, Verified } from "../gossip/Gossip.ts"
import { announceTopic } from "../gossip/Topic.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { decodeAnnouncement, decodeHeartbeat } from "../registry/Wire.ts"
import { Digests, isKnown, type Words } from "./Summary.ts"

/** Servers looked at between two pauses: a few milliseconds of work. */
const stride = 1_000

/** Does something with each, with pauses. */
const inStrides = <A>(all: ReadonlyArray<A>, act: (one: A, index: number) => void): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let from = 0; from < all.length; from += stride) {
      if (from > 0) yield* Effect.yieldNow
      for (let index = from; index < Math.min(from + stride, all.length); index++) act(all[index] as A, index)
    }
  })

/** Those of the entries that can be handed on at this moment, the words of `other` left out. */
export const known = (
  entries: ReadonlyArray<Words>,
  other: PeerId | undefined,
  wallNanos: bigint
): Effect.Effect<ReadonlyArray<Words>> => {
  const found: Array<Words> = []
  return Effect.as(
    inStrides(entries, (words) => {
      if (words.serverId !== other && isKnown(words, wallNanos)) found.push(words)
    }),
    found
  )
}

const newestOf = <A>(said: Verified | undefined, message: Result.Result<A, unknown> | undefined) =>
  said !== undefined && message !== undefined && Result.isSuccess(message)
    ? { message: message.success, signed: said.signed() }
    : undefined

/** This server's own words, as it said them last. */
export const own = (gossip: Gossip["Service"]): Effect.Effect<Words> =>
  Effect.map(gossip.said, (said) => {
    const announcement = said.find(({ topic }) => topic === announceTopic)
    const heartbeat = said.find(({ topic }) => topic !== announceTopic)
    return {
      serverId: gossip.self,
      announcement: newestOf(announcement, announcement && decodeAnnouncement(announcement.data, gossip.self)),
      heartbeat: newestOf(heartbeat, heartbeat && decodeHeartbeat(heartbeat.data, gossip.self))
    }
  })

/** The digests of all these servers. */
export const digest = (salt: Uint8Array, all: ReadonlyArray<Words>, buckets: number, wallNanos: bigint) => {
  const digests = new Digests(salt, buckets, wallNanos)
  const bucketOf = new Uint16Array(all.length)
  const adding = inStrides(all, (words, index) => {
    bucketOf[index] = digests.add(words)
  })
  return Effect.as(adding, { digests: digests.digests, bucketOf })
}
