/** Waiting for something to come true by asking again and again, until a deadline. Tests of real processes sleep no other way. */
import { Duration, Effect, Schedule, Schema } from "effect"
import { patience } from "./Child.ts"

export class NeverHeld extends Schema.TaggedError<NeverHeld>()("NeverHeld", {
  expected: Schema.String,
  last: Schema.Unknown
}) {
  override get message() {
    return `${this.expected}: not so in time; last seen: ${JSON.stringify(this.last, undefined, 1)}`
  }
}

/** Asks until the answer holds, and succeeds with it. A question that fails is asked again too. */
export const eventually = <A, E, R>(
  expected: string,
  ask: Effect.Effect<A, E, R>,
  holds: (answer: A) => boolean,
  within: Duration.Input = patience
): Effect.Effect<A, NeverHeld, R> =>
  Effect.suspend(() => {
    let last: unknown = "nothing"
    return ask.pipe(
      Effect.mapError(String),
      Effect.tap((answer) => Effect.sync(() => (last = answer))),
      Effect.tapError((error) => Effect.sync(() => (last = error))),
      Effect.filterOrFail(holds, () => "not yet"),
      Effect.retry(Schedule.spaced("50 millis")),
      Effect.timeoutOrElse({
        duration: Duration.fromInputUnsafe(within),
        orElse: () => Effect.fail(new NeverHeld({ expected, last }))
      }),
      Effect.mapError((error) => (error instanceof NeverHeld ? error : new NeverHeld({ expected, last })))
    )
  })
