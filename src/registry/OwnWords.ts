/**
 * Which words are this server's own. A message signed with its key that it did not publish is a twin's: another process
 * with the same identity (R18). It knows only when each was made.
 */
import { Clock, Context, Effect, Layer } from "effect"

/** Timestamps remembered; beyond it, the oldest are taken for this server's own. */
const maxRemembered = 4_096

export class OwnWords extends Context.Service<
  OwnWords,
  {
    /** To be told of each message before it is published. */
    remember(timestamp: bigint): Effect.Effect<void>
    /** Whether this server made a message with this timestamp: remembered, or from before it started. */
    isMine(timestamp: bigint): Effect.Effect<boolean>
  }
>()("ricochet-discovery/registry/OwnWords") {
  static readonly layer: Layer.Layer<OwnWords> = Layer.effect(
    OwnWords,
    Effect.gen(function* () {
      const made = new Set<bigint>()
      // Neighbours hand on what an earlier run of this server said.
      let surelyMine = yield* Clock.currentTimeNanos
      return OwnWords.of({
        remember: (timestamp) =>
          Effect.sync(() => {
            made.add(timestamp)
            if (made.size <= maxRemembered) return
            for (const oldest of made) {
              made.delete(oldest)
              if (oldest > surelyMine) surelyMine = oldest
              return
            }
          }),
        isMine: (timestamp) => Effect.sync(() => timestamp <= surelyMine || made.has(timestamp))
      })
    })
  )
}
