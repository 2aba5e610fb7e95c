/** Front door for the process: the arguments, the server as one layer, and the process that runs it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import * as Process from "./cli/Process.ts"
import * as Ricochet from "./cli/Ricochet.ts"

/** Loaded when a server is to run: the other commands answer without it. */
const server = Layer.unwrap(
  Effect.map(
    Effect.promise(() =>
      Promise.all([import("./Discovery.ts"), import("./library/Layers.ts"), import("./ops/ServiceManager.ts")])
    ),
    ([discovery, { layerGround }, serviceManager]) =>
      serviceManager.layer.pipe(Layer.provide(discovery.layer), Layer.provide(layerGround))
  )
)

export const main = (argv: ReadonlyArray<string>): void =>
  Ricochet.run(server, argv).pipe(Effect.provide(NodeServices.layer), Process.run)
