/**
 * What a server would stand on, looked at without one: data directory, identity, ports, bootstrap addresses, database.
 * It changes nothing, and opens nothing that stays open.
 */
import { access, constants, stat } from "node:fs/promises"
import { connect, createServer, type NetConnectOpts } from "node:net"
import { dirname } from "node:path"
import { Effect, Option, Result } from "effect"
import { Settings, type SettingsShape } from "../config/Settings.ts"
import type { Sorted } from "../gossip/Address.ts"
import { foreignMessage, sortAll } from "../gossip/GossipLibp2pAddresses.ts"
import { announced, usable } from "../gossip/GossipLibp2pListeners.ts"
import * as Identity from "../identity/Identity.ts"
import { OpsListenUnavailable } from "../ops/OpsListenUnavailable.ts"
import { DataDirectoryInUse, hold, lockIn, resolvePath } from "../storage/DataDirectory.ts"
import { addressOf } from "../storage/PostgresAddress.ts"
import { transportProblem } from "./Contact.ts"
import { dialAdvice } from "./Diagnosis.ts"
import { bad, type Finding, note, ok } from "./Finding.ts"
import { whole } from "./Words.ts"

/** A machine that answers nothing for so long is as good as none. */
const patience = "3 seconds"
const probesAtATime = 16

type Entry = "missing" | "directory" | "other"

const entryAt = (path: string): Effect.Effect<Entry> =>
  Effect.promise(() =>
    stat(path).then(
      (entry) => (entry.isDirectory() ? "directory" : "other"),
      () => "missing"
    )
  )

const isWritable = (path: string) =>
  Effect.promise(() =>
    access(path, constants.W_OK | constants.X_OK).then(
      () => true,
      () => false
    )
  )

/** The nearest directory above that is there. */
const nearestAbove = (path: string): Effect.Effect<string> =>
  Effect.flatMap(entryAt(dirname(path)), (entry) =>
    entry === "missing" ? nearestAbove(dirname(path)) : Effect.succeed(dirname(path))
  )

const aboutData = "data directory"

interface Data {
  readonly finding: Finding
  /** Whether a server is there that holds it. */
  readonly isHeld: boolean
}

const unheld = (finding: Finding): Data => ({ finding, isHeld: false })

/**
 * The directory is held for a moment only where a server has held it before, so that nothing is left in it that a
 * server of another user could not open.
 */
const dataDirectory = Effect.fnUntraced(function* ({ storage }: SettingsShape) {
  const path = resolvePath(storage.dataDirectory)
  const entry = yield* entryAt(path)
  if (entry === "missing") {
    const above = yield* nearestAbove(path)
    if (yield* isWritable(above)) {
      return unheld(ok(aboutData, `${whole(path)} is not there yet; a server creates it at its first start`))
    }
    const text = `${whole(path)} is not there, and this user may not create it in ${whole(above)}`
    const advice =
      "create it for the user that the server runs as, or choose another (storage.data_directory, --data-dir)"
    return unheld(bad(aboutData, text, advice))
  }
  if (entry === "other") {
    const advice = "choose another (storage.data_directory, --data-dir)"
    return unheld(bad(aboutData, `${whole(path)} is no directory`, advice))
  }
  if (!(yield* isWritable(path))) {
    const advice = "ask again as the user that the server runs as"
    return unheld(bad(aboutData, `this user may not write to ${whole(path)}`, advice))
  }
  const free = unheld(ok(aboutData, `${whole(path)}, in use by nobody`))
  if ((yield* entryAt(lockIn(path))) === "missing") return free
  return yield* Effect.scoped(hold(path)).pipe(
    Effect.match({
      onSuccess: () => free,
      onFailure: (error): Data => {
        if (!(error instanceof DataDirectoryInUse)) return unheld(bad(aboutData, whole(error.message)))
        const text = `${whole(path)} is in use by ${whole(error.holder)}, which does not answer here`
        const advice = "ask where that server answers (--url, --ops-port, --config); stop it if it answers nowhere"
        return { finding: bad(aboutData, text, advice), isHeld: true }
      }
    })
  )
})

const identity = Identity.find.pipe(
  Effect.match({
    onFailure: (error) => bad("identity", whole(error.message)),
    onSuccess: Option.match({
      onNone: () => ok("identity", "none yet; a server creates one at its first start"),
      onSome: ({ peerId }) => ok("identity", peerId)
    })
  })
)

