/** The systemd unit: held against the program that it starts, and against systemd's own judgement. */
import { execFile } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { keyAt } from "../../src/config/Keys.ts"
import { temporaryDirectory } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"

const run = promisify(execFile)
const root = new URL("../..", import.meta.url).pathname

const text = Effect.promise(() => readFile(join(root, "src/deploy/ricochet.service"), "utf8"))

/** Every line of a directive, in order. */
const valuesOf = (unit: string, directive: string) =>
  unit.split("\n").flatMap((line) => (line.startsWith(`${directive}=`) ? [line.slice(directive.length + 1)] : []))

const seconds = (value = "") => Number(/^(\d+)s$/.exec(value)?.[1])

describe("the systemd unit", () => {
  it.live("starts a server that this program can be, on the directory that systemd makes for it", () =>
    Effect.gen(function* () {
      const unit = yield* text
      const [command, subcommand, ...flags] = valuesOf(unit, "ExecStart")[0]?.split(" ") ?? []
      assert.deepStrictEqual([command, subcommand], ["ricochet", "serve"])
      const directory = yield* temporaryDirectory
      const state = valuesOf(unit, "StateDirectory")[0] ?? ""
      const args = flags.map((flag) => flag.replace("%S", directory))
      const bin = join(root, "src/bin.ts")
      const env = { PATH: process.env.PATH, RICOCHET_DEFAULT_CONFIG: join(directory, "none") }
      const { stderr, stdout } = yield* Effect.promise(() => run(process.execPath, [bin, "config", ...args], { env }))
      assert.strictEqual(stderr, "")
      assert.include(stdout, "# preset: production\n")
      assert.include(stdout, `data_directory: "${join(directory, state)}"  # --data-dir\n`)
    })
  )

  it.effect("leaves the server the time and the files that it may need, and restarts it only where that may help", () =>
    Effect.gen(function* () {
      const unit = yield* text
      const shutdown = Duration.toSeconds(keyAt("ops.shutdown_timeout").default as Duration.Duration)
      assert.isAbove(seconds(valuesOf(unit, "TimeoutStopSec")[0]), shutdown)
      const connections = Number(keyAt("performance.max_concurrent_connections").production)
      assert.isAtLeast(Number(valuesOf(unit, "LimitNOFILE")[0]), 2 * connections)
      assert.deepStrictEqual(valuesOf(unit, "Restart"), ["on-failure"])
      assert.deepStrictEqual(valuesOf(unit, "RestartPreventExitStatus"), ["2 78"])
      assert.deepStrictEqual([valuesOf(unit, "Type"), valuesOf(unit, "NotifyAccess")], [["notify"], ["all"]])
      // V8 writes what it runs.
      assert.deepStrictEqual(valuesOf(unit, "MemoryDenyWriteExecute"), [])
    })
  )
})

describe.skipIf(isMissing("systemd"))(named("the systemd unit, judged by systemd", "systemd"), () => {
  const judged = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    const directory = yield* temporaryDirectory
    const file = join(directory, "ricochet.service")
    // systemd looks for the command, which a machine that only tests does not have.
    const unit = (yield* text).replace("ExecStart=ricochet ", `ExecStart=${process.execPath} `)
    yield* Effect.promise(() => writeFile(file, unit))
    return yield* Effect.promise(() => run("systemd-analyze", [...args, file]).catch((failed) => failed))
  })

  it.live("has nothing in it that systemd does not know", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* judged("verify")
      assert.deepStrictEqual({ code, stderr }, { code: undefined, stderr: "" })
    })
  )

  it.live("leaves little to whoever breaks into the server", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* judged("security", "--offline=true", "--no-pager", "--threshold=20")
      assert.strictEqual(code, undefined, stdout)
    })
  )
})
