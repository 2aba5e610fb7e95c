import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as DatabaseUrl from "../../src/config/DatabaseUrl.ts"

const settings = (url: string) =>
  Result.getOrThrow(DatabaseUrl.parse(url)).settings.map(({ path, text }) => [path.replace("database.", ""), text])

describe("a database URL", () => {
  it("names one database as a whole, percent-decoded", () => {
    assert.deepStrictEqual(settings("postgres://ri%40co:p%2Fw%20d@db.example:6543/na%20me?sslmode=verify-full"), [
      ["host", "db.example"],
      ["port", "6543"],
      ["username", "ri@co"],
      ["password", "p/w d"],
      ["name", "na me"],
      ["sslmode", "verify-full"]
    ])
  })

  it("means port 5432 where it has none, and leaves the rest to others", () => {
    assert.deepStrictEqual(settings("postgresql://[::1]"), [
      ["host", "::1"],
      ["port", "5432"]
    ])
  })

  it("names the parameters that have no effect", () => {
    const { withoutEffect } = Result.getOrThrow(
      DatabaseUrl.parse("postgres://db/x?application_name=a&sslmode=require&options=b&options=c")
    )
    assert.deepStrictEqual(withoutEffect, ["application_name", "options"])
  })

  it("R22 that is none is refused, and never shown", () => {
    const urls = ["nonsense", "mysql://u:hunter2@h/d", "postgres://u:hunter2%ZZ@h/d", "postgres://u:hunter2@h/d#x"]
    const texts = urls.map((url) => Result.getOrThrow(Result.flip(DatabaseUrl.parse(url))).text)
    const allowed = "postgres://user:password@host:port/database?sslmode=require, reserved characters percent-encoded"
    assert.deepStrictEqual(texts, [
      `DATABASE_URL: no URL; allowed: ${allowed}`,
      `DATABASE_URL: a URL of another scheme; allowed: ${allowed}`,
      `DATABASE_URL: a URL with a broken percent-encoding; allowed: ${allowed}`,
      `DATABASE_URL: a URL with a bare #; allowed: ${allowed}`
    ])
  })
})
