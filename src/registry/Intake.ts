/**
 * The door that every message comes through, from a topic, a neighbour's directory or this server's own memory: decoded,
 * judged and admitted in one step, then counted and, at a bounded pace, logged. It answers from memory, waits for
 * nothing and cannot fail.
 */
import { Cause, Context, Effect, Layer, Option, Queue, Result, type Scope } from "effect"
import { Gossip, type Received, type Verdict, type Verified } from "../gossip/Gossip.ts"
import { announceTopic, topics } from "../gossip/Topic.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { type Now, now } from "../time/Now.ts"
import * as Timestamp from "../time/Timestamp.ts"
import type { Announcement } from "./Announcement.ts"
import type { Heartbeat } from "./Heartbeat.ts"
import { IntakeLog } from "./IntakeLog.ts"
import { judgeAnnouncement, judgeHeartbeat, type Origin, skewMillis } from "./Judge.ts"
import type { Known } from "./Known.ts"
import {
  announcementsPerMinute,
  changingServers,
  clockVerdictMillis,
  contradictedServers,
  contradictionMillis,
  contradictions,
  flappingMillis,
  heartbeatsPerMinute,
  knownForADayMillis,
  ratedSigners,
  verdictChangesAtRest
} from "./Limits.ts"
import * as OwnClock from "./OwnClock.ts"
import { OwnWords } from "./OwnWords.ts"
import { isSilent, overdueHeartbeats } from "./Query.ts"
import * as RateLimit from "./RateLimit.ts"
import { type Refusal, refuse } from "./Refusal.ts"
import { type Admission, type Decide, Registry } from "./Registry.ts"
import { Tally } from "./Tally.ts"
import { type Contradiction, contradiction } from "./Twins.ts"
import * as Unrelayed from "./Unrelayed.ts"
import { decodeAnnouncement, decodeHeartbeat } from "./Wire.ts"

/** A message from a topic, or one that was opened and verified and came another way. */
export type Message = Received | Verified

/** What became of a message: the entry before and after, or why nothing changed. */
export type Outcome = Result.Result<Admission, Refusal>

export const verdictOf = (outcome: Outcome): Verdict => (Result.isSuccess(outcome) ? "accept" : outcome.failure.verdict)

export class Intake extends Context.Service<
  Intake,
  {
    /** Takes one message whose signature holds. Runs without a pause; a defect of ours is a refusal, never a failure. */
    consider(message: Message, origin: Origin): Effect.Effect<Outcome>
    /**
     * Why a message would not count if it were considered now, its signature taken for granted; `undefined` if it would.
     * Nothing is changed, counted or logged: it saves verifying what is of no use.
     */
    foresee(claim: Pick<Message, "topic" | "data" | "signer">, origin: Origin): Effect.Effect<Refusal | undefined>
    /**
     * Neighbours that bring words of a server whose heartbeats had been missing, or relay those of a server that was not
     * known: what else was missed, they may know.
     * The newest 16 are kept for a slow reader, until the scope closes.
     */
    readonly returns: Effect.Effect<Queue.Dequeue<PeerId>, never, Scope.Scope>
    /** What the clocks of the others say of this server's own (R10). */
    readonly ownClock: Effect.Effect<OwnClock.ClockVerdict>
  }
>()("ricochet-discovery/registry/Intake") {
  /** The door, closed towards the topics: what was kept can be restored before anything is heard (R14). */
  static readonly layer: Layer.Layer<Intake, never, Gossip | Registry | OwnWords | Tally> = Layer.effect(
    Intake,
    Effect.suspend(() => make)
  )

  /** Opens the door: joins both topics for as long as the layer lives (S1, S21). */
  static readonly layerTopics: Layer.Layer<never, never, Intake | Gossip> = Layer.effectDiscard(
    Effect.gen(function* () {
      const [gossip, intake] = [yield* Gossip, yield* Intake]
      for (const topic of topics) {
        yield* gossip.join(topic, (message) => Effect.map(intake.consider(message, { kind: "topic" }), verdictOf))
        yield* Effect.logInfo("joined topic").pipe(Effect.annotateLogs({ topic }))
      }
    })
  )
}

/** A decoded message of either topic. */
type Decoded =
  | { readonly kind: "announcement"; readonly words: Announcement }
  | { readonly kind: "heartbeat"; readonly words: Heartbeat }

const decoded = ({
  topic,
  data,
  signer
}: Pick<Message, "topic" | "data" | "signer">): Result.Result<Decoded, Refusal> =>
  topic === announceTopic
    ? Result.map(decodeAnnouncement(data, signer), (words) => ({ kind: "announcement", words }))
    : Result.map(decodeHeartbeat(data, signer), (words) => ({ kind: "heartbeat", words }))

