/**
 * The self-check: the readiness checks run once, their verdict counted and remembered. When it runs and who hears of
 * it is the announcer's business.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Queue, type Scope, Semaphore } from "effect"
import { Readiness, type ReadinessReport } from "./Readiness.ts"
import * as UptimeScore from "./UptimeScore.ts"

/** A check that takes longer has failed. Source: ruling R16. */
export const longestCheck = Duration.seconds(10)

const longestErrorText = 200

/** What is kept of one self-check, also across restarts (R14). */
export interface SelfCheckRecord {
  /** When it began, in milliseconds since the Unix epoch. */
  readonly startedWallMillis: number
  /** How long it took, in milliseconds. */
  readonly durationMillis: number
  /** Whether every check passed. */
  readonly ok: boolean
  /** Name and outside text of the first check that failed, such as `postgres: refused`; absent when it passed. */
  readonly errorClass: string | undefined
}

export interface SelfCheckReport {
  readonly healthy: boolean
  readonly record: SelfCheckRecord
  /** The readiness report it was made from. */
  readonly readiness: ReadinessReport
}

/** The uptime score with the number of checks it was measured on, which tells a young window from a full one. */
export interface Measured {
  /** From 0 to 1. */
  readonly score: number
  /** From 0 to 288. */
  readonly checks: number
}

export class SelfCheck extends Context.Service<
  SelfCheck,
  {
    /** Checks once, within 10 seconds, and counts the verdict. One at a time: a second caller's check follows. */
    readonly run: Effect.Effect<SelfCheckReport>
    /** The last self-check of this process. */
    readonly latest: Effect.Effect<Option.Option<SelfCheckReport>>
    readonly score: Effect.Effect<Measured>
    /** The last 288 self-checks, oldest first. */
    readonly history: Effect.Effect<ReadonlyArray<SelfCheckRecord>>
    /** Puts what was kept of earlier runs of this server, oldest first, before what was measured in this one (R14). */
    restore(kept: ReadonlyArray<SelfCheckRecord>): Effect.Effect<void>
    /** Every self-check from now on, the newest 288 kept for a slow reader, until the scope closes. */
    readonly recorded: Effect.Effect<Queue.Dequeue<SelfCheckRecord>, never, Scope.Scope>
  }
>()("ricochet-discovery/health/SelfCheck") {
  static readonly layer: Layer.Layer<SelfCheck, never, Readiness> = Layer.effect(
    SelfCheck,
    Effect.gen(function* () {
      const readiness = yield* Readiness
      const oneAtATime = yield* Semaphore.make(1)
      const readers = new Set<Queue.Queue<SelfCheckRecord>>()
      let window: ReadonlyArray<SelfCheckRecord> = []
      let latest: Option.Option<SelfCheckReport> = Option.none()

      const run = Effect.gen(function* () {
        const startedWallMillis = yield* Clock.currentTimeMillis
        const report = yield* readiness.report(longestCheck)
        const failure = report.failures[0]
        // The failures and not `ready`: a server that leaves is unready, and not one check worse for it (R13).
        const healthy = failure === undefined
        const record: SelfCheckRecord = {
          startedWallMillis,
          durationMillis: report.durationMillis,
          ok: healthy,
          errorClass: failure && `${failure.check}: ${failure.outside}`
        }
        window = UptimeScore.add(window, record)
        const outcome = { healthy, record, readiness: report }
        latest = Option.some(outcome)
        for (const reader of readers) Queue.offerUnsafe(reader, record)
        if (!healthy) {
          const error = report.failures.map(({ message }) => message).join("; ")
          yield* Effect.logWarning("self-check failed").pipe(
            Effect.annotateLogs({ error: error.slice(0, longestErrorText), duration_ms: report.durationMillis })
          )
        }
        return outcome
      })

      return SelfCheck.of({
        run: Semaphore.withPermit(oneAtATime, run).pipe(Effect.withSpan("SelfCheck.run")),
        latest: Effect.sync(() => latest),
        score: Effect.sync(() => ({ score: UptimeScore.score(window), checks: window.length })),
        history: Effect.sync(() => window),
        restore: (kept) =>
          Effect.sync(() => {
            window = [...kept, ...window].slice(-UptimeScore.windowLength)
          }),
        recorded: Effect.acquireRelease(
          Effect.tap(Queue.sliding<SelfCheckRecord>(UptimeScore.windowLength), (reader) =>
            Effect.sync(() => readers.add(reader))
          ),
          (reader) => {
            readers.delete(reader)
            return Queue.shutdown(reader)
          }
        )
      })
    })
  )
}
