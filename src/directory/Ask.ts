/**
 * Asks a neighbour for what it knows and has each message judged as if it had come over its topic, its signature
 * verified first. What a neighbour can do to the asker is bounded: it can withhold, never forge. See PROTOCOL.md.
 */
import { Cause, Effect, Fiber, Queue, Random, Result } from "effect"
import { Settings } from "../config/Settings.ts"
import { type Claim, Gossip, type Unverifiable, type Verified } from "../gossip/Gossip.ts"
import { type StreamBroken, Streams } from "../gossip/Streams.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { Intake } from "../registry/Intake.ts"
import type { Refusal } from "../registry/Refusal.ts"
import { Registry } from "../registry/Registry.ts"
import { now } from "../time/Now.ts"
import * as Bounds from "./Bounds.ts"
import { BadFrame, prefixOf, reader } from "./Frames.ts"
import * as Knowledge from "./Knowledge.ts"
import * as Summary from "./Summary.ts"

/** What came of one question. */
export interface Asked {
  readonly messages: number
  readonly bytes: number
  /** Messages that changed what this server believes. */
  readonly accepted: number
  /** Messages that told nothing new: heard before, or this server's own. Every answer may have some of these. */
  readonly known: number
  /** Messages that do not count for any other reason. */
  readonly refused: number
}

export const nothing: Asked = { messages: 0, bytes: 0, accepted: 0, known: 0, refused: 0 }

export const plus = (left: Asked, right: Asked): Asked => ({
  messages: left.messages + right.messages,
  bytes: left.bytes + right.bytes,
  accepted: left.accepted + right.accepted,
  known: left.known + right.known,
  refused: left.refused + right.refused
})

const isKnown = (refusal: Refusal): boolean => refusal.reason === "repeated" || refusal.reason === "own"

/** Messages opened and judged at a time; the signatures of the next few lots are verified meanwhile. */
const lotSize = 32
const lotsAhead = 4
/** Signatures of a lot under way on the thread pool, which others wait for too. */
const verifiedAtATime = 16

type Proven = ReadonlyArray<Result.Result<Verified, Unverifiable>>

const handedOn = { kind: "handed-on" } as const

const randomSalt = Effect.map(
  Effect.all(Array.from({ length: Summary.saltBytes }, () => Random.nextIntBetween(0, 256))),
  (bytes) => Uint8Array.from(bytes)
)

/**
 * A way to ask. It fails when the neighbour does not speak the protocol, breaks off, stands still or sends what no
 * honest neighbour does. What came of it is told to `note` as it comes, a part at a time.
 */
