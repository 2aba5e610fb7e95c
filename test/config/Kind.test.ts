import { assert, describe, it } from "@effect/vitest"
import { Duration, Redacted, Result } from "effect"
import * as Kind from "../../src/config/Kind.ts"

const bare = (text: string): Kind.Raw => ({ type: "scalar", text, quoted: false })
const quoted = (text: string): Kind.Raw => ({ type: "scalar", text, quoted: true })
const list = (...texts: ReadonlyArray<string>): Kind.Raw => ({ type: "list", items: texts.map(bare) })

/** What a kind makes of bare texts: the value, or `undefined` where it refuses. */
const readings = <A>(kind: Kind.Kind<A>, texts: ReadonlyArray<string>) =>
  texts.map((text) => [text, Result.getOrUndefined(kind.read(bare(text)))])

const refusals = (texts: ReadonlyArray<string>) => texts.map((text) => [text, undefined])

describe("a boolean", () => {
  it("L04 is true or false and nothing else", () => {
    const others = ["", " ", "on", "off", "yes", "no", "No", "TRUE", "True", "False", "0", "1", "y", "null", "~"]
    assert.deepStrictEqual(readings(Kind.boolean, ["true", "false"]), [
      ["true", true],
      ["false", false]
    ])
    assert.deepStrictEqual(readings(Kind.boolean, others), refusals(others))
  })

  it("L04 is not the text of that name", () => {
    assert.isTrue(Result.isFailure(Kind.boolean.read(quoted("false"))))
  })
})

describe("a number", () => {
  it("L06 is read strictly", () => {
    const odd = [
      "",
      " ",
      "1e3",
      "0x10",
      "0o17",
      "12abc",
      "1_000",
      "+5",
      " 5",
      "5 ",
      ".5",
      "5.",
      "007",
      "Infinity",
      "NaN"
    ]
    assert.deepStrictEqual(readings(Kind.number(-1e9, 1e9), odd), refusals(odd))
    assert.deepStrictEqual(readings(Kind.number(-10, 10), ["0", "-3", "0.5", "10"]), [
      ["0", 0],
      ["-3", -3],
      ["0.5", 0.5],
      ["10", 10]
    ])
  })

  it("L07 keeps to its bounds, which belong to it", () => {
    const port = Kind.wholeNumber(0, 65_535)
    const beyond = ["-1", "65536", "9007199254740993", "80.0", "80.5", "http"]
    assert.deepStrictEqual(readings(port, ["0", "65535"]), [
      ["0", 0],
      ["65535", 65_535]
    ])
    assert.deepStrictEqual(readings(port, beyond), refusals(beyond))
    assert.strictEqual(port.allowed, "a whole number from 0 to 65535")
  })

  it("R22 in quotes is a text", () => {
    assert.isTrue(Result.isFailure(Kind.wholeNumber(0, 9).read(quoted("5"))))
  })
})

describe("an interval in minutes", () => {
  it("G07 R22 lies between 1 second and 24 hours", () => {
    const beyond = ["0", "-5", "0.0166", "1440.01", "34560", "35791.4", "1000000000000", "NaN", "Infinity", "5m", "1e9"]
    assert.deepStrictEqual(readings(Kind.minutes, beyond), refusals(beyond))
    const within = ["0.016667", "0.5", "5", "1440"].map((text) => Result.getOrThrow(Kind.minutes.read(bare(text))))
    assert.deepStrictEqual(within.map(Duration.toMillis), [1_000, 30_000, 300_000, 86_400_000])
  })

  it("L09 tells its unit", () => {
    assert.strictEqual(Kind.minutes.allowed, "a number of minutes from 0.016667 (1 second) to 1440 (24 hours)")
  })
})

describe("a duration", () => {
  const upToAMinute = Kind.duration(Duration.zero, Duration.minutes(1))

  it("is written as Go writes it", () => {
    const read = ["0", "0s", "2s", "500ms", "1m", "0m30s500ms", "1.5s", "1000us", "1000µs", "1000000ns"].map((text) =>
      Duration.toMillis(Result.getOrThrow(upToAMinute.read(bare(text))))
    )
    assert.deepStrictEqual(read, [0, 0, 2_000, 500, 60_000, 30_500, 1_500, 1, 1, 1])
  })

  it("may stand in quotes, and is nothing else", () => {
    assert.isTrue(Result.isSuccess(upToAMinute.read(quoted("2s"))))
    const odd = ["", "2", "2 s", "s", "-1s", "61s", "2S", "2sec", "1d", "1e3s", "Infinity"]
    assert.deepStrictEqual(readings(upToAMinute, odd), refusals(odd))
  })
})

describe("a text", () => {
  it("L04 R22 is what it was written as", () => {
    const texts = ["no", "yes", "null", "~", "1e3", "0123", "12345", "2026-11-30", "true", "0x10", "eu west"]
    assert.deepStrictEqual(
      readings(Kind.text, texts),
      texts.map((text) => [text, text])
    )
  })

  it("R4 R5 is bounded, not blank, and free of control characters", () => {
    const refused = ["", " ", " a", "a\n", "a\u001b[2J", "a\u202eb", "\ud800", "a\u0000", "x".repeat(257)]
    assert.deepStrictEqual(readings(Kind.text, refused), refusals(refused))
    assert.deepStrictEqual(Result.getOrUndefined(Kind.text.read(bare("x".repeat(256)))), "x".repeat(256))
  })
})

