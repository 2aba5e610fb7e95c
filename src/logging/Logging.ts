/** The program's log: lines on standard output, for people on a terminal and as JSON elsewhere. */
import { Effect, Layer, Logger, References } from "effect"
import type { SettingsShape } from "../config/Settings.ts"
import * as LogLine from "./LogLine.ts"

/** The terminal that standard output is, if it is one. */
export interface Terminal {
  readonly isTerminal: boolean
  /** A terminal that shows colours, and nobody who asked for none (`NO_COLOR`). */
  readonly hasColours: boolean
  /** Characters in a line of the terminal; absent where it does not say, and elsewhere. */
  readonly columns: number | undefined
}

export const terminal: Effect.Effect<Terminal> = Effect.sync(() => {
  const isTerminal = process.stdout.isTTY === true
  const isPlain = (process.env.NO_COLOR ?? "") !== "" || process.env.TERM === "dumb"
  // A terminal that does not know its size says 0.
  const columns = process.stdout.columns > 0 ? process.stdout.columns : undefined
  return { isTerminal, hasColours: isTerminal && !isPlain, columns }
})

const leastLevel = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** One line an event. */
export const logger = (
  format: "pretty" | "json",
  { hasColours }: Pick<Terminal, "hasColours">
): Logger.Logger<unknown, string> =>
  Logger.make(({ date, logLevel, message, cause, fiber }) => {
    const annotations = fiber.getRef(References.CurrentLogAnnotations)
    const event = { date, level: logLevel, message, cause, annotations }
    return format === "json" ? LogLine.json(event) : LogLine.pretty(event, { colours: hasColours })
  })

/** Replaces every other logger. What is less severe than the level is dropped. */
export const layer = ({ level, format }: SettingsShape["logging"]): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.map(terminal, (here) => {
      const chosen = format === "auto" ? (here.isTerminal ? "pretty" : "json") : format
      return Layer.merge(
        Logger.layer([Logger.withConsoleLog(logger(chosen, here))]),
        Layer.succeed(References.MinimumLogLevel, leastLevel[level])
      )
    })
  )

/** For commands whose standard output is their answer: warnings and worse, for people, on standard error. */
export const layerRemarks: Layer.Layer<never> = Layer.merge(
  Logger.layer([Logger.withConsoleError(logger("pretty", { hasColours: false }))]),
  Layer.succeed(References.MinimumLogLevel, "Warn")
)
