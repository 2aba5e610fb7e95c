/**
 * What the rest of the server knows of the network: join a topic, publish, judge what arrives, see who is on a topic.
 * It refuses to know libp2p (GossipLibp2p) and virtual networks (GossipMemory), which both stand behind it.
 */
import { Context, type Effect, type Queue, Schema, type Scope } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import type { Whereabouts } from "./AddressBook.ts"
import type { Topic } from "./Topic.ts"

/**
 * What becomes of a message. `accept`: it counts and is relayed. `ignore`: dropped, nobody is punished.
 * `reject`: dropped, and counted against the neighbour that forwarded it. Source: ruling R2.
 */
export type Verdict = "accept" | "ignore" | "reject"

/** One message whose signature GossipSub has verified. */
export interface Received {
  /** The topic it arrived on. */
  readonly topic: Topic
  /** What was said: the bytes of an announcement or a heartbeat, not looked at yet. */
  readonly data: Uint8Array
  /** Who signed it (`from`): whose words they are (R1). */
  readonly signer: PeerId
  /** Who handed it to us: the neighbour that relayed it, or, where it came from elsewhere, whom it was got from. */
  readonly neighbour: PeerId
  /** The message as signed, in GossipSub's own protobuf encoding; `Gossip.verify` opens it again. Made on demand. */
  readonly signed: () => Uint8Array
}

/** A signed message that was opened and whose signature holds. */
export type Verified = Omit<Received, "neighbour">

/** A signed message that was opened, and no more: whose words they are is a claim until the proof succeeds. */
export interface Claim {
  /** The topic it is said to be of. */
  readonly topic: Topic
  /** What is said to have been said. */
  readonly data: Uint8Array
  /** Who is said to have signed it. */
  readonly claimedSigner: PeerId
  /** Verifies the signature. */
  readonly proof: Effect.Effect<Verified, Unverifiable>
}

/**
 * Judges a message and acts on it, in one step and from memory. It cannot fail and does not wait: GossipSub holds the
 * message meanwhile, and a slow judge would reorder what follows.
 */
export type Judge = (message: Received) => Effect.Effect<Verdict>

/** GossipSub took no message: nobody is on the topic, or it is stopping. The next beat tries again (S24, R17). */
export class PublishRefused extends Schema.TaggedError<PublishRefused>()("PublishRefused", {
  topic: Schema.String,
  reason: Schema.Literals(["no-topic-peers", "failed"]),
  cause: Schema.Defect()
}) {
  override get message() {
    return this.reason === "no-topic-peers"
      ? `no peer is on the topic ${this.topic}`
      : `GossipSub refused the message for ${this.topic}: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** A message that could not be opened, or whose signature does not hold. */
export class Unverifiable extends Schema.TaggedError<Unverifiable>()("Unverifiable", { problem: Schema.String }) {
  override get message() {
    return this.problem
  }
}

/** A peer is now on a topic that was not on it a moment before. */
export interface Appearance {
  /** The topic that it joined. */
  readonly topic: Topic
  /** Who joined it. */
  readonly peer: PeerId
}

/** An open connection with another node, be it on a topic or not. */
export interface Connection {
  /** Who is at the other end. */
  readonly peer: PeerId
  /** The multiaddr it was dialled at; undefined where the other end dialled, from a port that nobody listens on. */
  readonly address: string | undefined
  /** Who opened it: the other end, or this node. */
  readonly direction: "inbound" | "outbound"
}

/** The network as the rest of a server knows it: topics, signed messages, and who is there. */
export class Gossip extends Context.Service<
  Gossip,
  {
    /** This server's own peer ID. */
    readonly self: PeerId
    /** Addresses this node can be dialled at, as multiaddrs with `/p2p/<self>`. */
    readonly addresses: Effect.Effect<ReadonlyArray<string>>
    /** Joins a topic until the scope closes. Every message that arrives on it is judged by `judge`. */
    join(topic: Topic, judge: Judge): Effect.Effect<void, never, Scope.Scope>
    /** Signs and sends to the topic. Succeeds with the number of neighbours that took it. */
    publish(topic: Topic, data: Uint8Array): Effect.Effect<{ readonly recipients: number }, PublishRefused>
    /** Peers connected to this node that are on the topic, in no order. */
    topicPeers(topic: Topic): Effect.Effect<ReadonlyArray<PeerId>>
    /** Appearances from now on, newest 256 kept for a slow reader, until the scope closes. */
    readonly appearances: Effect.Effect<Queue.Dequeue<Appearance>, never, Scope.Scope>
    /** Every open connection. */
    readonly connections: Effect.Effect<ReadonlyArray<Connection>>
    /**
     * Where other nodes can be dialled: what each told of itself when it was connected, now or before, at most eight
     * multiaddrs that end in its peer ID, in printable ASCII. Text from strangers, and true as far as they are. The map
     * goes on changing.
     */
    readonly addressBook: Effect.Effect<ReadonlyMap<PeerId, ReadonlyArray<string>>>
    /** Adds to the address book what nodes told at an earlier time, newest first. A node that is alone tries them (R15). */
    remember(earlier: ReadonlyArray<Whereabouts>): Effect.Effect<void>
    /** Opens a message that was got from elsewhere than a topic, and verifies its signature. */
    verify(signed: Uint8Array): Effect.Effect<Verified, Unverifiable>
    /** Opens such a message and verifies nothing yet: `verify` is this and the proof of the claim. */
    read(signed: Uint8Array): Effect.Effect<Claim, Unverifiable>
    /** What this server said last on each topic, whether or not anybody was there to hear it, signed. */
    readonly said: Effect.Effect<ReadonlyArray<Verified>>
  }
>()("ricochet-discovery/gossip/Gossip") {}
