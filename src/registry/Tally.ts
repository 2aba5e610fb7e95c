/** How many messages came to what, in labels from closed sets (O01). It counts; metrics and status read it. */
import { Context, Effect, Layer } from "effect"
import type { Verdict } from "../gossip/Gossip.ts"
import { type Topic, topics } from "../gossip/Topic.ts"
import { type Refusal, type RefusalReason, refusalReasons, verdictOf } from "./Refusal.ts"

export interface Count {
  readonly topic: Topic
  readonly verdict: Verdict
  /** Why it did not count; `none` for those that did. */
  readonly reason: RefusalReason | "none"
  readonly count: number
}

export class Tally extends Context.Service<
  Tally,
  {
    count(topic: Topic, refusal: Refusal | undefined): Effect.Effect<void>
    /** Every combination there is, those at 0 too, so that a metric exists before its first message. */
    readonly read: Effect.Effect<ReadonlyArray<Count>>
  }
>()("ricochet-discovery/registry/Tally") {
  static readonly layer: Layer.Layer<Tally> = Layer.sync(Tally, () => {
    const labels = topics.flatMap((topic) => [
      { topic, verdict: "accept" as const, reason: "none" as const },
      ...refusalReasons.map((reason) => ({ topic, verdict: verdictOf[reason], reason }))
    ])
    const counts = new Map<string, number>()
    const slot = (topic: Topic, reason: Count["reason"]) => `${topic} ${reason}`
    return Tally.of({
      count: (topic, refusal) =>
        Effect.sync(() => {
          const key = slot(topic, refusal?.reason ?? "none")
          counts.set(key, (counts.get(key) ?? 0) + 1)
        }),
      read: Effect.sync(() =>
        labels.map((label) => ({ ...label, count: counts.get(slot(label.topic, label.reason)) ?? 0 }))
      )
    })
  })
}
