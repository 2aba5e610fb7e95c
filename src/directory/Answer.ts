/**
 * Answers a neighbour that asks for what this server knows: the words of others as they were signed, and its own, no
 * faster than the neighbour reads. See PROTOCOL.md.
 */
import { Effect, type Scope, Semaphore } from "effect"
import { Gossip } from "../gossip/Gossip.ts"
import { type ByteStream, StreamBroken, Streams } from "../gossip/Streams.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { Registry } from "../registry/Registry.ts"
import { now } from "../time/Now.ts"
import * as Bounds from "./Bounds.ts"
import { type BadFrame, prefixOf, reader } from "./Frames.ts"
import * as Knowledge from "./Knowledge.ts"
import * as Summary from "./Summary.ts"

/** Bytes handed to the stream at a time: the back-pressure of a slow reader is felt after so many. */
const chunkBytes = 64 * 1024

/** Serves the protocol until the scope closes. */
export const serve: Effect.Effect<void, never, Gossip | Registry | Scope.Scope | Streams> = Effect.gen(function* () {
  const [gossip, registry, streams] = [yield* Gossip, yield* Registry, yield* Streams]
  const answering = new Set<PeerId>()
  const pace = Bounds.paceOf(Bounds.questionsPerMinute)
  const oneAtATime = yield* Semaphore.make(1)

  const readQuestion = Effect.fnUntraced(function* (stream: ByteStream) {
    const frames = yield* reader(Bounds.withinSilence(stream.read), Summary.maxQuestionBytes)
    const [question] = frames ?? []
    return question === undefined ? undefined : yield* Effect.fromResult(Summary.decode(question))
  })

  /** The servers of whom the asker lacks something. */
  const select = Effect.fnUntraced(function* ({ digests, salt }: Summary.Question, asker: PeerId, wallNanos: bigint) {
    const entries = [...(yield* registry.entries), yield* Knowledge.own(gossip)]
    const known = yield* Knowledge.known(entries, asker, wallNanos)
    if (digests.length === 0) return known
    const ours = yield* Knowledge.digest(salt, known, digests.length, wallNanos)
    return known.filter((_, index) => {
      const bucket = ours.bucketOf[index] ?? 0
      return ours.digests[bucket] !== digests[bucket]
    })
  })

  const answer = Effect.fnUntraced(function* (stream: ByteStream): Effect.fn.Return<void, BadFrame | StreamBroken> {
    const question = yield* readQuestion(stream)
    if (question === undefined) return
    const { wallNanos } = yield* now
    // The work of one question after that of another, however many there are.
    const lacking = yield* Semaphore.withPermit(oneAtATime, select(question, stream.peer, wallNanos))
    let chunk: Array<Uint8Array> = []
    let size = 0
    const write = Effect.suspend(() => {
      const bytes = Buffer.concat(chunk)
      chunk = []
      size = 0
      return Bounds.withinSilence(stream.write(bytes))
    })
    for (const words of lacking) {
      for (const message of Summary.signedOf(words, wallNanos)) {
        const prefix = prefixOf(message)
        chunk.push(prefix, message)
        size += prefix.length + message.length
      }
      if (size >= chunkBytes) yield* write
    }
    if (size > 0) yield* write
  })

  const takePlace = (peer: PeerId) =>
    Effect.gen(function* () {
      const { steadyMillis } = yield* now
      if (answering.has(peer) || answering.size >= Bounds.answersAtATime || !pace.allows(peer, steadyMillis)) {
        return yield* new StreamBroken({ reason: "reset", cause: new Error("too many questions") })
      }
      answering.add(peer)
    })

  yield* streams.handle(Bounds.protocol, (stream) =>
    Effect.acquireUseRelease(
      takePlace(stream.peer),
      () => answer(stream).pipe(Bounds.withinExchange),
      // Before the stream ends: who has read it to its end may ask again.
      () => Effect.sync(() => answering.delete(stream.peer))
    ).pipe(
      Effect.catchTag("BadFrame", (bad) => new StreamBroken({ reason: "reset", cause: bad })),
      Effect.tapError((broken) =>
        Effect.logDebug("directory question not answered").pipe(
          Effect.annotateLogs({ peer: stream.peer, reason: broken.reason })
        )
      )
    )
  )
})
