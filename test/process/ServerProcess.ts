/**
 * A server of this project as its users have it: a process of its own, in a directory of its own, seen through its log,
 * its HTTP and its end. It knows nothing of what a test wants of it.
 */
import { existsSync } from "node:fs"
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { type Duration, Effect, Schema, type Scope, Semaphore } from "effect"
import manifest from "../../package.json" with { type: "json" }
import { Readiness } from "../../src/ops/ReadinessView.ts"
import { SelfView } from "../../src/ops/SelfView.ts"
import { ServiceDetail, ServiceList } from "../../src/ops/ServiceView.ts"
import * as Embedded from "../../src/storage/Embedded.ts"
import * as Child from "./Child.ts"
import { eventually, type NeverHeld } from "./Eventually.ts"
import { program } from "./Program.ts"

/** What Node makes of the sources, kept from one process to the next: half of what a start computes. */
export const compileCache = new URL("../../node_modules/.cache/compiled", import.meta.url).pathname

/** For suites whose tests wait more than they compute: they run beside each other, and each takes longer so. */
export const sideBySide = { concurrent: true, timeout: 150_000 } as const

/** Servers that start at the same time, at most: more would only make each of them late. */
const starting = Semaphore.makeUnsafe(2)

/** One line of the log: when, how severe, what, and its facts beside them. */
export interface LogLine extends Readonly<Record<string, unknown>> {
  readonly time: string
  readonly level: string
  readonly msg: string
}

/** The line as a log line; nothing of a line that is none. A line that looks like one and is not JSON fails the test. */
export const parseLog = (line: string): LogLine | undefined => (line.startsWith("{") ? JSON.parse(line) : undefined)

export interface ServerOptions {
  readonly args?: ReadonlyArray<string>
  /** Over what a server of a test has beside; an empty text unsets. */
  readonly env?: Readonly<Record<string, string>>
  /** YAML text of a configuration file, given with `--config`. */
  readonly config?: string
  /** Where it runs and keeps its data (`data` in it), for servers that start again; a new one otherwise. */
  readonly directory?: string
  /** Leaves it to the server to make its data directory and the database in it. */
  readonly withoutData?: boolean
  /** What Node runs. Default: the program in one file. */
  readonly program?: string
}

/** A server that was started, and may have failed to. */
export interface Launched extends Child.Child {
  readonly directory: string
  readonly logs: () => ReadonlyArray<LogLine>
  /** The first log line of that message whose facts hold. */
  readonly log: (
    message: string,
    holds?: (line: LogLine) => boolean,
    within?: Duration.Input
  ) => Effect.Effect<LogLine, Child.NotSeen>
}

export class Unanswered extends Schema.TaggedError<Unanswered>()("Unanswered", {
  url: Schema.String,
  cause: Schema.Defect()
}) {}

const Why = Schema.Struct({ listed: Schema.Boolean, reason: Schema.String, connected: Schema.Boolean })
type Why = typeof Why.Type

/** A server that is up. */
export interface Running extends Launched {
  readonly peerId: string
  /** A multiaddr that it can be dialled at on the loopback, with its peer ID. */
  readonly address: string
  readonly get: (path: string) => Effect.Effect<{ readonly status: number; readonly body: unknown }, Unanswered>
  readonly services: Effect.Effect<ServiceList, Unanswered | Schema.SchemaError>
  /** All it knows of a server that it has heard of. */
  readonly service: (peerId: string) => Effect.Effect<ServiceDetail, Unanswered | Schema.SchemaError>
  /** Whether it lists a server, and why, also of one that it has never heard of. */
  readonly why: (peerId: string) => Effect.Effect<Why, Unanswered | Schema.SchemaError>
  readonly self: Effect.Effect<SelfView, Unanswered | Schema.SchemaError>
  readonly readiness: Effect.Effect<Readiness & { readonly status: number }, Unanswered | Schema.SchemaError>
  /** Waits until it says just this of a server; what it says of its connections may be a moment old. */
  readonly says: (peerId: string, expected: Why, within?: Duration.Input) => Effect.Effect<Why, NeverHeld>
  /** Waits until the list holds exactly these servers, and gives it in its order. */
  readonly lists: (
    peerIds: ReadonlyArray<string>,
    within?: Duration.Input
  ) => Effect.Effect<ReadonlyArray<string>, NeverHeld>
  /** Asks it to stop and waits until it has. */
  readonly stop: (signal?: NodeJS.Signals) => Effect.Effect<Child.Ending>
}

/** A directory that is gone when the scope closes. */
export const temporaryDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "ricochet-test-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

/**
 * What a server of a test has beside its options: free ports, on the loopback only, a log as JSON, and nothing of the
 * machine that it runs on, whose configuration file it does not read.
 */
const environment = (directory: string) => ({
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: compileCache,
  LANG: "C.UTF-8",
  HOME: directory,
  RICOCHET_DEFAULT_CONFIG: join(directory, "default.yaml"),
  RICOCHET_SERVER_LISTEN_ADDRESSES: "/ip4/127.0.0.1/tcp/0",
  RICOCHET_OPS_PORT: "0",
  RICOCHET_STORAGE_DATA_DIRECTORY: join(directory, "data"),
  RICOCHET_LOGGING_FORMAT: "json",
  RICOCHET_DISCOVERY_MDNS: "false"
})

