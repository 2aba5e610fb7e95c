/** `DATABASE_URL` as settings of the `database` section. Neither a message nor a warning ever shows the URL. */
import { Result } from "effect"
import { Problem } from "./ConfigurationProblems.ts"
import type { Path } from "./Keys.ts"

export const variable = "DATABASE_URL"

export interface DatabaseUrl {
  readonly settings: ReadonlyArray<{ readonly path: Path; readonly text: string }>
  /** Names of parameters that have no effect. */
  readonly withoutEffect: ReadonlyArray<string>
}

const refused = (found: string) =>
  Result.fail(
    new Problem({
      from: "environment",
      source: variable,
      found,
      allowed: "postgres://user:password@host:port/database?sslmode=require, reserved characters percent-encoded"
    })
  )

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Reads the URL. A URL without a port means 5432, whatever a file says: it names one database as a whole. */
export const parse = (text: string): Result.Result<DatabaseUrl, Problem> => {
  if (!URL.canParse(text)) return refused("no URL")
  const url = new URL(text)
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") return refused("a URL of another scheme")
  if (url.hash !== "") return refused("a URL with a bare #")
  const parts: ReadonlyArray<readonly [Path, string | undefined]> = [
    ["database.host", decoded(url.hostname.replace(/^\[|\]$/g, ""))],
    ["database.port", url.port === "" ? "5432" : url.port],
    ["database.username", decoded(url.username)],
    ["database.password", decoded(url.password)],
    ["database.name", decoded(url.pathname.slice(1))],
    ["database.sslmode", url.searchParams.get("sslmode") ?? ""]
  ]
  if (parts.some(([, value]) => value === undefined)) return refused("a URL with a broken percent-encoding")
  return Result.succeed({
    settings: parts.flatMap(([path, value]) => (value === undefined || value === "" ? [] : [{ path, text: value }])),
    withoutEffect: [...new Set(url.searchParams.keys())].filter((name) => name !== "sslmode")
  })
}
