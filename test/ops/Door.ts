/** The whole HTTP application without a socket: guard, routes, handlers, over web requests. */
import { Effect, Layer, Metric, type Scope } from "effect"
import { HttpEffect, HttpServer, type HttpServerRequest } from "effect/http"
import { guarded } from "../../src/ops/HttpDoor.ts"
import * as OpsHandlers from "../../src/ops/OpsHandlers.ts"
import * as OpsRoutes from "../../src/ops/OpsRoutes.ts"
import * as Doubles from "./Doubles.ts"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export type Ask = (path: string, init?: RequestInit) => Effect.Effect<Answer>

/** Asks an API on these rooms, which calls itself `ops.example` besides its addresses. */
export const withDoor = <A, E, R>(
  world: Doubles.World,
  test: (ask: Ask) => Effect.Effect<A, E, R>,
  configured = Doubles.settings()
) =>
  Effect.gen(function* () {
    const app = yield* OpsRoutes.application
    const context = yield* Effect.context<never>()
    const handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(context)(
      guarded(app, ["ops.example"])
    )
    const ask: Ask = (path, init) =>
      Effect.promise(async () => {
        const response = await handler(new Request(`http://127.0.0.1${path}`, init))
        return { status: response.status, headers: response.headers, text: await response.text() }
      })
    return yield* test(ask)
  }).pipe(
    Effect.provide(
      Layer.merge(
        OpsHandlers.layer.pipe(Layer.provideMerge(Doubles.layer(world, configured))),
        HttpServer.layerServices
      )
    ),
    Effect.scoped,
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
