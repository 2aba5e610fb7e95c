/**
 * Whether there is HTTP for operators, and where. What listens is OpsHttpServer's, and is loaded only where it is to
 * listen: an application that has no use for it does not carry it.
 */
import { Context, Effect, Layer } from "effect"
import { Settings } from "../config/Settings.ts"

/** The HTTP listener for operators. */
export class OpsServer extends Context.Service<
  OpsServer,
  {
    /** Where it is reached, such as `http://127.0.0.1:9090`, with the port that was taken; undefined when it is off. */
    readonly url: string | undefined
  }
>()("ricochet-discovery/ops/OpsServer") {
  /** Listens as long as the layer lives, unless `ops.enabled` is false. Fails with OpsListenUnavailable. */
  static readonly layer = Layer.unwrap(
    Effect.map(Settings, ({ ops }) => (ops.enabled ? listening : Layer.succeed(OpsServer, { url: undefined })))
  )
}

const listening = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("./OpsHttpServer.ts")),
    ({ answering, listen }) => Layer.effect(OpsServer, listen).pipe(Layer.provide(answering))
  )
)
