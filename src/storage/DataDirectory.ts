/**
 * The directory this server keeps its files in, held by one process at a time (R23). It knows nothing of what is in it.
 */
import { mkdtemp, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises"
import { homedir, hostname } from "node:os"
import { join, resolve } from "node:path"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { Settings } from "../config/Settings.ts"
import { makeDirectories } from "./MakeDirectories.ts"

/** Another process holds the data directory. Source: ruling R23. */
export class DataDirectoryInUse extends Schema.TaggedError<DataDirectoryInUse>()("DataDirectoryInUse", {
  path: Schema.String,
  /** The holder as it named itself, such as `process 4711 on host web-1`. */
  holder: Schema.String
}) {
  get exitCode() {
    return 69 as const
  }
  override get message() {
    return `the data directory ${this.path} is in use by ${this.holder}: stop it, or choose another directory (storage.data_directory, --data-dir)`
  }
}

/** The data directory cannot be used as it is set: not a directory, or this user may not write there. */
export class DataDirectoryUnusable extends Schema.TaggedError<DataDirectoryUnusable>()("DataDirectoryUnusable", {
  path: Schema.String,
  problem: Schema.String
}) {
  get exitCode() {
    return 78 as const
  }
  override get message() {
    return `the data directory ${this.path} cannot be used: ${this.problem} (storage.data_directory, --data-dir)`
  }
}

/** The path as it is meant: absolute, with a leading `~/` read as the home directory. */
export const resolvePath = (path: string): string =>
  resolve(path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path)

const problems: Readonly<Record<string, string>> = {
  ENOENT: "no directory can be created there",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "it is not a directory",
  ENOSPC: "no space is left on the device",
  ENAMETOOLONG: "the path is too long",
  ELOOP: "the path is a loop of symbolic links"
}

const unusable = (path: string) => (cause: unknown) => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
  const problem = problems[code] ?? (cause instanceof Error ? cause.message : String(cause))
  return new DataDirectoryUnusable({ path, problem })
}

/** Creates the directory, private to this user, where there is none; one that exists keeps its mode. */
const create = (path: string) =>
  Effect.tryPromise({
    try: async () => {
      await makeDirectories(path)
      if (!(await stat(path)).isDirectory()) throw new Error("it is not a directory")
      // Trying is the only test of a permission that no mount, quota or access list can make a liar of.
      await rmdir(await mkdtemp(join(path, ".writable-")))
    },
    catch: unusable(path)
  })

/** SQLite's result code for a lock that another holds. */
const sqliteBusy = 5

/** Loads Node's SQLite without the remark about its stability that Node 22 prints for every process that does so. */
const loadSqlite = () => {
  const emitWarning = process.emitWarning
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule("node:sqlite")
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The file of a data directory that is locked. It is there once a server has held the directory. */
export const lockIn = (path: string): string => join(path, "lock")

/**
 * Takes the kernel's own lock on `<directory>/lock`, by way of an SQLite transaction that never writes. Whatever ends
 * the process ends the lock: nothing stale stays behind, and no process ID is ever believed. It also holds between
 * containers that share the directory.
 */
const lock = (path: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const database = new (loadSqlite().DatabaseSync)(lockIn(path))
        try {
          database.exec("BEGIN EXCLUSIVE")
        } catch (cause) {
          database.close()
          throw cause
        }
        return database
      },
      catch: (cause) => cause
    }),
    (database) => Effect.sync(() => database.close())
  )

const holderFile = (path: string) => join(path, "lock.holder")

/** Says who holds the lock, for the message that another process will print. Nothing is decided by it. */
const signLock = (path: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const unfinished = `${holderFile(path)}.new`
        await writeFile(unfinished, `process ${process.pid} on host ${hostname()}\n`, { mode: 0o600 })
        await rename(unfinished, holderFile(path))
      },
      catch: unusable(path)
    }),
    () => Effect.promise(() => rm(holderFile(path), { force: true }).catch(() => {}))
  )

const readHolder = (path: string): Effect.Effect<string> =>
  Effect.promise(() =>
    readFile(holderFile(path), "utf8").then(
      (text) => /^process \d+ on host [\w.-]+$/m.exec(text)?.[0] ?? "another process",
      () => "another process"
    )
  )

const lockRefused = (path: string) =>
  Effect.fnUntraced(function* (cause: unknown) {
    return cause instanceof Error && "errcode" in cause && cause.errcode === sqliteBusy
      ? yield* new DataDirectoryInUse({ path, holder: yield* readHolder(path) })
      : yield* new DataDirectoryUnusable({
          path,
          problem: `its lock cannot be taken: ${unusable(path)(cause).problem}`
        })
  })

/** Creates the directory where there is none, and holds it until the scope closes. */
export const hold = Effect.fn("DataDirectory.hold")(function* (
  configured: string
): Effect.fn.Return<{ readonly path: string }, DataDirectoryInUse | DataDirectoryUnusable, Scope.Scope> {
  const path = resolvePath(configured)
  yield* create(path)
  yield* Effect.catch(lock(path), lockRefused(path))
  yield* signLock(path)
  return { path }
})

/**
 * The data directory of this process (`storage.data_directory`, default `./sf_storage`), created with mode 0700 where
 * there is none. Fails with `DataDirectoryInUse` (exit code 69) when another process holds it, and with
 * `DataDirectoryUnusable` (78) when it is no directory or cannot be written to.
 */
export class DataDirectory extends Context.Service<
  DataDirectory,
  {
    /** Absolute. */
    readonly path: string
  }
>()("ricochet-discovery/storage/DataDirectory") {
  /** Creates the directory where there is none, and holds it as long as the layer lives. */
  static readonly layer: Layer.Layer<DataDirectory, DataDirectoryInUse | DataDirectoryUnusable, Settings> =
    Layer.effect(
      DataDirectory,
      Effect.flatMap(Settings, (settings) => hold(settings.storage.dataDirectory))
    )
}
