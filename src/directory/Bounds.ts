/** What an exchange of the directory may cost, either side. Every number is PROTOCOL.md's. */
import { Duration, Effect } from "effect"
import { StreamBroken } from "../gossip/Streams.ts"
import type { PeerId } from "../identity/PeerId.ts"

export const protocol = "/sf-network/services/directory/1.0.0"

/** Bytes of one message in an answer at most: a payload of 8 KiB, its signature, key and names. */
export const maxAnswerFrameBytes = 16_384
/** Messages in one answer that no honest neighbour hands on before the asker hangs up. */
export const badMessagesAtMost = 16
/** Answers under way at the same time, one a peer. */
export const answersAtATime = 32
/** Questions of one peer in a minute. */
export const questionsPerMinute = 12

const longestSilence = Duration.seconds(10)
const longestExchange = Duration.seconds(60)

const timeout = (what: string) => () => new StreamBroken({ reason: "timeout", cause: new Error(what) })

/** Fails when the other side stands still for 10 seconds. */
export const withinSilence = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.timeoutOrElse(effect, { duration: longestSilence, orElse: timeout("silent for 10 seconds") })

/** Fails when all of it takes over a minute. */
export const withinExchange = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.timeoutOrElse(effect, { duration: longestExchange, orElse: timeout("not done within 60 seconds") })

const pacedPeers = 1_024

/** Counts what each peer does in a minute. Of more than 1 024 peers the one that began longest ago is forgotten. */
export const paceOf = (perMinute: number) => {
  const since = new Map<PeerId, { startedMillis: number; count: number }>()
  return {
    allows(peer: PeerId, steadyMillis: number): boolean {
      const paced = since.get(peer)
      if (paced !== undefined && steadyMillis - paced.startedMillis < 60_000) return ++paced.count <= perMinute
      since.delete(peer)
      since.set(peer, { startedMillis: steadyMillis, count: 1 })
      const oldest = since.keys().next()
      if (since.size > pacedPeers && oldest.done === false) since.delete(oldest.value)
      return true
    }
  }
}
