import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Database, DatabaseRefused } from "../../src/storage/Database.ts"
import * as Child from "../process/Child.ts"
import { eventually } from "../process/Eventually.ts"
import { compileCache, prepareData } from "../process/ServerProcess.ts"
import { capture, databaseLayer, type Line, temporaryDirectory } from "./Fixtures.ts"

const open = (directory: string, lines: Array<Line> = []) =>
  Effect.map(
    Layer.build(databaseLayer({ kind: "embedded" }, directory).pipe(Layer.provideMerge(capture(lines)))),
    (context) => Context.get(context, Database)
  )

const startWriter = (directory: string) =>
  Child.start({
    command: process.execPath,
    args: [join(import.meta.dirname, "fixtures/write.ts"), directory],
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache }
  })

/** Every file under a directory with what is in it, to see that nothing was touched. That one was tried may show. */
const fingerprint = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name !== "postmaster.pid" && statSync(join(directory, name)).isFile())
    .sort()
    .map(
      (name) =>
        `${name} ${createHash("sha256")
          .update(readFileSync(join(directory, name)))
          .digest("hex")}`
    )

/** An empty database, and the data directory that it is in. */
const preparedDirectory = Effect.gen(function* () {
  const directory = join(yield* temporaryDirectory, "data")
  yield* Effect.promise(() => prepareData(directory))
  return directory
})

describe("the embedded database", () => {
  it.live("is made in the data directory, is there again the next time, and the log says where", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const location = join(directory, "pglite")
      const lines: Array<Line> = []
      yield* Effect.scoped(
        Effect.gen(function* () {
          const database = yield* open(directory, lines)
          assert.deepStrictEqual([database.kind, database.location], ["embedded", location])
          yield* database.sql`CREATE TABLE mine (value text)`
          yield* database.sql`INSERT INTO mine VALUES ('kept')`
        })
      )
      assert.strictEqual(statSync(location).mode & 0o777, 0o700)
      assert.deepStrictEqual(lines, [
        { level: "Info", message: "database", annotations: { kind: "embedded", location } }
      ])
      const { sql } = yield* open(directory)
      assert.deepStrictEqual(yield* sql`SELECT value FROM mine`, [{ value: "kept" }])
    })
  )

  it.live("E09 survives kill -9 at any moment, with every row that it confirmed", () =>
    Effect.gen(function* () {
      const directory = yield* preparedDirectory
      const number = (word: string) => (line: string) =>
        line.startsWith(`${word} `) ? Number(line.slice(word.length + 1)) : undefined
      let confirmed = 0
      for (let round = 1; round <= 5; round++) {
        const child = yield* startWriter(directory)
        const found = yield* child.line("the rows are counted", number("found"))
        assert.isAtLeast(found, confirmed)
        yield* child.line("rows are written", (line) =>
          (number("wrote")(line) ?? 0) >= found + 7 * round ? line : undefined
        )
        yield* child.signal("SIGKILL")
        yield* child.ending
        confirmed = Math.max(...child.stdout.map((line) => number("wrote")(line) ?? 0)) + 1
      }
      const { sql } = yield* open(directory)
      const rows = yield* sql<{ number: number }>`SELECT number FROM confirmed ORDER BY number`
      assert.isAtLeast(rows.length, confirmed)
      assert.deepStrictEqual(
        rows.map((row) => row.number),
        rows.map((_, index) => index)
      )
    })
  )

  it.live("E09 is made anew when a start was killed while it was being made", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const child = yield* startWriter(directory)
      const isBegun = Effect.sync(() => existsSync(join(directory, "pglite.new")))
      yield* eventually("the database is being made", isBegun, Boolean)
      yield* child.signal("SIGKILL")
      yield* child.ending
      assert.isFalse(existsSync(join(directory, "pglite")))
      yield* (yield* open(directory)).ping
      assert.isFalse(existsSync(join(directory, "pglite.new")))
    })
  )

  it.live("E09 makes no database over files of somebody else", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      mkdirSync(join(directory, "pglite"))
      writeFileSync(join(directory, "pglite", "mine.txt"), "mine")
      const error = yield* Effect.flip(open(directory))
      assert.instanceOf(error, DatabaseRefused)
      assert.deepStrictEqual(readdirSync(join(directory, "pglite")), ["mine.txt"])
    })
  )
})

describe("a damaged embedded database", () => {
  it.live.each([
    ["has no PG_VERSION", "PG_VERSION is missing", (at: string) => rmSync(join(at, "PG_VERSION"))],
    [
      "is of another version",
      "database files are incompatible with server",
      (at: string) => writeFileSync(join(at, "PG_VERSION"), "9\n")
    ],
    [
      "has a control file cut short",
      'could not read file "global/pg_control": read 100 of 296',
      (at: string) => truncateSync(join(at, "global/pg_control"), 100)
    ],
    [
      "has no control file",
      'could not open file "global/pg_control": No such file or directory',
      (at: string) => rmSync(join(at, "global/pg_control"))
    ]
  ] as const)("E09 that %s is refused in one clear line, and left as it is", ([, why, damage]) =>
    Effect.gen(function* () {
      const directory = yield* preparedDirectory
      const location = join(directory, "pglite")
      damage(location)
      const before = fingerprint(location)
      const error = yield* Effect.flip(open(directory))
      assert.instanceOf(error, DatabaseRefused)
      assert.strictEqual(error.exitCode, 78)
      assert.strictEqual(
        error.message,
        `the database ${location} cannot be used: it does not open (${why}) and is left as it is, move it away to start with an empty one`
      )
      assert.deepStrictEqual(fingerprint(location), before)
    })
  )
})
