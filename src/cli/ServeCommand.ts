/** `ricochet serve`, and `ricochet` alone: the configuration, the log, and then the server until it is told to stop. */
import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import type { Loaded } from "../config/Configuration.ts"
import { Settings } from "../config/Settings.ts"
import * as Logging from "../logging/Logging.ts"
import { supervised } from "./Process.ts"
import { configuration, serverFlags } from "./ServerFlags.ts"

/** Loaded when a server is to run: the other commands answer without it. */
const telemetry = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("../ops/Telemetry.ts")),
    ({ layer }) => layer
  )
)

const announce = Effect.fnUntraced(function* ({ file, settings, warnings }: Loaded) {
  yield* Effect.logInfo("configuration loaded").pipe(
    Effect.annotateLogs({ file: file ?? "none", preset: settings.preset ?? "none", database: settings.database.kind })
  )
  for (const { message, facts } of warnings) yield* Effect.logWarning(message).pipe(Effect.annotateLogs(facts))
})

/** Runs the server that the layer is. Ends when the server fails, or is interrupted and has stopped. */
export const serve = Effect.fnUntraced(function* <E>(server: Layer.Layer<never, E, Settings>, loaded: Loaded) {
  const { settings } = loaded
  yield* announce(loaded).pipe(
    Effect.andThen(Layer.launch(server)),
    supervised(settings.ops.shutdownTimeout),
    Effect.provide(telemetry),
    Effect.provideService(Settings, settings),
    Effect.provide(Logging.layer(settings.logging))
  )
})

export const serveCommand = <E>(server: Layer.Layer<never, E, Settings>) =>
  Command.make("serve", serverFlags, (given) =>
    Effect.flatMap(configuration(given), (loaded) => serve(server, loaded))
  ).pipe(Command.withDescription("Run the server; the same as no command at all"))
