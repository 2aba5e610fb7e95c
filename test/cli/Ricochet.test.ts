import { readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CliError } from "effect/cli"
import { TestConsole } from "effect/testing"
import { AnswerIsNo } from "../../src/cli/Process.ts"
import * as Ricochet from "../../src/cli/Ricochet.ts"
import { program } from "../process/Program.ts"
import { run, slow } from "./Child.ts"

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))

let directory = ""
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "ricochet-cli-"))
})
afterAll(() => rm(directory, { recursive: true }))

const commands = ["serve", "services", "service", "status", "doctor", "config", "identity"]

const ricochet = (...args: ReadonlyArray<string>) => run(program, args)

describe("ricochet", () => {
  it("tells its version", slow, async () => {
    assert.deepStrictEqual(await ricochet("--version"), { code: 0, stdout: `ricochet v${version}\n`, stderr: "" })
  })

  it("helps on standard output, with every flag", slow, async () => {
    const { code, stdout, stderr } = await ricochet("--help")
    assert.strictEqual(code, 0)
    assert.strictEqual(stderr, "")
    const flags =
      "--port --ops-port --development --production --config --data-dir --identity-file --bootstrap --external-addrs --region --pg-host --pg-port --pg-database --pg-username --pg-sslmode --log-format --log-level --version --help"
    for (const flag of [...flags.split(" "), ...commands]) assert.include(stdout, flag)
  })
})

const mistakes = [
  { args: ["--prot", "1"], told: "ricochet: unknown flag --prot; did you mean --port?" },
  { args: ["sreve"], told: 'ricochet: unknown command "sreve"; did you mean serve?' },
  { args: ["config", "--chek"], told: "ricochet: unknown flag --chek; did you mean --check?", of: " config" },
  {
    args: ["services", "--regoin", "x"],
    told: "ricochet: unknown flag --regoin; did you mean --region?",
    of: " services"
  },
  // A flag of the server, which this command does not take.
  { args: ["status", "--regoin", "x"], told: "ricochet: unknown flag --regoin", of: " status" },
  {
    args: ["doctor", "--porduction"],
    told: "ricochet: unknown flag --porduction; did you mean --production?",
    of: " doctor"
  },
  { args: ["--colour"], told: "ricochet: unknown flag --colour" },
  { args: ["service"], told: "ricochet: Missing required argument: peer-id", of: " service" },
  { args: ["config", "all"], told: 'ricochet: Unexpected positional argument: "all"', of: " config" },
  { args: ["--port"], told: "ricochet: Missing value for flag --port. Expected: number" },
  { args: ["--\u001b[2J"], told: "ricochet: unknown flag --\\u{1b}[2J" }
]

/** A command in this process, with what it printed. */
const inProcess = (...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const error = yield* Effect.match(Ricochet.run(Layer.empty, args), {
      onFailure: (failure) => failure,
      onSuccess: () => undefined
    })
    return { error, stdout: yield* TestConsole.logLines, stderr: yield* TestConsole.errorLines }
  }).pipe(Effect.provide(NodeServices.layer))

describe("a misuse", () => {
  it.effect.each(mistakes)(
    "R23 R5 is told on standard error, with what was probably meant: $told",
    ({ args, of, told }) =>
      Effect.gen(function* () {
        const { error, stderr, stdout } = yield* inProcess(...args)
        assert.isTrue(CliError.isCliError(error))
        assert.deepStrictEqual(stdout, [])
        assert.deepStrictEqual(stderr, [`${told}\nTry ricochet${of ?? ""} --help.`])
      })
  )

  it("R23 ends with 2, be it the command line's form or a value in it", slow, async () => {
    const form = await ricochet("--prot", "1")
    assert.deepStrictEqual(form, { code: 2, stdout: "", stderr: `${mistakes[0]?.told}\nTry ricochet --help.\n` })
    assert.deepStrictEqual(await ricochet("--port", "http", "--development", "--production"), {
      code: 2,
      stdout: "",
      stderr: [
        "ricochet: bad configuration, 2 problems:",
        "  --development --production: presets that contradict each other; allowed: one of them",
        '  --port: server.port: found text "http"; allowed: a whole number from 0 to 65535',
        ""
      ].join("\n")
    })
  })
})

