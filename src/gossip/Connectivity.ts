/**
 * Whether this server has company: who shares its topics, since when nobody does, and what is tried against it (R15).
 * It connects nobody; a network that dials says how it fares.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import { Gossip } from "./Gossip.ts"
import { topics } from "./Topic.ts"

/** A configured address to start from, and how it goes with it. */
export interface BootstrapStatus {
  /** The multiaddr as it was written. */
  readonly address: string
  /** The peer ID that the address ends in; absent where it has none. */
  readonly peer: PeerId | undefined
  /** Whether a connection with that peer is open. */
  readonly isConnected: boolean
  /** Why the last try failed; absent when none has since the peer was last connected. */
  readonly lastError: string | undefined
  /** Absent while connected, and for an address that this server has no transport for. */
  readonly nextTryInMillis: number | undefined
}

/** How much company a server has. */
export interface ConnectivityStatus {
  /** Peers on at least one of the two topics. */
  readonly topicPeers: number
  /** Since when there are none, in milliseconds of the wall clock; absent in company. */
  readonly aloneSinceMillis: number | undefined
  /** Every configured address to start from, in the order of the configuration. */
  readonly bootstrap: ReadonlyArray<BootstrapStatus>
}

/** Whether this server has company (R15). */
export class Connectivity extends Context.Service<
  Connectivity,
  {
    /** How much company there is at this moment. */
    readonly status: Effect.Effect<ConnectivityStatus>
  }
>()("ricochet-discovery/gossip/Connectivity") {
  /** For a network without addresses to dial. */
  static readonly layer: Layer.Layer<Connectivity, never, Gossip> = Layer.suspend(() =>
    Layer.effect(Connectivity, make(Effect.succeed([])))
  )
}

const lookEvery = "2 seconds"
/** How long a server may be alone after its start before that is worth a word. */
const firstWordAfterMillis = 5_000
const firstWarningAfterMillis = 60_000
const warningEveryMillis = 10 * 60_000

interface Alone {
  readonly sinceWallMillis: number
  readonly sinceSteadyMillis: number
  /** At start it is no fault: an INFO comes first. */
  readonly saidSo: boolean
  readonly nextWarningMillis: number
}

/** Watches until the scope closes, and says at a bounded pace that this server is alone. */
export const make = Effect.fnUntraced(function* (bootstrap: Effect.Effect<ReadonlyArray<BootstrapStatus>>) {
  const gossip = yield* Gossip
  const clock = yield* SteadyClock
  let alone: Alone | undefined
  let hasWarned = false
  let hasHadCompany = false

  const countPeers = Effect.map(
    Effect.forEach(topics, (topic) => gossip.topicPeers(topic)),
    (peers) => new Set(peers.flat()).size
  )

  const look = Effect.gen(function* () {
    const topicPeers = yield* countPeers
    if (topicPeers > 0) {
      if (hasWarned) yield* Effect.logInfo("no longer alone").pipe(Effect.annotateLogs({ topic_peers: topicPeers }))
      hasWarned = false
      hasHadCompany = true
      alone = undefined
      return topicPeers
    }
    const steadyMillis = yield* clock.nowMillis
    alone ??= {
      sinceWallMillis: yield* Clock.currentTimeMillis,
      sinceSteadyMillis: steadyMillis,
      saidSo: hasHadCompany,
      nextWarningMillis: steadyMillis + firstWarningAfterMillis
    }
    const forMillis = steadyMillis - alone.sinceSteadyMillis
    if (!alone.saidSo && forMillis >= firstWordAfterMillis) {
      alone = { ...alone, saidSo: true }
      yield* Effect.logInfo("no peers yet")
    }
    if (steadyMillis >= alone.nextWarningMillis) {
      alone = { ...alone, nextWarningMillis: steadyMillis + warningEveryMillis }
      hasWarned = true
      const addresses = yield* bootstrap
      yield* Effect.logWarning("no peer on either topic").pipe(
        Effect.annotateLogs({
          alone_for: Duration.format(Duration.seconds(Math.floor(forMillis / 1_000))),
          bootstrap_addresses: addresses.length,
          tried: addresses.filter(({ nextTryInMillis }) => nextTryInMillis !== undefined).length
        })
      )
    }
    return 0
  })

  yield* look.pipe(
    Effect.catchCause((cause) => Effect.logError("looking for topic peers failed", cause)),
    Effect.repeat(Schedule.spaced(lookEvery)),
    Effect.forkScoped
  )

  return Connectivity.of({
    status: Effect.gen(function* () {
      const topicPeers = yield* look
      return { topicPeers, aloneSinceMillis: alone?.sinceWallMillis, bootstrap: yield* bootstrap }
    })
  })
})