const opsPort = ({ ops: { bind, enabled, port } }: SettingsShape): Effect.Effect<Finding> =>
  !enabled
    ? Effect.succeed(note("ops port", "ops.enabled is false: health, list and metrics are not served"))
    : port === 0
      ? Effect.succeed(
          note("ops port", "ops.port is 0: a server takes one that is free, where no command looks for it")
        )
      : Effect.callback((resume) => {
          const server = createServer()
          server.once("error", (cause) =>
            resume(Effect.succeed(bad("ops port", whole(new OpsListenUnavailable({ bind, port, cause }).message))))
          )
          server.listen(port, bind, () =>
            server.close(() => resume(Effect.succeed(ok("ops port", `${whole(bind)} port ${port} is free`))))
          )
        })

const peerPort = ({ server }: SettingsShape) =>
  usable(server, new Set()).pipe(
    Effect.match({
      onFailure: (error) =>
        bad("peer port", whole(error.message), "free the port, or choose another (server.port, --port)"),
      onSuccess: (listening) => ok("peer port", `${listening.map(String).join(", ")} can be listened on`)
    })
  )

/** Whether somebody takes a connection there, and if not, why not. */
const probe = (where: NetConnectOpts): Effect.Effect<string | undefined> =>
  Effect.callback<string | undefined>((resume) => {
    const socket = connect(where)
    socket.once("connect", () => resume(Effect.succeed(undefined)))
    socket.once("error", (error) => resume(Effect.succeed(transportProblem(error))))
    return Effect.sync(() => socket.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(`no answer within ${patience}`) }))

const dialled = /^\/(?:ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/(\d+)/

const bootstrapAddress = Effect.fnUntraced(function* (one: Sorted) {
  if (one.kind === "foreign") {
    const text = `${whole(one.text)}: ${foreignMessage(one.transport)}`
    return note("bootstrap", text, "name an address of that server with /tcp/ in it")
  }
  const address = one.address.toString()
  const [, host, port] = dialled.exec(address) ?? []
  if (host === undefined) return ok("bootstrap", `${whole(address)} is looked up when a server runs`)
  const problem = yield* probe({ host, port: Number(port) })
  return problem === undefined
    ? ok("bootstrap", `${whole(address)} takes connections`)
    : bad("bootstrap", `${whole(address)}: ${problem}`, dialAdvice(problem))
})

const bootstrap = ({ server: { bootstrapPeers } }: SettingsShape): Effect.Effect<ReadonlyArray<Finding>> =>
  bootstrapPeers.length === 0
    ? Effect.succeed([
        note(
          "bootstrap",
          "none set: this server would wait for others to connect to it",
          "name a server that runs, in server.bootstrap_peers or with --bootstrap"
        )
      ])
    : Result.match(sortAll("server.bootstrap_peers", bootstrapPeers, { peerNeeded: true, extra: new Set() }), {
        onFailure: ({ problems }) => Effect.succeed(problems.map((problem) => bad("bootstrap", whole(problem)))),
        onSuccess: (sorted) => Effect.forEach(sorted, bootstrapAddress, { concurrency: probesAtATime })
      })

const externalAddresses = ({ server }: SettingsShape) =>
  announced(server, new Set()).pipe(
    Effect.match({
      onFailure: (error): ReadonlyArray<Finding> => [bad("external", whole(error.message))],
      onSuccess: () => []
    })
  )

const database = Effect.fnUntraced(function* ({ database }: SettingsShape) {
  if (database.kind === "embedded") return ok("database", "embedded, in the data directory")
  const { host, port } = database
  const where = `PostgreSQL at ${whole(host)} port ${port}`
  const problem = yield* probe(addressOf(database))
  return problem === undefined
    ? ok("database", `${where} takes connections`)
    : bad("database", `${where}: ${problem}`, "start PostgreSQL, or correct database.host and database.port")
})

/** Everything that a server of these settings would stand on. */
export const examine = Effect.fnUntraced(function* (settings: SettingsShape) {
  const data = yield* dataDirectory(settings)
  // A server that is there has its ports, whatever else is the matter with it.
  const ports = data.isHeld
    ? []
    : yield* Effect.all([peerPort(settings), opsPort(settings)], { concurrency: "unbounded" })
  const [own, external, kept, addresses] = yield* Effect.all(
    [
      Effect.provideService(identity, Settings, settings),
      externalAddresses(settings),
      database(settings),
      bootstrap(settings)
    ],
    { concurrency: "unbounded" }
  )
  return [data.finding, own, ...ports, ...external, kept, ...addresses]
})
