/** What this server says it offers: from the start, and as long as parts of an application stand behind it. */
import { Context, Effect, Layer, type Scope } from "effect"

/**
 * The announcement's `capabilities`: up to 64 names of up to 256 characters. By default what every Ricochet server
 * offers; an application built on this one provides its own list. Source: specification, "Two topics".
 */
export const Capabilities: Context.Reference<ReadonlyArray<string>> = Context.Reference<ReadonlyArray<string>>(
  "ricochet-discovery/announcing/Capabilities",
  { defaultValue: () => ["store-and-forward", "mailbox", "document-sync"] }
)

/** The list as it is at this moment. */
export class Offer extends Context.Service<
  Offer,
  {
    /** Those there were from the start, then those that were added, each once. */
    readonly current: Effect.Effect<ReadonlyArray<string>>
    /** One more, until the scope closes. */
    add(capability: string): Effect.Effect<void, never, Scope.Scope>
  }
>()("ricochet-discovery/announcing/Offer") {
  /** Begins with Capabilities. */
  static readonly layer: Layer.Layer<Offer> = Layer.effect(
    Offer,
    Effect.gen(function* () {
      const first = yield* Capabilities
      const added = new Set<{ readonly capability: string }>()
      return Offer.of({
        current: Effect.sync(() =>
          added.size === 0 ? first : [...new Set([...first, ...Array.from(added, ({ capability }) => capability)])]
        ),
        add: (capability) =>
          Effect.acquireRelease(
            Effect.sync(() => {
              const one = { capability }
              added.add(one)
              return one
            }),
            (one) => Effect.sync(() => added.delete(one))
          )
      })
    })
  )
}
