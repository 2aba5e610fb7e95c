/**
 * The announcer: says what this server is, once it is up, on two fixed schedules, when a peer appears, and when it
 * leaves. It is the last layer to be built: building it is the moment the server goes public (R23).
 */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { Settings } from "../config/Settings.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { announceTopic, heartbeatTopic } from "../gossip/Topic.ts"
import { Readiness } from "../health/Readiness.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import type { Announcement } from "../registry/Announcement.ts"
import type { OwnWords } from "../registry/OwnWords.ts"
import { ownBounds } from "../registry/Wire.ts"
import * as Beat from "../time/Beat.ts"
import { Offer } from "./Capabilities.ts"
import * as Farewell from "./Farewell.ts"
import * as FirstWords from "./FirstWords.ts"
import * as GoDuration from "./GoDuration.ts"
import * as Voice from "./Voice.ts"

/**
 * What this server would announce breaks the bounds that every server holds announcements to (R4, I13): no other
 * would ever list it. Fails the start with exit code 78.
 */
export class OwnAnnouncementRefused extends Schema.TaggedError<OwnAnnouncementRefused>()("OwnAnnouncementRefused", {
  detail: Schema.String
}) {
  /** What the program ends with. */
  get exitCode() {
    return 78
  }
  override get message() {
    return `every other server would refuse this server's announcement: ${this.detail}; shorten what it says of itself`
  }
}

/** This server's voice towards the others, as an application has it. */
export class Announcer extends Context.Service<
  Announcer,
  {
    /** This server's announcement as it would be sent now. */
    readonly announcement: Effect.Effect<Announcement>
    /**
     * Offers one capability more, until the scope closes. The others are told at once, both when it comes and when it
     * goes. Fails with OwnAnnouncementRefused when it is longer than 256 characters, or the 65th.
     */
    offer(capability: string): Effect.Effect<void, OwnAnnouncementRefused, Scope.Scope>
    /**
     * Turns unready, waits `ops.drain_delay`, publishes a last heartbeat that says unhealthy, and is silent from then
     * on (R13). Ends within `ops.shutdown_timeout`. It is run when the layer closes; run before, it is not run again.
     */
    readonly farewell: Effect.Effect<void>
  }
>()("ricochet-discovery/announcing/Announcer") {
  /** Checks once, says the first words, and speaks until the scope closes. */
  static readonly layer: Layer.Layer<
    Announcer,
    OwnAnnouncementRefused,
    Gossip | OwnWords | Readiness | SelfCheck | Settings
  > = Layer.effect(
    Announcer,
    Effect.suspend(() => make)
  ).pipe(Layer.provide(Offer.layer))
}

const make: Effect.Effect<
  Announcer["Service"],
  OwnAnnouncementRefused,
  Gossip | Offer | OwnWords | Readiness | Scope.Scope | SelfCheck | Settings
> = Effect.gen(function* () {
  const settings = yield* Settings
  const gossip = yield* Gossip
  const readiness = yield* Readiness
  const selfCheck = yield* SelfCheck
  const offered = yield* Offer
  const voice = yield* Voice.make

  yield* checkBounds(yield* voice.announcement)
  const { healthy } = yield* selfCheck.run
  yield* Effect.logInfo("registry started").pipe(
    Effect.annotateLogs({
      announce_topic: announceTopic,
      heartbeat_topic: heartbeatTopic,
      health_check_interval: GoDuration.fromDuration(settings.intervals.healthCheck),
      service_announcement_interval: GoDuration.fromDuration(settings.intervals.serviceAnnouncement),
      first_check_passed: healthy,
      region: settings.server.region,
      server_id: gossip.self
    })
  )

  // Registered before anything is said and before anything is forked: closing stops the beats first, then says farewell.
  const { drainDelay, shutdownTimeout } = settings.ops
  const farewell = yield* Farewell.make({
    drain: readiness.drain,
    lastWords: voice.lastWords,
    drainDelay,
    shutdownTimeout
  })
  yield* Effect.addFinalizer(() => farewell)

  const firstWords = yield* FirstWords.make(voice)
  yield* voice.announce
  yield* voice.heartbeat
  yield* Effect.forkScoped(firstWords)
  yield* Effect.forkScoped(
    Beat.run({
      label: "announcement",
      interval: settings.intervals.serviceAnnouncement,
      first: "after-interval",
      effect: voice.announce
    })
  )
  yield* Effect.forkScoped(
    Beat.run({
      label: "self-check",
      interval: settings.intervals.healthCheck,
      first: "after-interval",
      effect: Effect.andThen(selfCheck.run, voice.heartbeat),
      onSuspended: Beat.logSuspended
    })
  )

  // In the background when it goes: whoever closes a scope is not to wait for the network.
  const scope = yield* Effect.scope
  const offer = Effect.fn("Announcer.offer")(function* (capability: string) {
    const words = yield* voice.announcement
    yield* checkBounds({ ...words, capabilities: [...new Set([...words.capabilities, capability])] })
    yield* Effect.addFinalizer(() => Effect.forkIn(voice.announce, scope))
    yield* offered.add(capability)
    yield* voice.announce
  })
  return Announcer.of({ announcement: voice.announcement, offer, farewell })
})

const checkBounds = (announcement: Announcement): Effect.Effect<void, OwnAnnouncementRefused> => {
  const refusal = ownBounds(announcement)
  return refusal === undefined ? Effect.void : new OwnAnnouncementRefused({ detail: refusal.detail })
}
