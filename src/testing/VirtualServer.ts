/**
 * One whole server in virtual time: the composition that runs for real, on a network in memory, with a self-check that
 * follows a script, a clock that may be wrong, and neither sockets, files nor a database.
 */

import type { Duration } from "effect"
import { Clock, type Context, Effect, Exit, Fiber, Layer, type Option, Random, Scope } from "effect"
import type { OwnAnnouncementRefused } from "../announcing/Announcer.ts"
import type { MemoryNetwork } from "../gossip/GossipMemory.ts"
import type { Place } from "../gossip/GossipMemoryLinks.ts"
import type { PeerId } from "../identity/PeerId.ts"
import type { Known } from "../registry/Known.ts"
import * as Query from "../registry/Query.ts"
import { Registry } from "../registry/Registry.ts"
import { now } from "../time/Now.ts"
import * as VirtualClock from "./VirtualClock.ts"
import { layer, type VirtualServices } from "./VirtualComposition.ts"
import type { VirtualHistory } from "./VirtualHistory.ts"
import { VirtualKept } from "./VirtualKept.ts"
import * as VirtualLog from "./VirtualLog.ts"
import { peerIdOf } from "./VirtualPeerId.ts"
import * as VirtualSettings from "./VirtualSettings.ts"

/** What a virtual server is made with, besides its settings. */
export interface VirtualServerOptions extends VirtualSettings.VirtualSettings {
  /** What it announces that it offers. Default: what every Ricochet server does. */
  readonly capabilities?: ReadonlyArray<string> | undefined
  /** What its self-check does, as for `check`. Default: it passes. */
  readonly check?: Effect.Effect<void, unknown> | undefined
  /** How far its wall clock is ahead; negative is behind. Default: it is right. */
  readonly skew?: Duration.Input | undefined
  /**
   * Whether it remembers across restarts what it knew and measured, as with a database (R14). Default false, for then
   * a day passes ten times faster.
   */
  readonly keeps?: boolean | undefined
  /** Its identity where that is not the one of its name: two servers with one identity are twins. */
  readonly peerId?: PeerId | undefined
}

/** A virtual server, and what a test does to it. It keeps its identity over its lives. */
export interface VirtualServer {
  /** Its name on the network. */
  readonly name: string
  /** Its peer ID, made of its name where its options say nothing else. */
  readonly peerId: PeerId
  /**
   * Starts it. What takes no time has happened when this ends; a first self-check that takes its time goes on while
   * the test lets it pass. Fails as the process would.
   */
  readonly start: Effect.Effect<void, OwnAnnouncementRefused>
  /** A planned stop: with a goodbye, as on SIGTERM. */
  readonly stop: Effect.Effect<void>
  /** Gone from one moment to the next, as by `kill -9`. It can be started again under its identity. */
  readonly crash: Effect.Effect<void>
  /** Stands still, as a suspended machine does: no timer fires, and what is sent to it waits. */
  readonly suspend: Effect.Effect<void>
  /** Goes on after `suspend`: what waited comes at once. */
  readonly resume: Effect.Effect<void>
  /** From now on its wall clock is so far ahead of the others; negative is behind. */
  skew(by: Duration.Input): Effect.Effect<void>
  /** From now on each self-check is this effect: one that succeeds, fails, dies, sleeps or never ends. */
  check(script: Effect.Effect<void, unknown>): Effect.Effect<void>
  /** Names of the servers it lists as available, in order. */
  readonly list: Effect.Effect<ReadonlyArray<string>>
  /** Why it lists another server, or does not. */
  why(server: { readonly peerId: PeerId }): Effect.Effect<Query.Why>
  /** What it believes of another server. */
  entry(server: { readonly peerId: PeerId }): Effect.Effect<Option.Option<Known>>
  /** What it has logged in all its lives, oldest first. */
  readonly logs: ReadonlyArray<VirtualLog.LogLine>
  /** The lines of the log with exactly this message. */
  logged(message: string): ReadonlyArray<VirtualLog.LogLine>
  /** Runs an effect with the server's services, on its clock. Dies while it is not up. */
  run<A, E>(effect: Effect.Effect<A, E, VirtualServices>): Effect.Effect<A, E>
}

/** What a server needs of the network it lives on. */
export interface Surroundings {
  readonly memory: MemoryNetwork
  readonly history: VirtualHistory
  readonly scope: Scope.Scope
  readonly seed: string
  readonly nowMillis: () => number
  /** The date, by a clock that is right, when the network's clock read zero. */
  readonly datedNanos: bigint
  nameOf(peerId: PeerId): string
}

/** One life of a server, from start to stop or crash. */
interface Life {
  readonly scope: Scope.Closeable
  /** Of the node alone, so that a crash can take it off the network before anything else ends. */
  readonly nodeScope: Scope.Closeable
  starting: Fiber.Fiber<void, OwnAnnouncementRefused> | undefined
  context: Context.Context<VirtualServices> | undefined
  /** Nothing that it does after a crash is logged or kept: there is no process that would do it. */
  isAlive: boolean
}

/** Lets what takes no time happen, for as long as the fiber has not ended; a chain of so many steps is a long one. */
const settle = Effect.fnUntraced(function* (fiber: Fiber.Fiber<unknown, unknown>) {
  for (let step = 0; step < 200 && fiber.pollUnsafe() === undefined; step++) yield* Effect.yieldNow
})

