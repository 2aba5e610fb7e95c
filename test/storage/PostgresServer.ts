/**
 * A real PostgreSQL for tests: its own cluster in a temporary directory, on a free port of 127.0.0.1, as a user that is
 * not root. It is stopped and removed when the scope closes.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process"
import { accessSync, constants, globSync, readFileSync } from "node:fs"
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import type { DatabaseSettings } from "../../src/config/Settings.ts"

const run = promisify(execFile)

export const username = "ricochet"
export const password = "a secret: 'quoted' & long"
export const database = "ricochet"

export interface Server {
  readonly port: number
  /** The settings that reach it, as this server's own user. */
  readonly settings: Extract<DatabaseSettings, { readonly kind: "postgres" }>
  /** Where its Unix socket is, if it was asked for one. */
  readonly socketDirectory: string
  /** Runs SQL as the superuser, and gives what psql prints of it without headers. */
  execute(sql: string, database?: string): Effect.Effect<string>
  /** Stops it as an operator would, cutting what is connected. */
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
  /** Stops every process of it where it stands: connections stay open, nothing answers. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

export interface Options {
  /** What it asks of a client: nothing, or the password. */
  readonly auth?: "trust" | "scram-sha-256"
  /** Speak TLS, with a certificate for `localhost` that it signed itself. */
  readonly tls?: boolean
  /** Listen on a Unix socket too, in the directory that `socketDirectory` names. */
  readonly socket?: boolean
}

const directories = () => [...(process.env.PATH ?? "").split(delimiter), ...globSync("/usr/lib/postgresql/*/bin")]

const find = (program: string): string => {
  for (const directory of directories()) {
    try {
      accessSync(join(directory, program), constants.X_OK)
      return join(directory, program)
    } catch {}
  }
  throw new Error(`${program} is neither on the PATH nor under /usr/lib/postgresql`)
}

/** PostgreSQL refuses to run as root: then it runs as `postgres`, or `nobody`. */
const unprivileged = (): { readonly uid?: number; readonly gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }))
      return { uid: id("-u"), gid: id("-g") }
    } catch {}
  }
  throw new Error("there is neither a user postgres nor a user nobody to run PostgreSQL as")
}

export const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** The process and every one that descends from it. Backends leave the process group, so the kernel is asked. */
const family = (pid: number): ReadonlyArray<number> => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return [
    pid,
    ...children
      .split(" ")
      .filter((text) => text !== "")
      .flatMap((child) => family(Number(child)))
  ]
}

const signalAll = (pid: number | undefined, signal: NodeJS.Signals) =>
  Effect.sync(() => {
    for (const each of pid === undefined ? [] : family(pid)) process.kill(each, signal)
  })

const makeCertificate = async (directory: string) => {
  const [key, certificate] = [join(directory, "server.key"), join(directory, "server.crt")]
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
  await run("openssl", [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "2",
    ...subject,
    "-keyout",
    key,
    "-out",
    certificate
  ])
  return [key, certificate]
}

const launch = (arguments_: ReadonlyArray<string>, user: object): Promise<ChildProcess> =>
  new Promise((resolve, reject) => {
    const child = spawn(find("postgres"), arguments_, { ...user, cwd: "/", stdio: ["ignore", "ignore", "pipe"] })
    let log = ""
    child.stderr?.on("data", (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4_000)
      if (log.includes("ready to accept connections")) resolve(child)
    })
    child.once("exit", () => reject(new Error(`PostgreSQL did not start:\n${log}`)))
  })

const exited = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once("exit", () => resolve())
  })

export const make = (options: Options = {}): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    const user = unprivileged()
    const own = async (...paths: ReadonlyArray<string>) => {
      for (const path of paths)
        if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid)
    }
    const home = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "ricochet-postgres-"))),
      (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
    )
    const data = join(home, "data")
    yield* Effect.promise(async () => {
      const secret = join(home, "secret")
      await writeFile(secret, password)
      await own(home, secret)
      const flags = ["-D", data, "-U", "admin", "--pwfile", secret, "-A", options.auth ?? "trust", "-E", "UTF8"]
      await run(find("initdb"), [...flags, "--locale=C", "--no-sync"], { ...user, cwd: "/" })
      if (options.tls) {
        const files = await makeCertificate(data)
        for (const file of files) await chmod(file, 0o600)
        await own(...files)
      }
    })
    const port = yield* freePort
    const flags = ["-D", data, "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    flags.push("-c", `unix_socket_directories=${options.socket ? home : ""}`, ...(options.tls ? ["-c", "ssl=on"] : []))

    let child: ChildProcess | undefined
    const killAtExit = () => child?.kill("SIGQUIT")
    const start = Effect.promise(async () => {
      child = await launch(flags, user)
      process.once("exit", killAtExit)
    })
    const stop = Effect.promise(async () => {
      process.off("exit", killAtExit)
      const stopping = child
      child = undefined
      stopping?.kill("SIGINT")
      if (stopping !== undefined) await exited(stopping)
    })
    yield* Effect.acquireRelease(start, () => stop)

    const execute = (sql: string, on = "postgres") =>
      Effect.promise(async () => {
        const target = ["-h", "127.0.0.1", "-p", String(port), "-U", "admin", "-d", on]
        const { stdout } = await run(find("psql"), [...target, "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", sql], {
          env: { ...process.env, PGPASSWORD: password }
        })
        return stdout.trim()
      })
    yield* execute(`CREATE ROLE ${username} LOGIN PASSWORD '${password.replaceAll("'", "''")}'`)
    yield* execute(`CREATE DATABASE ${database} OWNER ${username}`)

    return {
      port,
      socketDirectory: home,
      settings: {
        kind: "postgres",
        host: "127.0.0.1",
        port,
        name: database,
        username,
        password: Redacted.make(password),
        sslmode: "disable",
        poolSize: 4
      },
      execute,
      stop,
      start,
      pause: Effect.suspend(() => signalAll(child?.pid, "SIGSTOP")),
      resume: Effect.suspend(() => signalAll(child?.pid, "SIGCONT"))
    }
  })

/** One server for the tests of a suite. */
export class PostgresServer extends Context.Service<PostgresServer, Server>()("test/storage/PostgresServer") {
  static readonly layer = (options?: Options) => Layer.effect(PostgresServer, make(options))
}
