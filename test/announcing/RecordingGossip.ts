/** A network that only listens: it keeps what the server says, and does what a test commands. */
import { Clock, Effect, Layer, Queue, Result } from "effect"
import { type Appearance, Gossip, PublishRefused } from "../../src/gossip/Gossip.ts"
import { announceTopic, type Topic, topics } from "../../src/gossip/Topic.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import { decodeAnnouncement, decodeHeartbeat } from "../../src/registry/Wire.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

export interface Said<A> {
  readonly atSeconds: number
  readonly message: A
}

export const self = peerIdOf("self")
export const neighbour = peerIdOf("neighbour")

export const make = (addresses: ReadonlyArray<string> = []) => {
  const present = new Map<Topic, Set<PeerId>>(topics.map((topic) => [topic, new Set([neighbour])]))
  const readers = new Set<Queue.Queue<Appearance>>()
  const announcements: Array<Said<Announcement>> = []
  const heartbeats: Array<Said<Heartbeat>> = []
  /** What the next publishes do instead, first to last; `undefined` is to take the message. */
  const instead: Array<Effect.Effect<{ recipients: number }, PublishRefused> | undefined> = []

  const take = Effect.fnUntraced(function* (topic: Topic, data: Uint8Array) {
    const atSeconds = (yield* Clock.currentTimeMillis) / 1_000
    if (topic === announceTopic) announcements.push({ atSeconds, message: Result.getOrThrow(decodeAnnouncement(data)) })
    else heartbeats.push({ atSeconds, message: Result.getOrThrow(decodeHeartbeat(data)) })
    return { recipients: present.get(topic)?.size ?? 0 }
  })

  const layer = Layer.mock(Gossip, {
    self,
    addresses: Effect.succeed(addresses),
    topicPeers: (topic) => Effect.sync(() => [...(present.get(topic) ?? [])]),
    publish: (topic, data) =>
      Effect.suspend(() => {
        const other = instead.shift()
        if (other !== undefined) return other
        if (present.get(topic)?.size === 0) {
          return new PublishRefused({ topic, reason: "no-topic-peers", cause: undefined })
        }
        return take(topic, data)
      }),
    appearances: Effect.acquireRelease(
      Effect.tap(Queue.sliding<Appearance>(256), (queue) => Effect.sync(() => readers.add(queue))),
      (queue) => Effect.sync(() => readers.delete(queue))
    )
  })

  return {
    layer,
    announcements,
    heartbeats,
    instead,
    /** Nobody is on a topic from now on. */
    desert: () => {
      for (const peers of present.values()) peers.clear()
    },
    appear: (peer: PeerId, on: ReadonlyArray<Topic> = topics) => {
      for (const topic of on) {
        present.get(topic)?.add(peer)
        for (const reader of readers) Queue.offerUnsafe(reader, { topic, peer })
      }
    }
  }
}
