/**
 * Brings back what was kept (R14), before anything is announced: the last self-checks, then the servers known, each
 * message opened, its signature verified and judged once more. A database that is away, or full of servers, delays the
 * start by a bound; the rest follows behind.
 */
import { Clock, Duration, Effect, Latch, Layer, Option, Result, Schedule } from "effect"
import { Settings } from "../config/Settings.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { announceTopic } from "../gossip/Topic.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import { textOf } from "../logging/FactText.ts"
import { Intake } from "../registry/Intake.ts"
import { forgottenAfterMillis, maxAheadNanos, tooOldNanos } from "../registry/Limits.ts"
import { Registry } from "../registry/Registry.ts"
import * as Timestamp from "../time/Timestamp.ts"
import { KeptChecks } from "./KeptChecks.ts"
import { type KeptServer, KeptServers } from "./KeptServers.ts"

/** Longest time a start waits for what was kept. */
const startBound = Duration.seconds(2)
/** Longest time for the database to answer one query of it. */
const loadBound = Duration.seconds(10)

/** Between two attempts while the database is away. */
const whileAway = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")]).pipe(
  Schedule.jittered
)

/** Servers whose signatures are verified at the same time. */
const verifiedAtOnce = 8
const longestErrorText = 200

const restoreChecks = Effect.gen(function* () {
  const [keptChecks, selfCheck] = [yield* KeptChecks, yield* SelfCheck]
  const kept = yield* Effect.timeout(keptChecks.load, loadBound)
  // What this process measured may have been kept already, when the database came back after the start.
  const own = new Set((yield* selfCheck.history).map(({ startedWallMillis }) => startedWallMillis))
  const earlier = kept.filter(({ startedWallMillis }) => !own.has(startedWallMillis))
  yield* selfCheck.restore(earlier)
  return earlier.length
})

/** Whether one server is believed again. A message that does not verify, or is refused, is as if it had not been kept. */
const restoreServer = Effect.fnUntraced(function* (server: KeptServer) {
  const [gossip, intake, registry] = [yield* Gossip, yield* Intake, yield* Registry]
  let isBelieved = false
  // The announcement first: a heartbeat of a server that has not announced counts for nothing yet (S16).
  for (const kept of [server.announcement, server.heartbeat]) {
    if (kept === undefined) continue
    const message = yield* Effect.option(gossip.verify(kept.signed))
    if (Option.isNone(message)) continue
    const outcome = yield* intake.consider(message.value, {
      kind: "restored",
      heardWallMillis: server.lastHeardMillis,
      firstHeardWallMillis: server.firstHeardMillis
    })
    isBelieved = isBelieved || Result.isSuccess(outcome)
    // There is no room any more, which is how it would have been evicted: nothing that it said counts twice (R7).
    if (Result.isFailure(outcome) && outcome.failure.reason === "full") {
      const { signer, topic } = message.value
      const isAnnouncement = topic === announceTopic
      yield* registry.remember(signer, {
        announcementTimestamp: isAnnouncement ? kept.timestamp : undefined,
        heartbeatTimestamp: isAnnouncement ? undefined : kept.timestamp
      })
    }
  }
  return isBelieved
})

/** Servers that were pushed out stay out; no copy that could still pass counts again (R7). Those heard last are newest. */
const restoreEvicted = Effect.gen(function* () {
  const [registry, keptServers] = [yield* Registry, yield* KeptServers]
  const sinceMillis = (yield* Clock.currentTimeMillis) - Timestamp.toMillis(tooOldNanos + maxAheadNanos)
  const evicted = yield* Effect.timeout(keptServers.loadEvicted(sinceMillis), loadBound)
  yield* Effect.forEach(evicted.toReversed(), (last) => registry.remember(last.serverId, last), { discard: true })
})

const restoreServers = Effect.gen(function* () {
  const [gossip, keptServers] = [yield* Gossip, yield* KeptServers]
  const { discovery } = yield* Settings
  const sinceMillis = (yield* Clock.currentTimeMillis) - forgottenAfterMillis
  const kept = yield* Effect.timeout(keptServers.load(sinceMillis, discovery.maxServers), loadBound)
  yield* Effect.timeout(keptServers.forgetBefore(sinceMillis), loadBound)
  yield* gossip.remember(kept.map(({ addresses, serverId }) => ({ peer: serverId, addresses })))
  const believed = yield* Effect.forEach(kept, restoreServer, { concurrency: verifiedAtOnce })
  const servers = believed.filter(Boolean).length
  return { servers, refused: kept.length - servers }
})

/**
 * Brings back the self-checks before the first is run, and the servers before the topics are joined, when the database
 * answers within 2 seconds. When it is away, or there is more than that time is enough for, the start goes on and the
 * rest comes back behind it, each message judged against what was heard meanwhile.
 */
export const layer: Layer.Layer<
  never,
  never,
  KeptServers | KeptChecks | SelfCheck | Intake | Registry | Gossip | Settings
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const startMayGoOn = yield* Latch.make(false)
    let isTold = false

    const failed = Effect.fnUntraced(function* (cause: unknown) {
      const error = textOf(cause).slice(0, longestErrorText)
      if (!isTold) yield* Effect.annotateLogs(Effect.logWarning("failed to restore what was kept"), { error })
      isTold = true
      yield* startMayGoOn.open
    })
    const untilItSucceeds = <A, E, R>(part: Effect.Effect<A, E, R>) =>
      part.pipe(Effect.tapError(failed), Effect.retry(whileAway))

    const restore = Effect.gen(function* () {
      const begun = yield* Clock.currentTimeMillis
      const checks = yield* untilItSucceeds(restoreChecks)
      yield* untilItSucceeds(restoreEvicted)
      const { servers, refused } = yield* untilItSucceeds(restoreServers)
      const duration_ms = (yield* Clock.currentTimeMillis) - begun
      yield* Effect.annotateLogs(Effect.logInfo("restored what was kept"), { servers, refused, checks, duration_ms })
    })

    yield* restore.pipe(
      Effect.catchCause((cause) => Effect.logError("failed to restore what was kept", cause)),
      Effect.ensuring(startMayGoOn.open),
      Effect.forkScoped
    )
    yield* Effect.timeoutOption(startMayGoOn.await, startBound)
  })
)
