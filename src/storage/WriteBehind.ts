/**
 * Keeps what this server knows and measures (R14), behind its back: at most one batch a second, from a bounded backlog,
 * tried again while the database is away. No message and no self-check ever waits for it.
 */
import { Cause, Context, Duration, Effect, Layer, Queue } from "effect"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlError } from "effect/sql/SqlError"
import { Settings } from "../config/Settings.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import { textOf } from "../logging/FactText.ts"
import { type Change, Registry } from "../registry/Registry.ts"
import { orAbandon } from "../time/Bounded.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import { Backlog } from "./Backlog.ts"
import { KeptChecks } from "./KeptChecks.ts"
import { KeptServers } from "./KeptServers.ts"

/** Between two batches, in milliseconds. Source: ruling R14, "batched". */
const paceMillis = 1_000
/** Between two attempts while the database is away at most, in milliseconds. */
const longestPauseMillis = 10_000
/**
 * Servers in one batch: three times what 50 000 servers say in a second. The embedded database blocks the process while
 * it writes them, for about 40 ms.
 */
const mostServers = 500
/** Longest time for one batch. */
const writeBound = Duration.seconds(10)
/** Longest time that the last batches hold up a stop. */
const flushBound = Duration.seconds(1)
const longestErrorText = 200

export interface WriteBehindStatus {
  /** Batches written. */
  readonly writes: number
  /** Batches that failed, to be tried again. */
  readonly failures: number
  /** Servers and self-checks that wait to be written. */
  readonly pending: number
  /** Changes that were given up, because more servers waited than the registry may hold. */
  readonly dropped: number
  /** How long the oldest change or self-check has waited, in milliseconds; 0 when none waits. */
  readonly lagMillis: number
}

export class WriteBehind extends Context.Service<
  WriteBehind,
  {
    readonly status: Effect.Effect<WriteBehindStatus>
  }
>()("ricochet-discovery/storage/WriteBehind") {
  static readonly layer: Layer.Layer<
    WriteBehind,
    never,
    Registry | SelfCheck | KeptServers | KeptChecks | Settings | Gossip
  > = Layer.effect(
    WriteBehind,
    Effect.suspend(() => make)
  )
}

type Changed = Pick<Change, "serverId" | "entry" | "cause">

const make = Effect.gen(function* () {
  const [registry, selfCheck] = [yield* Registry, yield* SelfCheck]
  const { addressBook } = yield* Gossip
  const [keptServers, keptChecks] = [yield* KeptServers, yield* KeptChecks]
  const { nowMillis } = yield* SteadyClock
  const backlog = new Backlog((yield* Settings).discovery.maxServers)
  let writes = 0
  let failures = 0
  let failuresInARow = 0

  /** Silence is no news: it follows from what is kept already. */
  const noteAll = (changed: ReadonlyArray<Changed>) =>
    Effect.map(nowMillis, (at) => {
      for (const { serverId, entry, cause } of changed) {
        if (cause === "evicted") backlog.noteEvicted(serverId, at)
        else if (cause !== "silent") backlog.note(serverId, entry, at)
      }
    })

  /** Notes what has happened and is still on its way to whoever follows it. */
  let noteRest: Effect.Effect<void> = Effect.void

  /** Begins with the entries there are, unless they are believed from what is kept already. */
  const followRegistry = Effect.fnUntraced(function* (isFirst: boolean) {
    const { changes, entries } = yield* registry.subscribe
    noteRest = Effect.ignore(Effect.flatMap(Queue.clear(changes), noteAll))
    const unkept = entries.filter(({ restored }) => !isFirst || !restored)
    yield* noteAll(unkept.map((entry) => ({ serverId: entry.serverId, entry, cause: "announced" })))
    return yield* Effect.forever(Effect.flatMap(Queue.takeAll(changes), noteAll))
  }, Effect.scoped)

  const write = Effect.gen(function* () {
    const batch = backlog.next(mostServers, yield* addressBook)
    yield* keptChecks.write(batch.checks)
    yield* keptServers.write(batch.servers)
    yield* keptServers.evict(batch.evicted)
    yield* keptServers.forget(batch.forgotten)
    backlog.settled(batch, yield* nowMillis)
    writes++
    const wasFailing = failuresInARow > 0
    failuresInARow = 0
    if (wasFailing) yield* Effect.annotateLogs(Effect.logInfo("keeping what is known again"), { pending: backlog.size })
  })

  const failed = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
    failures++
    failuresInARow++
    if (failuresInARow > 1) return
    const error = textOf(Cause.squash(cause)).slice(0, longestErrorText)
    yield* Effect.annotateLogs(Effect.logWarning("failed to keep what is known"), { error, pending: backlog.size })
  })

  const writeForEver = Effect.gen(function* () {
    yield* Effect.sleep(Math.min(paceMillis * 2 ** failuresInARow, longestPauseMillis))
    if (backlog.size > 0) yield* Effect.catchCause(Effect.timeout(write, writeBound), failed)
  }).pipe(Effect.forever)

  const writeAll: Effect.Effect<void, SqlError | MigrationError> = Effect.suspend(() =>
    backlog.size === 0 ? Effect.void : Effect.andThen(write, writeAll)
  )

  // Started before the layer is there for others, so that they see all that follows.
  const checks = yield* selfCheck.recorded
  yield* Queue.take(checks).pipe(
    Effect.flatMap((check) => Effect.map(nowMillis, (at) => backlog.noteCheck(check, at))),
    Effect.forever,
    Effect.forkScoped({ startImmediately: true })
  )
  yield* followRegistry(true).pipe(
    Effect.catch(() => Effect.eventually(followRegistry(false))),
    Effect.forkScoped({ startImmediately: true })
  )
  // What is added to a scope last is closed first: when this runs the daemon below has stopped, those above have not.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      yield* noteRest
      const at = yield* nowMillis
      for (const check of yield* Queue.clear(checks)) backlog.noteCheck(check, at)
      yield* orAbandon(writeAll, flushBound)
      if (backlog.size === 0) return
      yield* Effect.annotateLogs(Effect.logWarning("stopped before all was kept"), { pending: backlog.size })
    })
  )
  yield* Effect.forkScoped(writeForEver)

  return {
    status: Effect.map(nowMillis, (at) => ({
      writes,
      failures,
      pending: backlog.size,
      dropped: backlog.dropped,
      lagMillis: at - (backlog.sinceMillis ?? at)
    }))
  }
})
