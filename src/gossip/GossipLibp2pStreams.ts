/** Byte streams over libp2p: bounded reading, writing that waits for the reader, and no wait without an end. */
import type { Stream } from "@libp2p/interface"
import { peerIdFromString } from "@libp2p/peer-id"
import { Effect, Exit, FiberSet, Layer, type Scope } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"
import { type ByteStream, StreamBroken, Streams } from "./Streams.ts"

/** How long one read, one write or one opening waits for the other side. */
const patience = "10 seconds"
/** Bytes read ahead before the other side is held up. */
const readAhead = 256 * 1024
/** Streams of one protocol that one connection may have open at a time. */
const maxStreams = 16

const broken = (reason: StreamBroken["reason"]) => (cause: unknown) => new StreamBroken({ reason, cause })

const timed = <A, R>(effect: Effect.Effect<A, StreamBroken, R>) =>
  Effect.timeoutOrElse(effect, {
    duration: patience,
    orElse: () => Effect.fail(broken("timeout")(new Error(`nothing within ${patience}`)))
  })

/**
 * Bounds a wait, and goes on outside of the event that ended it: a stream is not in order while it tells its listeners
 * (closed within its `idle`, it waits for an `idle` that never comes).
 */
const within = <A, R>(effect: Effect.Effect<A, StreamBroken, R>) => Effect.tap(timed(effect), Effect.yieldNow)

/** What arrives on a stream, kept until it is read. */
const makeReader = (stream: Stream) => {
  const pieces: Array<Uint8Array> = []
  let bufferedBytes = 0
  const isReset = () => stream.status === "reset" || stream.status === "aborted"
  let isEnded = stream.readableEnded && !isReset()
  let error: unknown = isReset() ? new Error("reset at once") : undefined
  let wake: () => void = () => undefined

  /** Pausing and resuming throw on a stream that is closing, which needs neither. */
  const steer = (act: () => void) => {
    try {
      act()
    } catch {
      // It is closing.
    }
  }
  let isResuming = false
  const pauseIfFull = () => {
    if (bufferedBytes > readAhead && !isResuming) steer(() => stream.pause())
  }
  /** A stream that is paused while it resumes would not tell the other side so, and be flooded. */
  const resumeIfEmpty = () => {
    if (bufferedBytes > readAhead) return
    isResuming = true
    steer(() => stream.resume())
    isResuming = false
    pauseIfFull()
  }
  stream.addEventListener("message", ({ data }) => {
    pieces.push(data.subarray())
    bufferedBytes += data.byteLength
    pauseIfFull()
    wake()
  })
  stream.addEventListener("end", () => {
    // A reset ends it too, and tells so only after.
    isEnded = !isReset()
    wake()
  })
  stream.addEventListener("close", (event) => {
    error = event.error
    isEnded = isEnded || stream.readBufferLength === 0
    wake()
  })

  const next = (): Exit.Exit<Uint8Array | undefined, StreamBroken> | undefined => {
    const piece = pieces.shift()
    if (piece !== undefined) {
      bufferedBytes -= piece.byteLength
      return Exit.succeed(piece)
    }
    if (error !== undefined) return Exit.fail(broken("reset")(error))
    return isEnded ? Exit.succeed(undefined) : undefined
  }
  const read = Effect.callback<Uint8Array | undefined, StreamBroken>((resume) => {
    const forget = () => {
      wake = () => undefined
    }
    wake = () => {
      const outcome = next()
      if (outcome === undefined) return
      // The reader goes on within `resume`, and may be waiting again when that returns.
      forget()
      resume(outcome)
      resumeIfEmpty()
    }
    wake()
    return Effect.sync(forget)
  })
  return within(read)
}

/** Ends when all that was sent is on its way. (`onDrain` waits only the first time that it is called.) */
const flushed = (stream: Stream) =>
  Effect.callback<void, StreamBroken>((resume) => {
    const settle = (outcome: Effect.Effect<void, StreamBroken>) => {
      stream.removeEventListener("idle", onIdle)
      stream.removeEventListener("close", onClose)
      resume(outcome)
    }
    const onIdle = () => settle(Effect.void)
    const onClose = () => settle(Effect.fail(broken("reset")("closed while writing")))
    if (stream.writeBufferLength === 0) return resume(Effect.void)
    stream.addEventListener("idle", onIdle)
    stream.addEventListener("close", onClose)
    return Effect.sync(() => settle(Effect.void))
  })

const toByteStream = (peer: PeerId, stream: Stream): ByteStream => ({
  peer,
  read: makeReader(stream),
  write: (bytes) =>
    within(Effect.andThen(Effect.try({ try: () => stream.send(bytes), catch: broken("reset") }), flushed(stream))),
  end: within(Effect.tryPromise({ try: (signal) => stream.close({ signal }), catch: broken("reset") }))
})

const make = Effect.gen(function* () {
  const { libp2p, nameOf } = yield* Libp2pNode
  const run = yield* FiberSet.makeRuntime<never, unknown, unknown>()

  /** A stream that this side has ended may live on until the other has, for a while. */
  const leave = (stream: Stream) => {
    if (stream.writeStatus === "writable") return stream.abort(new Error("left"))
    const closed = Effect.callback<void>((resume) => {
      if (stream.status !== "open") resume(Effect.void)
      else stream.addEventListener("close", () => resume(Effect.void), { once: true })
    })
    const lingering = Effect.timeoutOption(closed, patience).pipe(
      Effect.ensuring(Effect.sync(() => stream.abort(new Error("the other side did not end"))))
    )
    run(lingering)
  }

  const open = Effect.fn("Streams.open")(function* (peer: PeerId, protocol: string) {
    const connection = libp2p.getConnections(peerIdFromString(peer)).find(({ status }) => status === "open")
    if (connection === undefined) return yield* broken("not-connected")(undefined)
    const opening = Effect.tryPromise({
      try: (signal) => connection.newStream(protocol, { signal, maxOutboundStreams: maxStreams }),
      catch: (cause) =>
        broken(cause instanceof Error && cause.name === "UnsupportedProtocolError" ? "not-spoken" : "reset")(cause)
    })
    const stream = yield* Effect.acquireRelease(timed(opening), (opened) => Effect.sync(() => leave(opened)), {
      interruptible: true
    })
    return toByteStream(peer, stream)
  })

  const handle = Effect.fn("Streams.handle")(function* (
    protocol: string,
    serve: (stream: ByteStream) => Effect.Effect<void, StreamBroken>
  ): Effect.fn.Return<void, never, Scope.Scope> {
    const runServe = yield* FiberSet.makeRuntime<never, unknown, unknown>()
    const take = (stream: Stream, peer: PeerId) => {
      const bytes = toByteStream(peer, stream)
      const served = Effect.suspend(() => serve(bytes)).pipe(
        Effect.andThen(bytes.end),
        Effect.onExit((exit) =>
          Exit.isSuccess(exit) ? Effect.void : Effect.logDebug("a stream was not served to its end", exit.cause)
        ),
        Effect.ensuring(Effect.sync(() => leave(stream)))
      )
      runServe(served)
    }
    yield* Effect.acquireRelease(
      Effect.promise(() =>
        libp2p.handle(protocol, (stream, { remotePeer }) => take(stream, nameOf(remotePeer)), {
          maxInboundStreams: maxStreams
        })
      ),
      () => Effect.promise(() => libp2p.unhandle(protocol).catch(() => undefined))
    )
  })

  return Streams.of({ handle, open })
})

export const layer: Layer.Layer<Streams, never, Libp2pNode> = Layer.effect(Streams, make)
