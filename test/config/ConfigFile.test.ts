import { assert, describe, it } from "@effect/vitest"
import * as ConfigFile from "../../src/config/ConfigFile.ts"

const parse = (text: string) => ConfigFile.parse("c.yaml", text)
const problemsOf = (text: string) => parse(text).problems.map((problem) => problem.text)
const textsOf = (text: string) =>
  parse(text).entries.map(({ path, raw }) => [path, raw.type === "scalar" ? raw.text : raw.type])

const nothing = { entries: [], withoutEffect: [], problems: [] }

describe("a configuration file", () => {
  it("L08 that holds comments, nothing, or null sections sets nothing", () => {
    for (const text of [
      "",
      "\n",
      "# a\n# b\n",
      "---\n",
      "\uFEFF",
      "server:\n",
      "server: {}\n",
      "server: ~\nops: null\n"
    ]) {
      assert.deepStrictEqual(parse(text), nothing, JSON.stringify(text))
    }
  })

  it("gives each setting its place", () => {
    assert.deepStrictEqual(parse("server:\n  port: 1\n\nops:\n  bind: '::1'\n").entries, [
      { path: "server.port", raw: { type: "scalar", text: "1", quoted: false }, from: "file", source: "c.yaml:2:9" },
      { path: "ops.bind", raw: { type: "scalar", text: "::1", quoted: true }, from: "file", source: "c.yaml:5:9" }
    ])
  })

  it("L04 R22 keeps a scalar as the text it was written as", () => {
    const written = ["no", "NO", "yes", "on", "null", "~", "1e3", "0123", "12345", "2026-11-30", "true", "1.10", "0x1F"]
    for (const text of written) {
      assert.deepStrictEqual(textsOf(`server:\n  region: ${text}\n`), [["server.region", text]])
    }
  })

  it("leaves unset what has no value", () => {
    assert.deepStrictEqual(textsOf("server:\n  region:\n  port:\n  bootstrap_peers:\nops:\n  port: null\n"), [])
    assert.deepStrictEqual(textsOf('server:\n  region: ""\n'), [["server.region", ""]])
  })

  it("reads lists in both forms, and follows an alias", () => {
    const block = parse("server:\n  bootstrap_peers: &peers\n    - /a\n    - no\n  listen_addresses: *peers\n")
    const flow = parse("server: {bootstrap_peers: [/a, no], listen_addresses: [/a, no]}")
    const raws = (file: ConfigFile.ConfigFile) => file.entries.map(({ raw }) => raw)
    assert.deepStrictEqual(raws(block), raws(flow))
    assert.deepStrictEqual(block.problems, [])
  })
})

describe("a configuration file that is no YAML", () => {
  it("L01 is refused with line and column", () => {
    const cases = [
      ["server:\n\tport: 1\n", "c.yaml:2:1: Tabs are not allowed as indentation"],
      ["server:\n  port: 1\n  port: 2\n", "c.yaml:3:3: Map keys must be unique"],
      ["server: {port: 1\n", "c.yaml:2:1: Flow map in block collection must be sufficiently indented and end with a }"],
      ["a: 1\n---\nb: 2\n", "c.yaml:2:1: a second document; a configuration file is one"],
      ["server:\n  region: !secret x\n", "c.yaml:2:11: Unresolved tag: !secret"]
    ] as const
    for (const [text, problem] of cases) {
      const [first = ""] = problemsOf(text)
      assert.isTrue(first.startsWith(problem), `${first} should start with ${problem}`)
    }
  })

  it("survives nesting without end and aliases that multiply", { timeout: 60_000 }, () => {
    for (const text of [
      "[".repeat(200_000),
      `server: ${"[".repeat(20_000)}${"]".repeat(20_000)}`,
      "- ".repeat(100_000)
    ]) {
      const problems = problemsOf(text)
      assert.match(problems[0] ?? "", /^c\.yaml:1:\d+: nested too deeply to be read$/)
      assert.isAtMost(problems.length, 5)
    }
    const bomb = "server:\n  bootstrap_peers: &a [x, x]\n  listen_addresses: [*a, *a]\n  external_addresses: [*a, *a]\n"
    const { entries } = parse(bomb)
    assert.deepStrictEqual(
      entries.map(({ path }) => path),
      ["server.bootstrap_peers", "server.listen_addresses", "server.external_addresses"]
    )
  })
})

describe("a misspelt key", () => {
  it("L02 is a problem whatever its value, with the key that was probably meant", () => {
    for (const value of ["1", "[1]", "{a: 1}", "null", "", '""', "true"]) {
      assert.deepStrictEqual(problemsOf(`intervals:\n  helth_check_min: ${value}\n`), [
        "c.yaml:2:3: intervals.helth_check_min: unknown key; did you mean intervals.health_check_min?"
      ])
    }
  })

  it("L02 is one at every depth and in the wrong place", () => {
    const cases = [
      ["intervalls:\n  health_check_min: 1\n", "c.yaml:1:1: intervalls: unknown section; did you mean intervals?"],
      [
        "health_check_min: 1\n",
        "c.yaml:1:1: health_check_min: unknown section; did you mean intervals.health_check_min?"
      ],
      ["server:\nregion: eu\n", "c.yaml:2:1: region: unknown section; did you mean server.region?"],
      [
        "server:\n  data_directory: x\n",
        "c.yaml:2:3: server.data_directory: unknown key; did you mean storage.data_directory?"
      ],
      [
        "intervals: {healthCheckMin: 1}\n",
        "c.yaml:1:13: intervals.healthCheckMin: unknown key; did you mean intervals.health_check_min?"
      ],
      ["server:\n  colour: red\n", "c.yaml:2:3: server.colour: unknown key"],
      ["<<: {a: 1}\n", "c.yaml:1:1: <<: unknown section"],
      ["server: 5\n", "c.yaml:1:1: server: number 5; allowed: a section of keys"],
      ["server: [a]\n", "c.yaml:1:1: server: a list of 1; allowed: a section of keys"],
      ["- a\n", "c.yaml:1:1: a list of 1; allowed: sections of keys"],
      ["port\n", 'c.yaml:1:1: text "port"; allowed: sections of keys']
    ] as const
    for (const [text, problem] of cases) assert.deepStrictEqual(problemsOf(text), [problem])
  })

  it("R5 is shown inert and cut", () => {
    const [problem = ""] = problemsOf(`"\\e[2J\\n${"x".repeat(900)}": 1\n`)
    assert.match(problem, /^c\.yaml:1:1: \\u\{1b\}\[2J\\u\{a\}x+…: unknown section$/)
    assert.isBelow(problem.length, 200)
  })
})

describe("a setting of a part that is not built here", () => {
  it("is known, and named among those without effect", () => {
    const text = [
      "server:",
      "  port: 1",
      "storage:",
      "  mailbox_quota_mb: 5",
      "features:",
      "  enable_relay: true",
      "rate_limiting:",
      "  enabled: true",
      "  rules: {a: {b: [1]}}",
      "admission_control: {}",
      "relay_limits:",
      "  max_circuits: 5"
    ].join("\n")
    assert.deepStrictEqual(
      { ...parse(text), entries: textsOf(text) },
      {
        entries: [["server.port", "1"]],
        problems: [],
        withoutEffect: [
          "storage.mailbox_quota_mb",
          "features.enable_relay",
          "rate_limiting.enabled",
          "rate_limiting.rules",
          "relay_limits.max_circuits"
        ]
      }
    )
  })
})