export const make = Effect.gen(function* () {
  const [gossip, intake, registry, streams] = [yield* Gossip, yield* Intake, yield* Registry, yield* Streams]
  const { discovery } = yield* Settings
  const messagesAtMost = 2 * discovery.maxServers

  const question = Effect.gen(function* () {
    const { wallNanos } = yield* now
    const known = yield* Knowledge.known(yield* registry.entries, undefined, wallNanos)
    const salt = yield* randomSalt
    const { digests } = yield* Knowledge.digest(salt, known, Summary.bucketsFor(known.length), wallNanos)
    return Summary.encode({ salt, digests })
  })

  /** Those of the messages that would count if their signatures held, and how many no honest neighbour hands on. */
  const sort = Effect.fnUntraced(function* (frames: ReadonlyArray<Uint8Array>) {
    const worth: Array<Claim> = []
    let [bad, known, refused] = [0, 0, 0]
    for (const frame of frames) {
      const claim = yield* Effect.result(gossip.read(frame))
      if (Result.isFailure(claim)) {
        bad++
        refused++
        continue
      }
      const { claimedSigner: signer, data, topic } = claim.success
      const refusal = yield* intake.foresee({ topic, data, signer }, handedOn)
      if (refusal === undefined) {
        worth.push(claim.success)
        continue
      }
      if (refusal.verdict === "reject") bad++
      if (isKnown(refusal)) known++
      else refused++
    }
    return { worth, bad, known, refused }
  })

  const prove = (claims: ReadonlyArray<Claim>) =>
    Effect.forEach(claims, ({ proof }) => Effect.result(proof), { concurrency: verifiedAtATime })

  /** Judges in order. A full registry has no room for a heartbeat before it knows the announcement: it has its turn then. */
  const judge = Effect.fnUntraced(function* (proven: Proven, withoutRoom: Verified | undefined) {
    let [accepted, bad, known, refused] = [0, 0, 0, 0]
    for (const message of proven) {
      if (Result.isFailure(message)) {
        bad++
        refused++
        continue
      }
      const outcome = yield* intake.consider(message.success, handedOn)
      if (Result.isFailure(outcome)) {
        if (isKnown(outcome.failure)) known++
        // One that waits for its turn counts when it has had it, or has lost it to another.
        else if (outcome.failure.reason !== "full" || withoutRoom !== undefined) refused++
        if (outcome.failure.reason === "full") withoutRoom = message.success
        continue
      }
      accepted++
      if (withoutRoom?.signer !== message.success.signer) continue
      if (Result.isSuccess(yield* intake.consider(withoutRoom, handedOn))) accepted++
      else refused++
      withoutRoom = undefined
    }
    return { accepted, bad, known, refused, withoutRoom }
  })

  return Effect.fn("Directory.ask")(function* (
    peer: PeerId,
    note: (part: Asked) => void
  ): Effect.fn.Return<Asked, BadFrame | StreamBroken> {
    const exchange = Effect.gen(function* () {
      const asked = yield* question
      const stream = yield* streams.open(peer, Bounds.protocol)
      yield* Bounds.withinSilence(Effect.andThen(stream.write(Buffer.concat([prefixOf(asked), asked])), stream.end))

      let total = nothing
      let bad = 0
      const count = (part: Asked) => {
        total = plus(total, part)
        note(part)
      }
      const tooBad = () =>
        new BadFrame({ problem: `over ${Bounds.badMessagesAtMost} messages no honest server hands on` })
      const lots = yield* Queue.bounded<Fiber.Fiber<Proven>, Cause.Done>(lotsAhead)

      const open = Effect.fnUntraced(function* (lot: ReadonlyArray<Uint8Array>) {
        count({ ...nothing, messages: lot.length, bytes: lot.reduce((sum, frame) => sum + frame.length, 0) })
        if (total.messages > messagesAtMost) {
          return yield* new BadFrame({ problem: `more than ${messagesAtMost} messages in one answer` })
        }
        const sorted = yield* sort(lot)
        count({ ...nothing, known: sorted.known, refused: sorted.refused })
        bad += sorted.bad
        if (bad > Bounds.badMessagesAtMost) return yield* tooBad()
        yield* Queue.offer(lots, yield* Effect.forkScoped(prove(sorted.worth), { startImmediately: true }))
      })
      const opening = Effect.gen(function* () {
        const next = reader(Bounds.withinSilence(stream.read), Bounds.maxAnswerFrameBytes)
        for (let frames = yield* next; frames !== undefined; frames = yield* next) {
          for (let from = 0; from < frames.length; from += lotSize) yield* open(frames.slice(from, from + lotSize))
        }
        yield* Queue.end(lots)
      })
      let withoutRoom: Verified | undefined
      const judging = Effect.gen(function* () {
        while (true) {
          const { accepted, known, refused, ...judged } = yield* judge(
            yield* Fiber.join(yield* Queue.take(lots)),
            withoutRoom
          )
          withoutRoom = judged.withoutRoom
          count({ ...nothing, accepted, known, refused })
          bad += judged.bad
          if (bad > Bounds.badMessagesAtMost) return yield* tooBad()
        }
      }).pipe(
        Effect.catchIf(Cause.isDone, () =>
          Effect.sync(() => count({ ...nothing, refused: withoutRoom === undefined ? 0 : 1 }))
        )
      )
      yield* Effect.all([opening, judging], { concurrency: 2, discard: true })
      return total
    })
    return yield* Effect.scoped(Bounds.withinExchange(exchange))
  })
})
