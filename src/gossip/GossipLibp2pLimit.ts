/**
 * Tells operators that the node has all the connections it may have, at which libp2p turns servers away in silence. It
 * closes nothing.
 */
import { Effect, Layer } from "effect"
import { Settings } from "../config/Settings.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"

const warnEveryMillis = 10 * 60_000

const watch = Effect.gen(function* () {
  const { isBrought, libp2p, listen } = yield* Libp2pNode
  const { performance } = yield* Settings
  const clock = yield* SteadyClock
  const limit = performance.maxConcurrentConnections
  let quietUntilMillis = Number.NEGATIVE_INFINITY

  // How many a node may have that an application made is the application's to say.
  if (isBrought) return
  yield* listen(
    libp2p,
    "connection:open",
    Effect.fnUntraced(function* () {
      const nowMillis = yield* clock.nowMillis
      if (libp2p.getConnections().length < limit || nowMillis < quietUntilMillis) return
      quietUntilMillis = nowMillis + warnEveryMillis
      yield* Effect.logWarning("connection limit reached, further servers are turned away").pipe(
        Effect.annotateLogs({ limit, setting: "performance.max_concurrent_connections" })
      )
    })
  )
})

/** One WARN in ten minutes, while connections are opened up to the limit. */
export const layer: Layer.Layer<never, never, Libp2pNode | Settings> = Layer.effectDiscard(watch)
