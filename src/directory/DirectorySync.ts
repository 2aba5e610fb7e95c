/**
 * Asks neighbours for the whole list (R12), when Occasions says so and one at random every ten minutes, so that what was
 * lost on the way is made good. It also answers those that ask.
 */
import { Context, Effect, FiberSet, Layer, Queue, Random, type Scope } from "effect"
import type { Settings } from "../config/Settings.ts"
import { Gossip } from "../gossip/Gossip.ts"
import type { Streams } from "../gossip/Streams.ts"
import { announceTopic } from "../gossip/Topic.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { Intake } from "../registry/Intake.ts"
import type { Registry } from "../registry/Registry.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import { serve } from "./Answer.ts"
import * as Ask from "./Ask.ts"
import * as Occasions from "./Occasions.ts"

/** Between two questions that nothing but time has prompted. Source: ruling R12. */
const askEvery = "10 minutes"
/** Peers tried then until one answers: not every peer speaks the protocol. */
const triedAtMost = 3
/** A neighbour that has brought nothing new for so long is no reason to wait with the next. */
const patience = "1 second"

/** Between hearing a server again and the questions that follow, and between these. */
const pausesAfterReturn = ["1 second", "20 seconds", "40 seconds"] as const

/** What this server has asked since it started. */
export interface DirectoryCounts {
  readonly asked: number
  /** Questions that a neighbour did not answer, or not to the end. */
  readonly failed: number
  readonly messages: number
  readonly bytes: number
  readonly accepted: number
  /** Messages that told nothing new: heard before, or this server's own. */
  readonly known: number
  /** Messages that do not count for any other reason. */
  readonly refused: number
}

export class DirectorySync extends Context.Service<
  DirectorySync,
  {
    readonly counts: Effect.Effect<DirectoryCounts>
    /**
     * Asks one peer now, unless a question to it is under way. It never fails: what comes of it is logged and counted.
     * Succeeds with whether the peer has answered, to the end.
     */
    ask(peer: PeerId): Effect.Effect<boolean>
  }
>()("ricochet-discovery/directory/DirectorySync") {
  /** Asks and answers for as long as the layer lives. */
  static readonly layer: Layer.Layer<DirectorySync, never, Gossip | Intake | Registry | Settings | Streams> =
    Layer.effect(
      DirectorySync,
      Effect.suspend(() => make)
    )
}

const make: Effect.Effect<
  DirectorySync["Service"],
  never,
  Gossip | Intake | Registry | Scope.Scope | Settings | Streams
> = Effect.gen(function* () {
  const gossip = yield* Gossip
  const intake = yield* Intake
  const steady = yield* SteadyClock
  const askOnce = yield* Ask.make
  const asking = new Set<PeerId>()
  const run = yield* FiberSet.makeRuntime<never>()
  let counts: DirectoryCounts = { ...Ask.nothing, asked: 0, failed: 0 }

  const note = (part: Ask.Asked) => {
    counts = { ...counts, ...Ask.plus(counts, part) }
  }

  const failed = (peer: PeerId, error: Effect.Error<ReturnType<typeof askOnce>>) => {
    counts = { ...counts, failed: counts.failed + 1 }
    // What no honest neighbour sends is for the operator to know; all else happens.
    const [say, reason] =
      error._tag === "BadFrame" ? [Effect.logWarning, error.problem] : [Effect.logDebug, error.reason]
    return Effect.as(say("directory not received").pipe(Effect.annotateLogs({ peer, reason })), false)
  }

  const ask = (peer: PeerId): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (asking.has(peer)) return Effect.succeed(false)
      asking.add(peer)
      counts = { ...counts, asked: counts.asked + 1 }
      return askOnce(peer, note).pipe(
        Effect.tap((asked) => Effect.logDebug("directory received").pipe(Effect.annotateLogs({ peer, ...asked }))),
        Effect.as(true),
        Effect.catch((error) => failed(peer, error)),
        Effect.catchCause((cause) => Effect.as(Effect.logError("asking for a directory failed", cause), false)),
        Effect.ensuring(Effect.sync(() => asking.delete(peer)))
      )
    })

  const present = gossip.topicPeers(announceTopic)
  let occasions = Occasions.none
  const changes = yield* Queue.sliding<void>(1)
  const changed = Queue.offer(changes, undefined)

  const appear = Effect.fnUntraced(function* (peers: ReadonlyArray<PeerId>) {
    const wasAlone = (yield* present).every((peer) => peers.includes(peer))
    occasions = Occasions.appear(occasions, peers, wasAlone)
    yield* changed
  })

  const followAppearances = Effect.gen(function* () {
    // Two topics make two appearances of one peer; they are one reason to ask.
    const appeared = (yield* Queue.takeAll(appearances)).filter(({ topic }) => topic === announceTopic)
    if (appeared.length > 0) yield* appear(appeared.map(({ peer }) => peer))
  })

  /** Ends when it was answered, has failed or brings nothing new. */
  const askPatiently = Effect.fnUntraced(function* (peer: PeerId) {
    occasions = Occasions.ask(occasions, peer, yield* steady.nowMillis)
    let isOver = false
    run(
      Effect.gen(function* () {
        const isAnswered = yield* ask(peer)
        occasions = Occasions.settle(occasions, isAnswered, yield* steady.nowMillis)
        isOver = true
        yield* changed
      })
    )
    const over = Effect.repeat(Queue.take(changes), { until: () => isOver })
    let accepted: number
    do {
      accepted = counts.accepted
      yield* Effect.timeoutOption(over, patience)
    } while (!isOver && counts.accepted > accepted)
  })

  const askInTurn = Effect.gen(function* () {
    const peers = (yield* present).filter((peer) => !asking.has(peer))
    const next = Occasions.next(occasions, peers, yield* Random.next, yield* steady.nowMillis)
    if ("ask" in next) return yield* askPatiently(next.ask)
    const change = Queue.take(changes)
    yield* next.afterMillis === Number.POSITIVE_INFINITY ? change : Effect.timeoutOption(change, next.afterMillis)
  })

  /**
   * A server is heard again that had been missing. Whatever kept its words away kept others away too, and the way back
   * may be long: whoever brought them is asked at once, and again when more may have come there.
   */
  const followReturns = Effect.gen(function* () {
    const neighbour = yield* Queue.take(returns)
    for (const pause of pausesAfterReturn) {
      yield* Effect.sleep(pause)
      occasions = Occasions.appear(occasions, [neighbour], false)
      yield* changed
    }
    yield* Queue.clear(returns)
  })

  const askAnyone = Effect.gen(function* () {
    yield* Effect.sleep(askEvery)
    const peers = yield* Random.shuffle(yield* present)
    for (const peer of peers.slice(0, triedAtMost)) if (yield* ask(peer)) break
  })

  /** Again and again until the scope closes, whatever goes wrong (R17). */
  const keep = (step: Effect.Effect<void>) =>
    step.pipe(
      Effect.catchCause((cause) =>
        Effect.andThen(Effect.logError("asking for directories failed", cause), Effect.sleep(patience))
      ),
      Effect.forever,
      Effect.forkScoped
    )

  yield* serve
  const appearances = yield* gossip.appearances
  const returns = yield* intake.returns
  // Who was on the topic before anyone listened for appearances.
  yield* appear(yield* present)
  yield* keep(followAppearances)
  yield* keep(followReturns)
  yield* keep(askInTurn)
  yield* keep(askAnyone)
  return DirectorySync.of({ counts: Effect.sync(() => counts), ask })
})
