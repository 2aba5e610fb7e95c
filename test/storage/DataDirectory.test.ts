import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { homedir, hostname } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { DataDirectoryInUse, DataDirectoryUnusable, hold, resolvePath } from "../../src/storage/DataDirectory.ts"
import * as Child from "../process/Child.ts"
import { compileCache } from "../process/ServerProcess.ts"
import { temporaryDirectory } from "./Fixtures.ts"

const startHolder = (path: string) =>
  Child.start({
    command: process.execPath,
    args: [join(import.meta.dirname, "fixtures/hold.ts"), path],
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache }
  })

const holds = (child: Child.Child) =>
  child.line("the directory is held", (line) => (line.startsWith("held ") ? line.slice("held ".length) : undefined))

/** Root may write everywhere: for as long as the scope is open this process is somebody else. */
const notRoot = Effect.acquireRelease(
  Effect.sync(() => process.geteuid?.()),
  (user) => Effect.sync(() => user === 0 && process.seteuid?.(user))
).pipe(Effect.tap((user) => Effect.sync(() => user === 0 && process.seteuid?.(65_534))))

describe("a data directory", () => {
  it("is an absolute path, and may begin in the home directory", () => {
    assert.strictEqual(resolvePath("~/ricochet"), join(homedir(), "ricochet"))
    assert.strictEqual(resolvePath("~"), homedir())
    assert.strictEqual(resolvePath("./sf_storage"), resolve("sf_storage"))
    assert.strictEqual(resolvePath("~other/x"), resolve("~other/x"))
    assert.strictEqual(resolvePath("/var/lib/ricochet/"), "/var/lib/ricochet")
  })

  it.live("is made with mode 0700, and with all that leads to it", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "a", "b")
      assert.deepStrictEqual(yield* hold(path), { path })
      assert.strictEqual(statSync(path).mode & 0o777, 0o700)
      assert.strictEqual(statSync(join(path, "lock.holder")).mode & 0o777, 0o600)
    })
  )

  it.live("keeps the mode that its owner gave it", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      chmodSync(path, 0o750)
      yield* hold(path)
      assert.strictEqual(statSync(path).mode & 0o777, 0o750)
    })
  )

  it.live("may have a path longer than a socket's name", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "x".repeat(200), "y".repeat(200))
      assert.deepStrictEqual(yield* hold(path), { path })
    })
  )

  it.live("that is a file is refused, and the file left as it is", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "file")
      writeFileSync(path, "content")
      const error = yield* Effect.flip(hold(path))
      assert.deepStrictEqual(error, new DataDirectoryUnusable({ path, problem: "it is not a directory" }))
      assert.strictEqual(error.exitCode, 78)
      assert.strictEqual(
        error.message,
        `the data directory ${path} cannot be used: it is not a directory (storage.data_directory, --data-dir)`
      )
      assert.strictEqual(readFileSync(path, "utf8"), "content")
      const below = yield* Effect.flip(hold(join(path, "below")))
      assert.strictEqual(below.message.includes("a part of the path is not a directory"), true, below.message)
    })
  )

  it.live.runIf(process.platform === "linux")("that the file system will not take is refused at once", () =>
    Effect.gen(function* () {
      for (const path of ["/proc/ricochet", "/proc/ricochet/below"]) {
        const error = yield* Effect.flip(hold(path))
        assert.deepStrictEqual(error, new DataDirectoryUnusable({ path, problem: "no directory can be created there" }))
      }
    })
  )

  it.live("whose lock is no lock file is refused", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      mkdirSync(join(path, "lock"))
      const error = yield* Effect.flip(hold(path))
      assert.strictEqual(error._tag, "DataDirectoryUnusable")
      assert.include(error.message, "its lock cannot be taken: ")
    })
  )

  it.live("that this user may not write to is refused", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      chmodSync(path, 0o500)
      yield* notRoot
      const error = yield* Effect.flip(hold(path))
      assert.deepStrictEqual(error, new DataDirectoryUnusable({ path, problem: "permission denied" }))
    })
  )

  it.live("R23 is held once in a process, and free again when its scope closes", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* hold(path)
          const error = yield* Effect.flip(hold(path))
          const holder = `process ${process.pid} on host ${hostname()}`
          assert.deepStrictEqual(error, new DataDirectoryInUse({ path, holder }))
          assert.strictEqual(error.exitCode, 69)
          assert.strictEqual(
            error.message,
            `the data directory ${path} is in use by ${holder}: stop it, or choose another directory (storage.data_directory, --data-dir)`
          )
        })
      )
      assert.isFalse(existsSync(join(path, "lock.holder")))
      yield* hold(path)
    })
  )

  it.live("R23 is refused to a second process, by whatever path it comes, with the first one named", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const path = join(directory, "data")
      const child = yield* startHolder(path)
      yield* holds(child)
      symlinkSync(path, join(directory, "link"))
      for (const each of [path, join(directory, "link")]) {
        const error = yield* Effect.flip(hold(each))
        assert.deepStrictEqual(
          error,
          new DataDirectoryInUse({ path: each, holder: `process ${child.pid} on host ${hostname()}` })
        )
      }
      const second = yield* startHolder(path)
      yield* second.line("the second is refused", (line) =>
        line.includes(`is in use by process ${child.pid}`) ? line : undefined
      )
      assert.deepStrictEqual(yield* second.ending, { code: 1, signal: null })
    })
  )

  it.live("R23 stays held by a process that is stopped, and is free at once when it is killed, five times over", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      for (let round = 0; round < 5; round++) {
        const child = yield* startHolder(path)
        yield* holds(child)
        yield* child.signal("SIGSTOP")
        assert.strictEqual((yield* Effect.flip(hold(path)))._tag, "DataDirectoryInUse")
        yield* child.signal("SIGKILL")
        yield* child.ending
        yield* Effect.scoped(hold(path))
      }
    })
  )

  it.live("R23 is not held by a process that once was, though another has its number now", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      // What a killed holder leaves behind, with a process ID that is alive: this one's.
      writeFileSync(join(path, "lock"), "")
      writeFileSync(join(path, "lock.holder"), `process ${process.pid} on host ${hostname()}\n`)
      assert.deepStrictEqual(yield* hold(path), { path })
    })
  )

  it.live("R23 is held by one of many that start at the same moment", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      const children = yield* Effect.forEach(Array.from({ length: 4 }), () => startHolder(path))
      const outcomes = yield* Effect.forEach(
        children,
        (child) => child.line("held or not", (line) => /^held|in use by/.exec(line)?.[0]),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([...outcomes].sort(), ["held", ...Array.from({ length: 3 }, () => "in use by")])
    })
  )

  it.live("R5 names no holder that its file does not plainly name", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      yield* hold(path)
      writeFileSync(join(path, "lock.holder"), "process 1 on host \u001b[2J\n")
      const error = yield* Effect.flip(hold(path))
      assert.deepStrictEqual(error, new DataDirectoryInUse({ path, holder: "another process" }))
    })
  )
})
