/**
 * PostgreSQL inside this process, for a server without a database of its own: PGlite on files, behind the wire
 * protocol, so that the client and everything above it are those of a real server.
 */
import { existsSync } from "node:fs"
import { mkdir, rename, rm } from "node:fs/promises"
import { Duplex } from "node:stream"
import { PGlite } from "@electric-sql/pglite"
import { Effect, type Scope } from "effect"
import type { Reactivity } from "effect/reactivity/Reactivity"
import type { SqlError } from "effect/sql/SqlError"
import { textOf } from "../logging/FactText.ts"
import { DatabaseRefused } from "./Database.ts"
import { openSession, type Session } from "./Sessions.ts"

/**
 * Makes a new database beside its place and moves it there when it is whole, so that a start that is killed meanwhile
 * leaves nothing that looks like a database.
 */
const create = async (directory: string) => {
  const unfinished = `${directory}.new`
  await rm(unfinished, { recursive: true, force: true })
  // PGlite lets everybody write to its files; nobody else gets as far as them.
  await mkdir(unfinished, { mode: 0o700 })
  const database = await PGlite.create(unfinished)
  await database.close()
  await rename(unfinished, directory)
}

const openDatabase = (directory: string): Effect.Effect<PGlite, DatabaseRefused, Scope.Scope> =>
  Effect.suspend(() => {
    // What PGlite throws says that it stopped; why, PostgreSQL wrote before.
    let lastWords: string | undefined
    const isNew = !existsSync(directory)
    const onStderr = (line: string) => {
      lastWords = /(?:FATAL|PANIC): +(.*)/.exec(line)?.[1] ?? lastWords
      return false
    }
    const refused = (cause: unknown) => {
      const why = lastWords ?? textOf(cause instanceof Error ? cause.message : cause).slice(0, 200)
      const problem = isNew
        ? `it cannot be made (${why}), it takes about 40 MB of disk`
        : `it does not open (${why}) and is left as it is, move it away to start with an empty one`
      return new DatabaseRefused({ location: directory, problem })
    }
    return Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          if (isNew) await create(directory)
          // Without this file PGlite takes the directory for an empty one, and makes a database over what is there.
          if (!existsSync(`${directory}/PG_VERSION`)) throw new Error("PG_VERSION is missing")
          return await PGlite.create(directory, { onStderr })
        },
        catch: refused
      }),
      (database) => Effect.promise(() => database.close().catch(() => {}))
    )
  })

const terminate = "X".charCodeAt(0)

/** One query of the simple protocol, as bytes. */
const simpleQuery = (sql: string): Uint8Array => {
  const message = Buffer.from(`Q\0\0\0\0${sql}\0`)
  message.writeInt32BE(message.length - 1, 1)
  return message
}

/**
 * A session with the one backend there is. The client writes whole messages, and waits for the answer before it writes
 * again. What a session before this one left behind, a transaction or a prepared statement, is gone when it begins.
 */
const connect = (database: PGlite): Duplex => {
  // The streaming form, for PGlite keeps a parsed copy of every answer to the others. Each answer is a view of memory
  // that the next one overwrites.
  const exchange = (message: Uint8Array, answer: (bytes: Uint8Array) => void) =>
    database.execProtocolRawStream(message, { syncToFs: false, onRawData: (bytes) => answer(bytes.slice()) })
  const stream = new Duplex({
    read() {},
    write(message: Uint8Array, _encoding, done) {
      if (message[0] === terminate) return done()
      exchange(message, (bytes) => stream.push(bytes)).then(() => done(), done)
    },
    construct(done) {
      exchange(simpleQuery("ROLLBACK"), () => {})
        .then(() => exchange(simpleQuery("DISCARD ALL"), () => {}))
        .then(() => done(), done)
    },
    final(done) {
      stream.push(null)
      done()
    }
  })
  return stream
}

/**
 * Opens the database in `directory`, making it where there is none, until the scope closes. The effect it succeeds with
 * opens a session; there is one backend, so one session at a time. Fails with `DatabaseRefused` when the files do not
 * open, and leaves them as they are.
 */
export const open = (
  directory: string
): Effect.Effect<Effect.Effect<Session, SqlError, Scope.Scope | Reactivity>, DatabaseRefused, Scope.Scope> =>
  Effect.map(openDatabase(directory), (database) =>
    openSession({
      config: { username: "postgres", database: "postgres", ssl: false, applicationName: "ricochet-discovery" },
      connect: () => connect(database)
    })
  )