/**
 * An empty embedded database, made once: making one takes a server seconds, and most tests are not about that. It is
 * what a server makes of an empty data directory.
 */
let emptyDatabase: Promise<string> | undefined

const makeEmptyDatabase = async () => {
  const kept = new URL(
    `../../node_modules/.cache/empty-database/${manifest.dependencies["@electric-sql/pglite"]}`,
    import.meta.url
  ).pathname
  if (existsSync(kept)) return kept
  await mkdir(dirname(kept), { recursive: true })
  const fresh = await mkdtemp(`${kept}-`)
  await Effect.runPromise(Effect.scoped(Embedded.open(join(fresh, "pglite"))))
  // Another worker may have been faster; its one is as good.
  await rename(join(fresh, "pglite"), kept).catch(() => {})
  await rm(fresh, { recursive: true, force: true })
  return kept
}

/** Puts the empty database into a data directory that is not there yet. */
export const prepareData = async (data: string): Promise<void> => {
  if (existsSync(data)) return
  emptyDatabase ??= makeEmptyDatabase()
  await mkdir(data, { mode: 0o700 })
  await cp(await emptyDatabase, join(data, "pglite"), { recursive: true })
}

/** Starts a server. */
export const launch = Effect.fnUntraced(function* (options: ServerOptions = {}) {
  const directory = options.directory ?? (yield* temporaryDirectory)
  if (options.withoutData !== true) yield* Effect.promise(() => prepareData(join(directory, "data")))
  const args: Array<string> = []
  if (options.config !== undefined) {
    const file = join(directory, "config.yaml")
    yield* Effect.promise(() => writeFile(file, options.config ?? ""))
    args.push("--config", file)
  }
  const child = yield* Child.start({
    command: process.execPath,
    args: [options.program ?? program, ...args, ...(options.args ?? [])],
    cwd: directory,
    env: { ...environment(directory), ...options.env }
  })
  const launched: Launched = {
    ...child,
    directory,
    logs: () => child.stdout.flatMap((line) => parseLog(line) ?? []),
    log: (message, holds = () => true, within) =>
      child.line(
        `the log line “${message}”`,
        (line) => {
          const parsed = parseLog(line)
          return parsed?.msg === message && holds(parsed) ? parsed : undefined
        },
        within
      )
  }
  return launched
})

/** Starts a server and waits until it is up. */
export const start = Effect.fnUntraced(function* (options: ServerOptions = {}) {
  const { launched, url } = yield* Effect.gen(function* () {
    const launched = yield* launch(options)
    const { url } = yield* launched.log("ops listening", undefined, "40 seconds")
    yield* launched.log("registry started")
    return { launched, url }
  }).pipe(Semaphore.withPermit(starting))
  const { self } = yield* fetchJson(`${url}/services`).pipe(Effect.flatMap(decode(ServiceList)))
  return running(launched, String(url), self.server_id, self.addresses)
})

const fetchJson = (url: string) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, { signal })
      return { status: response.status, body: await response.json() }
    },
    catch: (cause) => new Unanswered({ url, cause })
  })

const decode =
  <A>(schema: Schema.Codec<A, unknown>) =>
  ({ body }: { readonly body: unknown }) =>
    Schema.decodeUnknownEffect(schema)(body)

const running = (launched: Launched, url: string, peerId: string, addresses: ReadonlyArray<string>): Running => {
  const get = (path: string) => fetchJson(`${url}${path}`)
  const why = (id: string) => get(`/services/${id}`).pipe(Effect.flatMap(decode(Why)))
  const services = get("/services").pipe(Effect.flatMap(decode(ServiceList)))
  return {
    ...launched,
    peerId,
    address: addresses.find((address) => address.startsWith("/ip4/127.0.0.1/tcp/")) ?? addresses[0] ?? "",
    get,
    services,
    service: (id) => get(`/services/${id}`).pipe(Effect.flatMap(decode(ServiceDetail))),
    why,
    says: (id, expected, within) =>
      eventually(
        `it says ${JSON.stringify(expected)} of ${id}`,
        why(id),
        (answer) => isDeepStrictEqual(answer, expected),
        within
      ),
    self: get("/self").pipe(Effect.flatMap(decode(SelfView))),
    readiness: Effect.flatMap(get("/readyz"), ({ body, status }) =>
      Effect.map(decode(Readiness)({ body }), (decoded) => ({ status, ...decoded }))
    ),
    lists: (peerIds, within) =>
      eventually(
        `the list holds exactly ${JSON.stringify(peerIds)}`,
        Effect.map(services, (list) => list.services.map(({ server_id }) => server_id)),
        (listed) => isDeepStrictEqual([...listed].sort(), [...peerIds].sort()),
        within
      ),
    stop: (signal = "SIGTERM") => Effect.andThen(launched.signal(signal), launched.ending)
  }
}
