import { readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CliError } from "effect/cli"
import { TestConsole } from "effect/testing"
import * as Ricochet from "../../src/cli/Ricochet.ts"
import { bin, run, slow } from "./Child.ts"

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))

let directory = ""
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "ricochet-cli-"))
})
afterAll(() => rm(directory, { recursive: true }))

const ricochet = (...args: ReadonlyArray<string>) => run(bin, args)

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
    for (const flag of [...flags.split(" "), "serve", "identity"]) assert.include(stdout, flag)
  })
})

const mistakes = [
  { args: ["--prot", "1"], told: "ricochet: unknown flag --prot; did you mean --port?" },
  { args: ["sreve"], told: 'ricochet: unknown command "sreve"; did you mean serve?' },
  { args: ["config", "--chek"], told: "ricochet: unknown flag --chek; did you mean --check?" },
  { args: ["--colour"], told: "ricochet: unknown flag --colour" },
  { args: ["config", "all"], told: 'ricochet: Unexpected positional argument: "all"' },
  { args: ["--port"], told: "ricochet: Missing value for flag --port. Expected: number" },
  { args: ["--\u001b[2J"], told: "ricochet: unknown flag --\\u{1b}[2J" }
]

describe("a misuse", () => {
  it.effect.each(mistakes)("R23 R5 is told on standard error, with what was probably meant: $told", ({ args, told }) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Ricochet.run(Layer.empty, args))
      assert.isTrue(CliError.isCliError(error))
      assert.deepStrictEqual(yield* TestConsole.logLines, [])
      assert.deepStrictEqual(yield* TestConsole.errorLines, [`${told}\nTry ricochet --help.`])
    }).pipe(Effect.provide(NodeServices.layer))
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
    const first = await run(
      bin,
      ["config", "--development", "--region", "no", "--bootstrap", "/a", "--bootstrap", "/b,/c", "--pg-host", "db"],
      { environment: { RICOCHET_PG_PASSWORD: "hunter2" } }
    )
    assert.strictEqual(first.code, 0)
    assert.notInclude(first.stdout, "hunter2")
    for (const line of [
      "# preset: development",
      '  region: "no"  # --region',
      '  bootstrap_peers: ["/a","/b","/c"]  # --bootstrap',
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
    await writeFile(file, "intervals:\n  helth_check_min: 1\nrelay_limits: {a: 1}\n")
    assert.deepStrictEqual(await ricochet("config", "--check"), { code: 0, stdout: "", stderr: "" })
    assert.deepStrictEqual(await ricochet("config", "--check", "--config", file), {
      code: 78,
      stdout: "",
      stderr: `ricochet: bad configuration: ${file}:2:3: intervals.helth_check_min: unknown key; did you mean intervals.health_check_min?\n`
    })
  })

  it("remarks on standard error", slow, async () => {
    const ended = await run(bin, ["config", "--check"], { environment: { RICOCHET_SERVER_PROT: "1" } })
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