/** What would count is not admitted while it is only looked at. */
const notNow = refuse("defect", "not considered yet")

/** A heartbeat at least should have been heard since the last, and was not. */
const isMissed = (known: Known, at: Now) => isSilent(known, at) || (overdueHeartbeats(known, at) ?? 0) > 0

/** Brought by another than the one who said it: behind that neighbour is a part of the network that is new to us. */
const isRelayed = (message: Message) => "neighbour" in message && message.neighbour !== message.signer

const perMinute = (limit: number) => RateLimit.make({ limit, windowMillis: 60_000, maxKeys: ratedSigners })

const make = Effect.gen(function* () {
  const [gossip, registry, ownWords, tally] = [yield* Gossip, yield* Registry, yield* OwnWords, yield* Tally]
  const log = yield* IntakeLog.make
  const clocks = OwnClock.empty()
  const rates = { announcement: perMinute(announcementsPerMinute), heartbeat: perMinute(heartbeatsPerMinute) }
  const contradicted = (windowMillis: number) =>
    RateLimit.make({ limit: contradictions, windowMillis, maxKeys: contradictedServers })
  const restarts: Readonly<Record<Contradiction, RateLimit.RateLimit>> = {
    score: contradicted(contradictionMillis.score),
    description: contradicted(contradictionMillis.description)
  }
  const changes = RateLimit.make({
    limit: verdictChangesAtRest,
    windowMillis: flappingMillis,
    maxKeys: changingServers
  })
  const unrelayed = Unrelayed.make()
  const returnReaders = new Set<Queue.Queue<PeerId>>()
  let clockLookedAt = Number.NEGATIVE_INFINITY

  const decideOn = (
    { kind, words }: Decoded,
    { signed, signer }: Pick<Message, "signed" | "signer">,
    origin: Origin,
    at: Now
  ): Decide => {
    const given = { signed, signer, self: gossip.self, now: at, origin }
    return kind === "announcement"
      ? judgeAnnouncement({ ...given, message: words })
      : judgeHeartbeat({ ...given, message: words })
  }

  const judged = (reading: Decoded, message: Message, origin: Origin, at: Now) => {
    const { kind, words } = reading
    const decide = decideOn(reading, message, origin, at)
    return registry.admit(words.serverId, (known, remembered) => {
      const decision = decide(known, remembered)
      // R19. Last of all, so that nobody uses up a signer's share by repeating its old words. What is not heard over
      // a topic is two messages a server, and needs no share.
      const counts =
        origin.kind !== "topic" || Result.isFailure(decision) || rates[kind].take(words.serverId, at.steadyMillis)
      return counts ? decision : Result.fail(refuse("over-rate", `more ${kind}s in a minute than count`))
    })
  }

  /**
   * Whether what was refused says something of its signer as it is now. What was heard before does not: anybody can play
   * it again (R7).
   */
  const isNews = Effect.fnUntraced(function* (refusal: Refusal, { kind, words }: Decoded) {
    if (refusal.reason === "own" || refusal.reason === "repeated") return false
    if (refusal.reason !== "too-old") return true
    const known = Option.getOrUndefined(yield* registry.find(words.serverId))
    const last = known?.[kind]?.message.timestamp
    return last === undefined || words.timestamp > last
  })

  /** R10: whether the message says something of its signer's clock. One without a timestamp does not. */
  const hearClock = Effect.fnUntraced(function* (
    { serverId, timestamp }: Announcement | Heartbeat,
    isDoubtful: boolean,
    at: Now
  ) {
    if (timestamp === Timestamp.zero) return false
    const sample = { timestamp, skewMillis: skewMillis(timestamp, at), steadyMillis: at.steadyMillis, isDoubtful }
    const speaks = OwnClock.hear(clocks, serverId, sample)
    if (at.steadyMillis - clockLookedAt < clockVerdictMillis) return speaks
    clockLookedAt = at.steadyMillis
    yield* log.ownClock(OwnClock.verdict(clocks, at.steadyMillis), at)
    return speaks
  })

  const tellAccepted = Effect.fnUntraced(function* (
    { before, after }: Admission,
    { kind, words }: Decoded,
    message: Message,
    isLive: boolean,
    at: Now
  ) {
    const isReason =
      before?.announcement === undefined ? isRelayed(message) : "neighbour" in message && isMissed(before, at)
    if (isReason && "neighbour" in message) {
      for (const reader of returnReaders) Queue.offerUnsafe(reader, message.neighbour)
    }
    const found = isLive && before?.restored === false ? contradiction(before, after) : undefined
    const isTwin = found !== undefined && !restarts[found].take(words.serverId, at.steadyMillis)
    const isOld = before !== undefined && at.steadyMillis - before.firstHeard.steadyMillis >= knownForADayMillis
    if (isTwin) yield* log.contradictory(message, isOld, at)
    const isChange = isLive && before !== undefined && after.verdictChanges > before.verdictChanges
    if (isChange && !changes.take(words.serverId, at.steadyMillis)) yield* log.flapping(after, message, isOld, at)
    if (kind === "announcement") yield* log.discovered(words, message)
  })

  const tellRefused = Effect.fnUntraced(function* (
    refusal: Refusal,
    words: Announcement | Heartbeat,
    message: Message,
    isClock: boolean,
    at: Now
  ) {
    const isTwin = refusal.reason === "own" && !(yield* ownWords.isMine(words.timestamp))
    if (isTwin) return yield* log.twin(message, at)
    if (isClock) {
      const known = Option.getOrUndefined(yield* registry.find(words.serverId))
      yield* log.clockOff(refusal, message, known?.announcement !== undefined, at)
    }
    return yield* log.refused(refusal, message, words.serverId, at)
  })

  const consider = Effect.fnUntraced(function* (message: Message, origin: Origin) {
    const at = yield* now
    const isLive = origin.kind === "topic"
    const reading = decoded(message)
    if (Result.isFailure(reading)) {
      yield* tally.count(message.topic, reading.failure)
      yield* registry.noteRefusal(message.signer, reading.failure)
      yield* log.refused(reading.failure, message, undefined, at)
      return Result.fail(reading.failure)
    }
    const { words } = reading.success
    const outcome = yield* judged(reading.success, message, origin, at)
    if (Result.isSuccess(outcome)) {
      yield* tally.count(message.topic, undefined)
      if (isLive) yield* hearClock(words, false, at)
      if (origin.kind === "handed-on") {
        unrelayed.await(reading.success.kind, words.serverId, words.timestamp, at.steadyMillis)
      }
      yield* tellAccepted(outcome.success, reading.success, message, isLive, at)
      return outcome
    }
    const refusal = outcome.failure
    if (
      isLive &&
      refusal.reason === "repeated" &&
      unrelayed.take(reading.success.kind, words.serverId, words.timestamp, at.steadyMillis)
    ) {
      const known = yield* registry.find(words.serverId)
      if (Option.isSome(known)) {
        yield* tally.count(message.topic, undefined)
        return Result.succeed({ before: known.value, after: known.value })
      }
    }
    yield* tally.count(message.topic, refusal)
    const isOfNow = yield* isNews(refusal, reading.success)
    if (isOfNow) yield* registry.noteRefusal(message.signer, refusal)
    const isOld = refusal.reason === "too-old"
    const isOfClock = isLive && isOfNow && (isOld || refusal.reason === "too-far-ahead")
    const speaks = isOfClock && (yield* hearClock(words, isOld, at))
    yield* tellRefused(refusal, words, message, speaks, at)
    return outcome
  })

  const foresee = Effect.fnUntraced(function* (
    claim: Pick<Message, "topic" | "data" | "signer">,
    origin: Origin
  ): Effect.fn.Return<Refusal | undefined> {
    const reading = decoded(claim)
    if (Result.isFailure(reading)) return reading.failure
    const decide = decideOn(reading.success, { ...claim, signed: () => claim.data }, origin, yield* now)
    const foreseen = yield* registry.admit(reading.success.words.serverId, (known, remembered) =>
      Result.flatMap(decide(known, remembered), () => Result.fail(notNow))
    )
    return Result.isFailure(foreseen) && foreseen.failure !== notNow ? foreseen.failure : undefined
  })

  /** R17, decision 1 of the layout: whatever breaks here is counted and told, and the message is ignored. */
  const surviving = (message: Message, cause: Cause.Cause<never>): Effect.Effect<Outcome> => {
    const refusal = refuse("defect", "a defect of this server")
    return Effect.andThen(now, (at) => log.defect(message, Cause.pretty(cause), at)).pipe(
      Effect.andThen(tally.count(message.topic, refusal)),
      Effect.ignoreCause,
      Effect.as(Result.fail(refusal))
    )
  }

  return Intake.of({
    consider: (message, origin) => Effect.catchCause(consider(message, origin), (cause) => surviving(message, cause)),
    foresee,
    returns: Effect.acquireRelease(
      Effect.tap(Queue.sliding<PeerId>(16), (reader) => Effect.sync(() => returnReaders.add(reader))),
      (reader) =>
        Effect.suspend(() => {
          returnReaders.delete(reader)
          return Queue.shutdown(reader)
        })
    ),
    ownClock: Effect.map(now, (at) => OwnClock.verdict(clocks, at.steadyMillis))
  })
})
