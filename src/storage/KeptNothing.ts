/** Keeps nothing, for an application without a database: a restart begins with what neighbours know. */
import { Context, Effect, Layer } from "effect"
import { KeptChecks } from "./KeptChecks.ts"
import { KeptServers } from "./KeptServers.ts"

const nothing = Effect.succeed([])

export const layer: Layer.Layer<KeptServers | KeptChecks> = Layer.succeedContext(
  Context.make(KeptServers, {
    load: () => nothing,
    write: () => Effect.void,
    evict: () => Effect.void,
    loadEvicted: () => nothing,
    forget: () => Effect.void,
    forgetBefore: () => Effect.void
  }).pipe(Context.add(KeptChecks, { load: nothing, write: () => Effect.void }))
)
