/** The announcer of one server with scripted checks, on a network that only listens, with its log kept. */
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Announcer } from "../../src/announcing/Announcer.ts"
import { Settings, type SettingsShape } from "../../src/config/Settings.ts"
import { Readiness } from "../../src/health/Readiness.ts"
import * as ReadinessChecks from "../../src/health/ReadinessChecks.ts"
import { SelfCheck } from "../../src/health/SelfCheck.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import * as CapturedLog from "./CapturedLog.ts"
import * as RecordingGossip from "./RecordingGossip.ts"

export interface Options {
  readonly settings: SettingsShape
  readonly check?: Effect.Effect<void, unknown>
  readonly gossip?: ReturnType<typeof RecordingGossip.make>
  readonly clock?: Clock.Clock
}

/** Begins to build it. It is built when `started` has ended. */
export const start = Effect.fnUntraced(function* (options: Options) {
  const gossip = options.gossip ?? RecordingGossip.make()
  const log = CapturedLog.make()
  const scope = yield* Scope.make()
  const check = Layer.effectDiscard(
    Effect.flatMap(Readiness, ({ register }) => register("postgres", options.check ?? Effect.void))
  )
  const layer = Announcer.layer.pipe(
    Layer.provideMerge(SelfCheck.layer),
    Layer.provideMerge(check),
    Layer.provideMerge(ReadinessChecks.layer),
    Layer.provideMerge(OwnWords.layer),
    Layer.provideMerge(gossip.layer),
    Layer.provideMerge(Layer.succeed(Settings, options.settings)),
    Layer.provideMerge(log.layer)
  )
  const clock = options.clock ?? (yield* Clock.Clock)
  const started = yield* Layer.buildWithScope(layer, scope).pipe(
    Effect.provideService(Clock.Clock, clock),
    Effect.forkScoped
  )
  yield* TestClock.adjust(0)
  /** Stops it as a planned stop does; the fiber ends when nothing is left of it. */
  const stop = Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
  const services = Effect.suspend(() => {
    const built = started.pollUnsafe()
    return built === undefined ? Effect.die(new Error("not built yet")) : built
  })
  const announcer = Effect.map(services, Context.get(Announcer))
  const readiness = Effect.map(services, Context.get(Readiness))
  const ownWords = Effect.map(services, Context.get(OwnWords))
  return { gossip, log, started, stop, announcer, readiness, ownWords }
})
