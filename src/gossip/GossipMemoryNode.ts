/** What one node of a network in memory holds: whom it judges for, whom it sees on a topic, which messages it knows. */
import { Duration, Queue } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { AddressBook } from "./AddressBook.ts"
import type { Appearance, Judge } from "./Gossip.ts"
import type { Place } from "./GossipMemoryLinks.ts"
import type { Envelope } from "./GossipMemorySignature.ts"
import { announceTopic, heartbeatTopic, type Topic } from "./Topic.ts"

/** How long a node knows a message again, as GossipSub's seen-cache does: a replay later than this is judged anew. */
export const seenFor = Duration.minutes(2)

export interface Node {
  readonly peerId: PeerId
  readonly place: Place
  readonly judges: Map<Topic, Judge>
  /** Who is on each topic, as this node has been told. */
  readonly present: Readonly<Record<Topic, Map<Place, PeerId>>>
  /** What it said last on each topic. */
  readonly said: Map<Topic, Envelope>
  /** When each message was first seen, oldest first. */
  readonly seen: Map<string, number>
  readonly watchers: Set<Queue.Enqueue<Appearance>>
  readonly book: AddressBook
}

/** The multiaddr of a node at a place. */
export const addressOf = (at: Place, peer: PeerId) => `/memory/${at}/p2p/${peer}`

export const make = (peerId: PeerId, place: Place): Node => ({
  peerId,
  place,
  judges: new Map(),
  present: { [announceTopic]: new Map(), [heartbeatTopic]: new Map() },
  said: new Map(),
  seen: new Map(),
  watchers: new Set(),
  book: new AddressBook()
})

/** Whether a message is new to the node, which knows it from now on. GossipSub's message ID is signer and sequence. */
export const isNewTo = (node: Node, { from, sequence }: Envelope, nowMillis: number): boolean => {
  for (const [seen, atMillis] of node.seen) {
    if (nowMillis - atMillis <= Duration.toMillis(seenFor)) break
    node.seen.delete(seen)
  }
  const id = `${from}/${sequence}`
  const isNew = !node.seen.has(id)
  if (isNew) node.seen.set(id, nowMillis)
  return isNew
}

/** Tells the node that a peer is on a topic, if it did not know. */
export const noticeOn = (node: Node, topic: Topic, place: Place, peer: PeerId): void => {
  if (node.present[topic].has(place)) return
  node.present[topic].set(place, peer)
  node.book.tell({ peer, addresses: [addressOf(place, peer)] })
  for (const watcher of node.watchers) Queue.offerUnsafe(watcher, { topic, peer })
}
