/**
 * One event of the log as one physical line: for people on a terminal, or as a JSON object. It knows nothing of where
 * lines go.
 */
import { Cause, type Logger, Predicate } from "effect"
import { type Colour, painter } from "./Colours.ts"
import { causeText, type Fact, factOf, textOf } from "./FactText.ts"
import { inert } from "./InertText.ts"

export interface LogEvent {
  readonly date: Logger.Options<unknown>["date"]
  readonly level: string
  readonly message: unknown
  readonly cause: Cause.Cause<unknown>
  readonly annotations: Readonly<Record<string, unknown>>
}

const longestMessage = 1_000

const messageOf = (message: unknown): string =>
  inert((Array.isArray(message) ? message : [message]).map(textOf).join(" "), longestMessage)

const factsOf = ({ annotations, cause }: LogEvent): ReadonlyArray<readonly [string, Fact]> => {
  const facts = Object.entries(annotations).map(([name, value]) => [inert(name, 60), factOf(value)] as const)
  return Cause.isCause(cause) && cause.reasons.length > 0 ? [...facts, ["cause", causeText(cause)]] : facts
}

const reserved = new Set(["time", "level", "msg"])

/** The event as facts by name: `time`, `level` and `msg` first. A fact named like one of these gets an underscore. */
export const record = (event: LogEvent): Readonly<Record<string, Fact>> =>
  Object.fromEntries([
    ["time", event.date.toISOString()],
    ["level", event.level.toUpperCase()],
    ["msg", messageOf(event.message)],
    ...factsOf(event).map(([name, fact]) => [reserved.has(name) ? `${name}_` : name, fact])
  ])

/** `{"time":…,"level":"INFO","msg":…,…}`. */
export const json = (event: LogEvent): string => JSON.stringify(record(event))

const colourOf: Readonly<Record<string, Colour>> = {
  DEBUG: "blue",
  INFO: "green",
  WARN: "yellow",
  ERROR: "red",
  FATAL: "red"
}

const bareWord = /^[^\s"=]+$/u

const valueText = (fact: Fact): string => {
  if (Predicate.isString(fact)) return bareWord.test(fact) ? fact : `"${fact.replaceAll('"', '\\"')}"`
  return typeof fact === "object" ? `[${fact.map(valueText).join(", ")}]` : String(fact)
}

/** `21:14:03.120 INFO  registry started  region=eu-west`, in the time zone of whoever reads it. */
export const pretty = (event: LogEvent, options: { readonly colours: boolean }): string => {
  const paint = painter(options.colours)
  const { date } = event
  const two = (part: number) => String(part).padStart(2, "0")
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  const level = event.level.toUpperCase()
  const facts = factsOf(event).map(([name, fact]) => `  ${paint("dim", `${name}=`)}${valueText(fact)}`)
  return [
    paint("dim", `${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`),
    paint(colourOf[level], level.padEnd(5)),
    messageOf(event.message) + facts.join("")
  ].join(" ")
}
