/** What was logged, in order: level, exact message, facts. */
import { Cause, Layer, Logger, References } from "effect"

export interface Line {
  readonly level: string
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
  /** The errors logged beside the message, as text. */
  readonly cause: string
}

export interface CapturedLog {
  readonly lines: Array<Line>
  readonly layer: Layer.Layer<never>
  /** Level and facts of the lines with this message. */
  of(message: string): ReadonlyArray<{ readonly level: string; readonly facts: Readonly<Record<string, unknown>> }>
}

export const make = (): CapturedLog => {
  const lines: Array<Line> = []
  const logger = Logger.make<unknown, void>(({ cause, fiber, logLevel, message }) => {
    lines.push({
      level: logLevel,
      message: [message].flat().join(" "),
      facts: { ...fiber.getRef(References.CurrentLogAnnotations) },
      cause: cause.reasons.length === 0 ? "" : String(Cause.squash(cause))
    })
  })
  return {
    lines,
    layer: Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Debug")),
    of: (wanted) => lines.filter(({ message }) => message === wanted).map(({ facts, level }) => ({ level, facts }))
  }
}
