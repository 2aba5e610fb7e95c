/**
 * The first words are not lost (R11): when a peer newly appears on a topic, this server's announcement and last
 * heartbeat go out again, beside the two schedules and without moving them.
 */
import { Effect, Queue, Random, type Scope } from "effect"
import { type Appearance, Gossip } from "../gossip/Gossip.ts"
import { announceTopic, heartbeatTopic, type Topic, topics } from "../gossip/Topic.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import type { Voice } from "./Voice.ts"

/** A newcomer to a crowd is greeted by each at another moment within this. Source: ruling R11. */
export const longestDelayMillis = 1_000

/** Between two such greetings, from end to start; who appears meanwhile is greeted when it has passed. Source: ruling R11. */
export const shortestPauseMillis = 5_000

/**
 * Listens for appearances from now on; the effect it succeeds with answers them for ever and is to be forked into a
 * scope, once the first words were said.
 */
export const make = (
  voice: Pick<Voice, "announce" | "heartbeat">
): Effect.Effect<Effect.Effect<never>, never, Gossip | Scope.Scope> =>
  Effect.gen(function* () {
    const gossip = yield* Gossip
    const steady = yield* SteadyClock
    const appearances = yield* gossip.appearances
    let lastSaidMillis = Number.NEGATIVE_INFINITY

    const wasAlone = Effect.fnUntraced(function* (appeared: ReadonlyArray<Appearance>) {
      const newcomers = new Set(appeared.map(({ peer }) => peer))
      const present = yield* Effect.forEach(topics, gossip.topicPeers)
      return present.flat().every((peer) => newcomers.has(peer))
    })

    // Where nobody listens there is nothing to say, and no failure to log.
    const greetOn = (topic: Topic, say: Effect.Effect<void>) =>
      Effect.flatMap(gossip.topicPeers(topic), (peers) =>
        peers.length > 0 ? Effect.as(say, true) : Effect.succeed(false)
      )
    const greet = Effect.gen(function* () {
      const announced = yield* greetOn(announceTopic, voice.announce)
      const beaten = yield* greetOn(heartbeatTopic, voice.heartbeat)
      if (announced || beaten) lastSaidMillis = yield* steady.nowMillis
    }).pipe(Effect.catchCause((cause) => Effect.logError("first words failed", cause)))

    return Effect.gen(function* () {
      while (true) {
        const appeared = yield* Queue.takeAll(appearances)
        const delayMillis = (yield* wasAlone(appeared)) ? 0 : (yield* Random.next) * longestDelayMillis
        const pauseMillis = lastSaidMillis + shortestPauseMillis - (yield* steady.nowMillis)
        yield* Effect.sleep(Math.ceil(Math.max(delayMillis, pauseMillis, 0)))
        // Who appeared during the wait hears these words too.
        yield* Queue.clear(appearances)
        yield* greet
      }
    })
  })