describe("ricochet config", () => {
  it("R22 prints a file that would make the same configuration, without its secrets", slow, async () => {
    const file = join(directory, "printed.yaml")
    const seed = (host: string) => `/dns4/${host}/tcp/1/p2p/12D3KooWMFsDqe1d3TsXBR51Q561R57Fm4KkW3msxvAewGVw2cV4`
    const [a, b, c] = [seed("a"), seed("b"), seed("c")]
    const first = await run(
      program,
      ["config", "--development", "--region", "no", "--bootstrap", a, "--bootstrap", `${b},${c}`, "--pg-host", "db"],
      { environment: { RICOCHET_PG_PASSWORD: "hunter2" } }
    )
    assert.strictEqual(first.code, 0)
    assert.notInclude(first.stdout, "hunter2")
    for (const line of [
      "# preset: development",
      '  region: "no"  # --region',
      `  bootstrap_peers: ${JSON.stringify([a, b, c])}  # --bootstrap`,
      '  host: "db"  # --pg-host',
      "  # password: ********  # RICOCHET_PG_PASSWORD",
      "  health_check_min: 0.5  # minutes; development preset",
      "  retention_days: 30  # days; default"
    ]) {
      assert.include(first.stdout.split("\n"), line)
    }
    await writeFile(file, first.stdout)
    const second = await ricochet("config", "--config", file)
    const values = (text: string) =>
      text
        .replaceAll(/ {2}# .*/g, "")
        .split("\n")
        .slice(2)
    assert.deepStrictEqual(values(second.stdout), values(first.stdout))
  })

  it("R22 R23 with --check prints only what is wrong, and ends with 78", slow, async () => {
    const file = join(directory, "wrong.yaml")
    const allowed =
      "; allowed: a list of at most 1000 multiaddrs that end in /p2p/ and a peer ID, none of them empty or a <placeholder>"
    await writeFile(
      file,
      "intervals:\n  helth_check_min: 1\nrelay_limits: {a: 1}\nserver:\n  bootstrap_peers:\n    - https://x\n    - /ip4/1\n"
    )
    assert.deepStrictEqual(await ricochet("config", "--check"), {
      code: 0,
      stdout: "configuration is valid\n",
      stderr: ""
    })
    assert.deepStrictEqual(await ricochet("config", "--check", "--config", file), {
      code: 78,
      stdout: "",
      stderr: [
        "ricochet: bad configuration, 3 problems:",
        `  ${file}:2:3: intervals.helth_check_min: unknown key; did you mean intervals.health_check_min?`,
        `  ${file}:6:7: server.bootstrap_peers[0]: found text "https://x": not a multiaddr (/ip4/192.0.2.1/tcp/55223, for example)${allowed}`,
        `  ${file}:7:7: server.bootstrap_peers[1]: found text "/ip4/1": not a multiaddr (Invalid IPv4 address "1")${allowed}`,
        ""
      ].join("\n")
    })
  })

  it("remarks on standard error", slow, async () => {
    const ended = await run(program, ["config", "--check"], { environment: { RICOCHET_SERVER_PROT: "1" } })
    assert.strictEqual(ended.code, 0)
    assert.match(
      ended.stderr,
      /^[\d:.]+ WARN {2}unknown environment variable has no effect {2}variable=RICOCHET_SERVER_PROT {2}did_you_mean=RICOCHET_SERVER_PORT\n$/
    )
  })
})

describe("ricochet identity", () => {
  it("R18 prints the peer ID, and creates a key only when it is told to", slow, async () => {
    const data = join(directory, "data")
    const missing = await ricochet("identity", "--data-dir", data)
    assert.deepStrictEqual(missing, {
      code: 78,
      stdout: "",
      stderr: `ricochet: no identity in ${data} yet; a server creates one at its first start, or this command with --create\n`
    })
    const created = await ricochet("identity", "--create", "--data-dir", data)
    assert.match(created.stdout, /^12D3KooW\w+\n$/)
    assert.deepStrictEqual(await ricochet("identity", "--data-dir", data), created)
  })
})

describe("the completions", () => {
  it.effect.each(["bash", "zsh", "fish"])("of %s know every command", (name) =>
    Effect.gen(function* () {
      const { error, stdout } = yield* inProcess("--completions", name)
      assert.isUndefined(error)
      for (const command of commands) assert.match(String(stdout[0]), new RegExp(`\\b${command}\\b`))
    })
  )
})

describe("ricochet doctor", () => {
  it.effect("R22 tells every problem of a configuration that cannot be used, and that all is not well", () =>
    Effect.gen(function* () {
      const file = join(directory, "unusable.yaml")
      yield* Effect.promise(() => writeFile(file, "servr:\n  port: 1\nops: {port: 99999}\n"))
      const { error, stderr, stdout } = yield* inProcess("doctor", "--config", file)
      assert.instanceOf(error, AnswerIsNo)
      assert.deepStrictEqual(stderr, [])
      assert.deepStrictEqual(String(stdout[0]).split("\n"), [
        `bad  configuration  ${file}:1:1: servr: unknown section; did you mean server?`,
        `bad  configuration  ${file}:3:13: ops.port: found number 99999; allowed: a whole number from 0 to 65535`,
        "",
        "2 things are wrong"
      ])
    })
  )

  it.effect("R23 a flag that holds no value of its own is bad usage", () =>
    Effect.gen(function* () {
      const { error, stdout } = yield* inProcess("doctor", "--port", "http")
      assert.deepInclude(error, { _tag: "ConfigurationProblems", exitCode: 2 })
      assert.deepStrictEqual(stdout, [])
    })
  )
})