export const make = Effect.fnUntraced(function* (
  surroundings: Surroundings,
  name: string,
  options: VirtualServerOptions = {}
): Effect.fn.Return<VirtualServer> {
  const { memory, history, scope, nameOf, nowMillis } = surroundings
  const peerId = options.peerId ?? peerIdOf(name)
  const place: Place = name
  const time = yield* VirtualClock.make(surroundings.datedNanos)
  const random = yield* Random.withSeed(Random.Random, `${surroundings.seed}/${name}`)
  const kept = new VirtualKept()
  const logs: Array<VirtualLog.LogLine> = []
  let script = options.check ?? Effect.void
  let life: Life | undefined
  yield* time.skew(options.skew ?? 0)

  const layerOf = (own: Life) =>
    layer({
      settings: VirtualSettings.make(options),
      capabilities: options.capabilities,
      check: Effect.suspend(() => script),
      kept: options.keeps === true ? kept.layer(() => own.isAlive) : undefined,
      keepLine: (line) => {
        if (!own.isAlive) return
        logs.push(line)
        history.note(name, () => VirtualLog.print(line))
      },
      nowMillis,
      clock: time.clock,
      random
    })

  const start = Effect.gen(function* () {
    if (life !== undefined) return yield* Effect.die(new Error(`${name} is up already`))
    history.note(name, () => "starts")
    const own: Life = {
      scope: yield* Scope.make(),
      nodeScope: yield* Scope.make(),
      starting: undefined,
      context: undefined,
      isAlive: true
    }
    life = own
    const node = yield* Layer.buildWithMemoMap(
      memory.node(peerId, { at: place }),
      Layer.makeMemoMapUnsafe(),
      own.nodeScope
    )
    const building = Layer.buildWithMemoMap(
      layerOf(own).pipe(Layer.provideMerge(Layer.succeedContext(node))),
      Layer.makeMemoMapUnsafe(),
      own.scope
    )
    const up = Effect.map(building, (context) => {
      own.context = context
    })
    own.starting = yield* Effect.forkIn(
      Effect.onError(up, () => Effect.forkIn(end(own), scope)),
      scope
    )
    yield* settle(own.starting)
    const exit = own.starting.pollUnsafe()
    if (exit !== undefined && Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
  })

  const end = (own: Life) =>
    Effect.suspend(() => (own.starting === undefined ? Effect.void : Fiber.interrupt(own.starting))).pipe(
      Effect.andThen(Scope.close(own.scope, Exit.void)),
      Effect.andThen(Scope.close(own.nodeScope, Exit.void)),
      Effect.andThen(
        Effect.sync(() => {
          if (life === own) life = undefined
        })
      )
    )

  const stop = Effect.gen(function* () {
    if (life === undefined) return
    history.note(name, () => "stops")
    yield* settle(yield* Effect.forkIn(end(life), scope))
  })

  /** Off the network first, so that nothing of how the rest ends is heard. */
  const cut = (own: Life) =>
    Effect.suspend(() => {
      own.isAlive = false
      life = undefined
      return Scope.close(own.nodeScope, Exit.void)
    })

  const crash = Effect.gen(function* () {
    if (life === undefined) return
    history.note(name, () => "crashes")
    const own = life
    yield* cut(own)
    yield* Effect.forkIn(end(own), scope)
  })

  // Not waited for: an end that takes time, of the drain delay say, would never come, for time has ended too.
  yield* Scope.addFinalizer(
    scope,
    Effect.gen(function* () {
      if (life === undefined) return
      const own = life
      yield* cut(own)
      yield* settle(yield* Effect.forkDetach(end(own)))
    })
  )

  const run = <A, E>(effect: Effect.Effect<A, E, VirtualServices>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const context = life?.context
      if (context === undefined) return Effect.die(new Error(`${name} is not up\n${history.print()}`))
      return effect.pipe(Effect.provideContext(context), Effect.provideService(Clock.Clock, time.clock))
    })

  const list = run(
    Effect.gen(function* () {
      const registry = yield* Registry
      return Query.available(yield* registry.entries, yield* now).map(({ serverId }) => nameOf(serverId))
    })
  )
  const entry = (server: { readonly peerId: PeerId }) =>
    run(Effect.flatMap(Registry, (registry) => registry.find(server.peerId)))
  const why = (server: { readonly peerId: PeerId }) =>
    run(
      Effect.gen(function* () {
        const registry = yield* Registry
        return Query.why(
          {
            entry: yield* registry.find(server.peerId),
            refusal: yield* registry.refusalOf(server.peerId),
            eviction: yield* registry.evictionOf(server.peerId)
          },
          yield* now
        )
      })
    )

  const noted = (text: string, effect: Effect.Effect<unknown>) =>
    Effect.andThen(
      Effect.sync(() => history.note(name, () => text)),
      Effect.asVoid(effect)
    )
  return {
    name,
    peerId,
    start,
    stop,
    crash,
    suspend: noted("stands still", Effect.andThen(time.suspend, memory.hold(place))),
    resume: noted("goes on", Effect.andThen(time.resume, memory.release(place))),
    skew: (by) => noted(`its clock is ahead by ${String(by)}`, time.skew(by)),
    check: (next) =>
      noted(
        "its self-check is another",
        Effect.sync(() => {
          script = next
        })
      ),
    list,
    why,
    entry,
    logs,
    logged: (message) => logs.filter((line) => line.message === message),
    run
  }
})
