/** Where a command asks: the URL of a server's HTTP listener, from `--url` or else from the configuration. */
import { Effect, Option, Result, Schema } from "effect"
import { Flag } from "effect/cli"
import { ConfigurationProblems, Problem } from "../config/ConfigurationProblems.ts"
import type { SettingsShape } from "../config/Settings.ts"
import { configuration } from "./ServerFlags.ts"

/** By its configuration, the server answers nobody, or cannot be found. Exit code 1. */
export class NowhereToAsk extends Schema.TaggedError<NowhereToAsk>()("NowhereToAsk", { problem: Schema.String }) {
  readonly exitCode = 1
  override get message() {
    return this.problem
  }
}

/** The addresses that stand for every address of a machine, with one that it can be asked at. */
const wildcards: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" }

/** Where a server of these settings is asked on its own machine. */
export const urlOf = ({ bind, enabled, port }: SettingsShape["ops"]): Result.Result<string, NowhereToAsk> => {
  if (!enabled) {
    const problem = "ops.enabled is false: a server of this configuration answers nobody; name another with --url"
    return Result.fail(new NowhereToAsk({ problem }))
  }
  if (port === 0) {
    const problem =
      'ops.port is 0: a server of this configuration takes any free port; say which with --url (its log line "ops listening" tells)'
    return Result.fail(new NowhereToAsk({ problem }))
  }
  const host = wildcards[bind] ?? bind
  return Result.succeed(`http://${host.includes(":") ? `[${host}]` : host}:${port}`)
}

export const urlFlag = Flag.String("url").pipe(
  Flag.withMetavar("url"),
  Flag.withDescription("Where the server is asked. Default where ops.bind and ops.port of the configuration say."),
  Flag.optional
)

/** A URL as it was given; fails with exit code 2 where it cannot be one. */
export const read = (text: string): Result.Result<string, ConfigurationProblems> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") {
    return Result.succeed(text.replace(/\/+$/, ""))
  }
  const problem = new Problem({
    from: "flags",
    source: "--url",
    found: "found no URL that can be asked",
    allowed: "a URL of http or https without a password, such as http://127.0.0.1:9090"
  })
  return Result.fail(new ConfigurationProblems({ problems: [problem] }))
}

/** The URL that a command was given, or else the one that its configuration makes. */
export const find = (given: Option.Option<string>) =>
  Option.isSome(given)
    ? Effect.fromResult(read(given.value))
    : Effect.flatMap(configuration(), ({ settings }) => Effect.fromResult(urlOf(settings.ops)))