describe("a host", () => {
  it("is an IP address or a name", () => {
    const hosts = ["127.0.0.1", "::1", "0.0.0.0", "localhost", "db.example.org", "node-1"]
    assert.deepStrictEqual(
      readings(Kind.host, hosts),
      hosts.map((host) => [host, host])
    )
    const odd = ["", "300.1.1.1", "1.2.3", "12345", "a b", "-a", "a_b", "http://a", "a:80", "[::1]", "/run/socket"]
    assert.deepStrictEqual(readings(Kind.host, odd), refusals(odd))
  })
})

describe("a host of PostgreSQL", () => {
  it("is also the directory of a Unix socket, as long as a socket's path may be", () => {
    const hosts = ["127.0.0.1", "db.example.org", "/var/run/postgresql", "/", `/${"x".repeat(87)}`]
    assert.deepStrictEqual(
      readings(Kind.hostOrSocketDirectory, hosts),
      hosts.map((host) => [host, host])
    )
    const odd = ["", "var/run", "./run", "~/run", "/run\n", "/run/\u0000", `/${"x".repeat(88)}`, `/${"é".repeat(44)}`]
    assert.deepStrictEqual(readings(Kind.hostOrSocketDirectory, odd), refusals(odd))
  })
})

describe("a list", () => {
  const kind = Kind.list("multiaddrs")

  it("holds texts", () => {
    assert.deepStrictEqual(Result.getOrUndefined(kind.read(list("/ip4/127.0.0.1/tcp/1", "no"))), [
      "/ip4/127.0.0.1/tcp/1",
      "no"
    ])
    assert.deepStrictEqual(Result.getOrUndefined(kind.read(list())), [])
  })

  it("L08 refuses an empty item and a placeholder, and says which it was", () => {
    const refused = Result.getOrThrow(Result.flip(kind.read(list("/a", "", "/b", "/ip4/<your address>/tcp/1"))))
    assert.deepStrictEqual(refused, [
      { part: bare(""), index: 1 },
      { part: bare("/ip4/<your address>/tcp/1"), index: 3 }
    ])
  })

  it("says of each item what is the matter with it", () => {
    const even = Kind.list("even numbers", (text) => (Number(text) % 2 === 0 ? undefined : "odd"))
    assert.deepStrictEqual(Result.getOrUndefined(even.read(list("2", "4"))), ["2", "4"])
    assert.deepStrictEqual(Result.getOrThrow(Result.flip(even.read(list("1", "2", "3")))), [
      { part: bare("1"), index: 0, flaw: "odd" },
      { part: bare("3"), index: 2, flaw: "odd" }
    ])
  })

  it("is no single text, no list of lists, and not without end", () => {
    assert.isTrue(Result.isFailure(kind.read(bare("/a"))))
    assert.isTrue(Result.isFailure(kind.read({ type: "list", items: [list("/a")] })))
    assert.isTrue(Result.isFailure(kind.read(list(...Array.from({ length: 1_001 }, () => "/a")))))
  })
})

describe("a choice", () => {
  it("is one of its words", () => {
    const kind = Kind.choice("debug", "info")
    assert.deepStrictEqual(readings(kind, ["debug", "DEBUG", ""]), [
      ["debug", "debug"],
      ["DEBUG", undefined],
      ["", undefined]
    ])
    assert.strictEqual(kind.allowed, "one of debug, info")
  })
})

describe("a secret", () => {
  it("is kept as it is and written as a mask", () => {
    const read = Result.getOrThrow(Kind.secret.read(bare(" 0123 ")))
    assert.strictEqual(Redacted.value(read), " 0123 ")
    assert.strictEqual(Kind.secret.write(read), "********")
  })
})

describe("what may be left unset", () => {
  it("is unset by an empty text", () => {
    assert.deepStrictEqual(readings(Kind.optional(Kind.path), ["", "~/key"]), [
      ["", undefined],
      ["~/key", "~/key"]
    ])
    assert.isTrue(Result.isSuccess(Kind.optional(Kind.path).read(quoted(""))))
  })
})

describe("what was found", () => {
  it("R22 is told by kind, inert and cut", () => {
    assert.deepStrictEqual(
      [bare("70000"), bare("true"), bare("5m"), quoted("5"), bare(""), list("a", "b"), { type: "map" } as const].map(
        Kind.describe
      ),
      ["number 70000", "boolean true", 'text "5m"', 'text "5"', "an empty text", "a list of 2", "a section"]
    )
    assert.strictEqual(Kind.describe(bare("\u001b[2J")), 'text "\\u{1b}[2J"')
    assert.isBelow(Kind.describe(bare("x".repeat(1e6))).length, 220)
  })
})
