/** What a virtual server logs, kept as values: message, level and annotations, at the network's time. */
import { Layer, Logger, type LogLevel, References } from "effect"

/** A line of a virtual server's log. */
export interface LogLine {
  /** Milliseconds since the network was made. */
  readonly atMillis: number
  /** How severe it is. */
  readonly level: LogLevel.LogLevel
  /** What it says, in the words of the specification. */
  readonly message: string
  /** The facts beside it, by name. */
  readonly annotations: Readonly<Record<string, unknown>>
}

const textOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : part instanceof Error ? part.message : String(part)))
    .join(" ")

/** Every logger in force is replaced by one that hands each line, from DEBUG up, to `keep`. */
export const layer = (nowMillis: () => number, keep: (line: LogLine) => void): Layer.Layer<never> =>
  Layer.merge(
    Logger.layer([
      Logger.make(({ message, logLevel, fiber }) =>
        keep({
          atMillis: nowMillis(),
          level: logLevel,
          message: textOf(message),
          annotations: { ...fiber.getRef(References.CurrentLogAnnotations) }
        })
      )
    ]),
    Layer.succeed(References.MinimumLogLevel, "Debug")
  )

/** A line as a history shows it. */
export const print = ({ level, message, annotations }: LogLine): string =>
  [
    `${level.toUpperCase()} ${message}`,
    ...Object.entries(annotations).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  ].join(" ")
