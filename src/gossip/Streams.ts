/**
 * Byte streams between two connected peers, for exchanges that are not gossip. It knows nothing of what is said on
 * them. Live it is libp2p's protocol streams, in memory a pair of queues.
 */
import { Context, type Effect, Schema, type Scope } from "effect"
import type { PeerId } from "../identity/PeerId.ts"

/** The peer is not there, does not speak the protocol, or the stream broke or stood still. */
export class StreamBroken extends Schema.TaggedError<StreamBroken>()("StreamBroken", {
  reason: Schema.Literals(["not-connected", "not-spoken", "reset", "timeout"]),
  cause: Schema.Defect()
}) {}

/** A stream of bytes in both directions, between this server and one peer. */
export interface ByteStream {
  /** Who is at the other end. */
  readonly peer: PeerId
  /** The next bytes that the other side wrote, in pieces of any size; `undefined` once it has closed its side. */
  readonly read: Effect.Effect<Uint8Array | undefined, StreamBroken>
  /** Ends when the bytes are on their way: a slow reader on the other side holds it up (back-pressure). */
  write(bytes: Uint8Array): Effect.Effect<void, StreamBroken>
  /** No more is written; the other side reads its end. Closing the scope without this resets the stream. */
  readonly end: Effect.Effect<void, StreamBroken>
}

/** Exchanges with one peer at a time, beside the gossip: who serves a protocol, and who asks. */
export class Streams extends Context.Service<
  Streams,
  {
    /** Serves a protocol until the scope closes. The stream lives as long as `serve`; a failure or defect resets it. */
    handle(
      protocol: string,
      serve: (stream: ByteStream) => Effect.Effect<void, StreamBroken>
    ): Effect.Effect<void, never, Scope.Scope>
    /** Opens a stream to a connected peer for as long as the scope. */
    open(peer: PeerId, protocol: string): Effect.Effect<ByteStream, StreamBroken, Scope.Scope>
  }
>()("ricochet-discovery/gossip/Streams") {}
