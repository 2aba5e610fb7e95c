/** What the process takes of its machine, and how late its event loop runs. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Clock, Effect, Schedule, type Scope } from "effect"

export interface ProcessReading {
  readonly lagP99Seconds: number
  readonly lagMaxSeconds: number
  readonly heapUsedBytes: number
  readonly externalBytes: number
  readonly residentBytes: number
  readonly cpuSeconds: number
  /** Since the Unix epoch. */
  readonly startSeconds: number
}

/** Lag is told of windows this long, so that a short stall is neither missed nor told for ever. */
const window = "10 seconds"

/** A timer this often shows how late timers run, in milliseconds. */
const resolutionMillis = 20

/** Begins to watch the event loop until the scope closes; the effect it succeeds with takes a reading. */
export const make: Effect.Effect<Effect.Effect<ProcessReading>, never, Scope.Scope> = Effect.gen(function* () {
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const monitor = monitorEventLoopDelay({ resolution: resolutionMillis })
      monitor.enable()
      return monitor
    }),
    (monitor) => Effect.sync(() => monitor.disable())
  )
  // The monitor measures from one timer to the next: what is beyond the timer's own interval is lag.
  const lagSeconds = (nanos: number) => Math.max(0, nanos / 1e9 - resolutionMillis / 1e3)
  let lag = { lagP99Seconds: 0, lagMaxSeconds: 0 }
  yield* Effect.sync(() => {
    // An empty histogram has a nonsense extreme.
    if (delay.count > 0) lag = { lagP99Seconds: lagSeconds(delay.percentile(99)), lagMaxSeconds: lagSeconds(delay.max) }
    delay.reset()
  }).pipe(Effect.repeat(Schedule.spaced(window)), Effect.forkScoped)

  const startSeconds = (yield* Clock.currentTimeMillis) / 1e3 - process.uptime()
  return Effect.sync(() => {
    const { external, heapUsed, rss } = process.memoryUsage()
    const { system, user } = process.cpuUsage()
    return {
      ...lag,
      heapUsedBytes: heapUsed,
      externalBytes: external,
      residentBytes: rss,
      cpuSeconds: (system + user) / 1e6,
      startSeconds
    }
  })
})
