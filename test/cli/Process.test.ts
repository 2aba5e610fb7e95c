import { assert, describe, it } from "@effect/vitest"
import { program, run, slow } from "./Child.ts"

/** Sends the signals, each once, when the text before it has been seen. */
const signalling = (...steps: ReadonlyArray<readonly [seen: string, signal: NodeJS.Signals]>) => {
  const left = [...steps]
  return (stdout: string, kill: (signal: NodeJS.Signals) => void) => {
    while (left[0] !== undefined && stdout.includes(left[0][0])) kill(left.shift()?.[1] ?? "SIGKILL")
  }
}

const messages = (stdout: string) =>
  stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))

describe("a process that is told to stop", () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    it(`R13 R23 releases what it holds and ends with 0 on ${signal}`, slow, async () => {
      const ended = await run(program, ["clean"], { onOutput: signalling(["ready", signal]) })
      assert.strictEqual(ended.code, 0)
      assert.strictEqual(ended.stderr, "")
      assert.isTrue(ended.stdout.startsWith("ready\nreleased\n"), ended.stdout)
      assert.deepStrictEqual(
        messages(ended.stdout).map(({ msg }) => msg),
        ["server stopped"]
      )
    })
  }

  it("N01 R13 ends with 1 when the stop takes too long, and says so", slow, async () => {
    const ended = await run(program, ["hanging"], { onOutput: signalling(["ready", "SIGTERM"]) })
    assert.strictEqual(ended.code, 1)
    const [line, ...others] = messages(ended.stdout)
    assert.deepStrictEqual(
      { ...line, time: "" },
      { time: "", level: "ERROR", msg: "stop took too long and was cut off", shutdown_timeout: "300ms" }
    )
    assert.deepStrictEqual(others, [])
  })

  it("N03 R23 ends at once with 130 or 143 on a second signal", slow, async () => {
    const twice = (second: NodeJS.Signals) =>
      run(program, ["hanging"], { onOutput: signalling(["ready", "SIGTERM"], ["hanging", second]) })
    assert.strictEqual((await twice("SIGINT")).code, 130)
    assert.strictEqual((await twice("SIGTERM")).code, 143)
  })
})

describe("a process that fails", () => {
  it("R23 R5 tells a failed start in one inert line, without a stack, and its code", slow, async () => {
    const ended = await run(program, ["taken"])
    assert.strictEqual(ended.code, 69)
    assert.strictEqual(ended.stderr, "ricochet: port 55223 is taken\\u{1b}[2J\n")
  })

  it("R23 ends with 1 on a failure without a code of its own, having released what it held", slow, async () => {
    const ended = await run(program, ["failing"])
    assert.strictEqual(ended.code, 1)
    assert.strictEqual(ended.stderr, "ricochet: the disk is full\n")
    assert.strictEqual(ended.stdout, "ready\nreleased\n")
  })

  it("says where a bug is", slow, async () => {
    const ended = await run(program, ["bug"])
    assert.strictEqual(ended.code, 1)
    assert.deepStrictEqual(
      messages(ended.stdout).map(({ level, msg }) => [level, msg]),
      [["FATAL", "server failed"]]
    )
    assert.match(ended.stderr, /^ricochet: undefined is not a function \(at .*Program\.ts:\d+:\d+.*\)\n$/)
  })

  it("stops as on a signal after what nobody caught, and ends with 1", slow, async () => {
    for (const [name, text] of [
      ["rejection", "nobody caught this"],
      ["exception", "thrown at nobody"]
    ] as const) {
      const ended = await run(program, [name])
      assert.strictEqual(ended.code, 1)
      assert.include(ended.stdout, "released")
      assert.include(ended.stderr, `ricochet: stopped after an unhandled failure: ${text} (at `)
      assert.deepStrictEqual(
        messages(ended.stdout).map(({ level, msg }) => [level, msg]),
        [
          ["FATAL", "server failed"],
          ["INFO", "server stopped"]
        ]
      )
    }
  })
})
