/**
 * Keeps the metrics true: takes a reading on a beat and for each scrape, and follows what happens in between. Off, and
 * without `/metrics`, where `features.enable_metrics` is false.
 */
import { type Context, Effect, Layer, Metric, Queue, Schedule, type Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { Settings } from "../config/Settings.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import { type Change, Registry } from "../registry/Registry.ts"
import { countSelfCheck, discoveryLatency, selfCheckDuration, series, touchPushed } from "./Metrics.ts"
import * as MetricsReading from "./MetricsReading.ts"

/** How old what an exporter on a beat of its own reads may be. A scrape is read for, once a second at most. */
const readEvery = "5 seconds"

/** Makes every series answer from the last reading, until the scope closes. */
const register = (last: () => MetricsReading.MetricsReading) =>
  Effect.acquireRelease(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.sync(() =>
        series.map(({ help: description, kind, labels: attributes, name, read }) => {
          const ignored = { update: () => {}, modify: () => {} }
          return kind === "counter"
            ? Metric.registerUnsafe(Metric.counter(name, { description, attributes, incremental: true }), context, {
                ...ignored,
                get: () => ({ count: read(last()), incremental: true })
              })
            : Metric.registerUnsafe(Metric.gauge(name, { description, attributes }), context, {
                ...ignored,
                get: () => ({ value: read(last()) })
              })
        })
      )
    ),
    (registrations) =>
      Effect.sync(() => {
        for (const { remove } of registrations) remove()
      })
  )

/** What follows must not end with the first thing that goes wrong (R17). */
const forEver = <E, R>(effect: Effect.Effect<unknown, E, R>): Effect.Effect<void, never, R | Scope.Scope> =>
  effect.pipe(
    Effect.catchCause((cause) => Effect.logError("metrics lost count of something", cause)),
    Effect.repeat(Schedule.spaced("1 second")),
    // It listens from here on, so that the first self-check is counted.
    Effect.forkScoped({ startImmediately: true }),
    Effect.asVoid
  )

const followSelfChecks = Effect.gen(function* () {
  const recorded = yield* (yield* SelfCheck).recorded
  while (true) {
    const { durationMillis, ok } = yield* Queue.take(recorded)
    yield* countSelfCheck(ok)
    yield* Metric.update(selfCheckDuration, durationMillis / 1000)
  }
}).pipe(Effect.scoped)

/** What was kept or handed on was not discovered now. */
const latencySeconds = ({ cause, entry }: Change): number | undefined =>
  cause === "announced" && entry?.skewMillis !== undefined ? Math.max(0, -entry.skewMillis / 1000) : undefined

const followRegistry = Effect.gen(function* () {
  const { changes } = yield* (yield* Registry).subscribe
  while (true) {
    for (const seconds of (yield* Queue.takeAll(changes)).map(latencySeconds)) {
      if (seconds !== undefined) yield* Metric.update(discoveryLatency, seconds)
    }
  }
}).pipe(Effect.scoped)

const metering = Effect.gen(function* () {
  const router = yield* HttpRouter.HttpRouter
  const context = yield* Effect.context<never>()
  const read = yield* MetricsReading.make
  let last = yield* read
  yield* register(() => last)
  yield* touchPushed
  yield* forEver(followSelfChecks)
  yield* forEver(followRegistry)
  const refresh = yield* Effect.map(read, (reading) => {
    last = reading
  }).pipe(Effect.cachedWithTTL("1 second"))
  yield* forEver(Effect.repeat(refresh, Schedule.spaced(readEvery)))
  yield* router.add(
    "GET",
    "/metrics",
    Effect.map(refresh, () =>
      HttpServerResponse.text(PrometheusMetrics.formatUnsafe(context), {
        contentType: "text/plain; version=0.0.4; charset=utf-8"
      })
    )
  )
})

export const layer = Layer.unwrap(
  Effect.map(Settings, ({ features }) => (features.enableMetrics ? Layer.effectDiscard(metering) : Layer.empty))
)
