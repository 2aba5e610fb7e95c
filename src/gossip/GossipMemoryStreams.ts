/** Byte streams of a network in memory: two queues between two places, as slow and as mortal as the link under them. */
import { Cause, Effect, Exit, FiberSet, Queue } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import type { Place } from "./GossipMemoryLinks.ts"
import { type ByteStream, StreamBroken, Streams } from "./Streams.ts"

/** What the network tells of the way between two places. */
export interface Ways {
  /** Where a connected peer stands. */
  placeOf(from: Place, peer: PeerId): Place | undefined
  /** Ends when what is on its way from one place has come to the other. */
  pass(from: Place, to: Place): Effect.Effect<void>
}

/** Pieces that wait in one direction before a write has to. */
const longestQueue = 16

type Pieces = Queue.Queue<Uint8Array, StreamBroken | Cause.Done>

const makePieces: Effect.Effect<Pieces> = Queue.bounded<Uint8Array, StreamBroken | Cause.Done>(longestQueue)

interface Open {
  readonly ends: readonly [Place, Place]
  readonly queues: readonly [Pieces, Pieces]
}

const broken = (reason: StreamBroken["reason"]) => new StreamBroken({ reason, cause: undefined })

/** What was ended stays ended: a queue that is done does not fail any more. */
const reset = ({ queues }: Open): void => {
  for (const queue of queues) Queue.failCauseUnsafe(queue, Cause.fail(broken("reset")))
}

export interface MemoryStreams {
  of(peerId: PeerId, place: Place): Streams["Service"]
  /** Resets every stream between the two. */
  cut(a: Place, b: Place): void
}

const endOf = (peer: PeerId, incoming: Pieces, outgoing: Pieces, pass: Effect.Effect<void>): ByteStream => ({
  peer,
  read: Effect.catch(Queue.take(incoming), (error) =>
    Cause.isDone(error) ? Effect.succeed(undefined) : Effect.fail(error)
  ),
  write: Effect.fnUntraced(function* (bytes) {
    yield* pass
    if (!(yield* Queue.offer(outgoing, bytes.slice()))) return yield* broken("reset")
  }),
  end: Effect.andThen(pass, Effect.asVoid(Queue.end(outgoing)))
})

/** Takes up a stream that was opened to a handler. */
type Serve = (stream: ByteStream, reset: Effect.Effect<void>) => void

export const make = (ways: Ways): MemoryStreams => {
  const handlers = new Map<Place, Map<string, Serve>>()
  const streams = new Set<Open>()

  const open = Effect.fnUntraced(function* (self: PeerId, place: Place, peer: PeerId, protocol: string) {
    const other = ways.placeOf(place, peer)
    if (other === undefined) return yield* broken("not-connected")
    yield* ways.pass(place, other)
    if (ways.placeOf(place, peer) !== other) return yield* broken("reset")
    const serve = handlers.get(other)?.get(protocol)
    if (serve === undefined) return yield* broken("not-spoken")
    const there = yield* makePieces
    const back = yield* makePieces
    const stream: Open = { ends: [place, other], queues: [there, back] }
    yield* Effect.acquireRelease(
      Effect.sync(() => streams.add(stream)),
      () => {
        streams.delete(stream)
        return Effect.sync(() => reset(stream))
      }
    )
    serve(
      endOf(self, there, back, ways.pass(other, place)),
      Effect.sync(() => reset(stream))
    )
    return endOf(peer, back, there, ways.pass(place, other))
  })

  const handle = Effect.fnUntraced(function* (
    place: Place,
    protocol: string,
    serve: (stream: ByteStream) => Effect.Effect<void, StreamBroken>
  ) {
    const run = yield* FiberSet.makeRuntime()
    const own: Serve = (stream, reset) =>
      void run(Effect.onExit(serve(stream), (exit) => (Exit.isSuccess(exit) ? stream.end : reset)))
    const ofPlace = handlers.get(place) ?? new Map<string, Serve>()
    yield* Effect.acquireRelease(
      Effect.sync(() => handlers.set(place, ofPlace.set(protocol, own))),
      () => Effect.sync(() => ofPlace.get(protocol) === own && ofPlace.delete(protocol))
    )
  })

  return {
    of: (self, place) =>
      Streams.of({
        handle: (protocol, serve) => handle(place, protocol, serve),
        open: (peer, protocol) => open(self, place, peer, protocol)
      }),
    cut: (a, b) => {
      for (const stream of streams) {
        if (stream.ends.includes(a) && stream.ends.includes(b)) {
          reset(stream)
        }
      }
    }
  }
}
