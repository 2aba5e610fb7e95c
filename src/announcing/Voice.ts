/**
 * This server's voice: its announcement and its heartbeat, made at the moment they go out, one at a time and in the
 * order of their timestamps. When to speak is the announcer's business.
 */
import { Cause, Clock, Duration, Effect, Metric, Option, Semaphore } from "effect"
import { Settings } from "../config/Settings.ts"
import { Gossip, PublishRefused } from "../gossip/Gossip.ts"
import { announceTopic, heartbeatTopic, type Topic } from "../gossip/Topic.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import { countPublish, type PublishOutcome } from "../ops/Metrics.ts"
import type { Announcement } from "../registry/Announcement.ts"
import type { Heartbeat } from "../registry/Heartbeat.ts"
import { OwnWords } from "../registry/OwnWords.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../registry/Wire.ts"
import { Offer } from "./Capabilities.ts"
import { compose } from "./OwnAnnouncement.ts"
import * as OwnTimestamp from "./OwnTimestamp.ts"

export interface Voice {
  /** The announcement as it would go out now. */
  readonly announcement: Effect.Effect<Announcement>
  /** Publishes the announcement. A failure is logged; the next beat tries again (S24). */
  readonly announce: Effect.Effect<void>
  /** Publishes the last self-check's verdict. A failure is logged; the next beat tries again (S24). */
  readonly heartbeat: Effect.Effect<void>
  /** Publishes a heartbeat that says unhealthy, with the score unchanged (R13). After it the voice is silent. */
  readonly lastWords: Effect.Effect<void>
}

/** GossipSub that gives no answer for so long gives none. It must not hold up what is said next. */
const longestPublish = Duration.seconds(5)

const longestErrorText = 200

const errorText = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return (error instanceof Error ? error.message : String(error)).slice(0, longestErrorText)
}

const outcomeOf = (cause: Cause.Cause<unknown>): PublishOutcome => {
  const error = Cause.squash(cause)
  return error instanceof PublishRefused ? error.reason : "failed"
}

/** How the log names a message, gone out and refused. Source: specification, "Check it works", "Troubleshooting". */
const announcementLog = { published: "published server announcement", refused: "failed to publish announcement" }
const heartbeatLog = { published: "published heartbeat", refused: "failed to publish heartbeat" }

type Needs = Gossip | Offer | OwnWords | SelfCheck | Settings

export const make: Effect.Effect<Voice, never, Needs> = Effect.gen(function* () {
  const gossip = yield* Gossip
  const ownWords = yield* OwnWords
  const selfCheck = yield* SelfCheck
  const settings = yield* Settings
  const offer = yield* Offer
  const registry = yield* Metric.MetricRegistry
  const oneAtATime = yield* Semaphore.make(1)
  let lastTimestamp: bigint | undefined
  let silent = false

  const heartbeatNow: Effect.Effect<Heartbeat> = Effect.gen(function* () {
    return {
      serverId: gossip.self,
      healthy: Option.exists(yield* selfCheck.latest, ({ healthy }) => healthy),
      uptimeScore: (yield* selfCheck.score).score,
      timestamp: OwnTimestamp.following(lastTimestamp, yield* Clock.currentTimeNanos)
    }
  })

  const announcementNow: Effect.Effect<Announcement> = Effect.gen(function* () {
    const [capabilities, addresses] = [yield* offer.current, yield* gossip.addresses]
    return compose(settings, { ...(yield* heartbeatNow), capabilities, addresses })
  })

  const send = Effect.fnUntraced(function* (topic: Topic, timestamp: bigint, encoded: () => Uint8Array) {
    lastTimestamp = timestamp
    const data = encoded()
    // Before it goes out, because it may come back before `publish` returns.
    yield* ownWords.remember(timestamp)
    return yield* gossip.publish(topic, data).pipe(
      Effect.timeoutOrElse({
        duration: longestPublish,
        orElse: () =>
          new PublishRefused({
            topic,
            reason: "failed",
            cause: new Error(`no answer within ${Duration.toSeconds(longestPublish)} s`)
          })
      })
    )
  })

  /** Among this server's metrics, whoever had it speak: an application that offers something does so itself. */
  const count = (topic: Topic, outcome: PublishOutcome) =>
    Effect.provideService(countPublish(topic, outcome), Metric.MetricRegistry, registry)

  const say = <A extends Heartbeat>(
    topic: Topic,
    log: { readonly published: string; readonly refused: string },
    words: Effect.Effect<A>,
    encode: (message: A) => Uint8Array
  ) =>
    Effect.gen(function* () {
      const message = yield* words
      const { recipients } = yield* send(topic, message.timestamp, () => encode(message))
      yield* count(topic, "sent")
      yield* Effect.logDebug(log.published).pipe(
        Effect.annotateLogs({ topic, healthy: message.healthy, uptime_score: message.uptimeScore, recipients })
      )
    }).pipe(
      // A defect, of the encoder say, is no reason to fall silent: it is logged like a refusal (R17).
      Effect.catchCause((cause) =>
        Effect.logWarning(log.refused).pipe(
          Effect.annotateLogs({ topic, error: errorText(cause) }),
          Effect.andThen(count(topic, outcomeOf(cause)))
        )
      )
    )

  const unlessSilent = (effect: Effect.Effect<void>) =>
    Semaphore.withPermit(
      oneAtATime,
      Effect.suspend(() => (silent ? Effect.void : effect))
    )

  const sayHeartbeat = (words: Effect.Effect<Heartbeat>) => say(heartbeatTopic, heartbeatLog, words, encodeHeartbeat)

  return {
    announcement: announcementNow,
    announce: unlessSilent(say(announceTopic, announcementLog, announcementNow, encodeAnnouncement)),
    heartbeat: unlessSilent(sayHeartbeat(heartbeatNow)),
    lastWords: unlessSilent(
      Effect.suspend(() => {
        silent = true
        return sayHeartbeat(Effect.map(heartbeatNow, (heartbeat) => ({ ...heartbeat, healthy: false })))
      })
    )
  }
})
