/**
 * The server for programs without Effect: promises, an async iterable, and errors that are `Error`s with a code. It is
 * the same server; nothing is decided here.
 */
import { Cause, Effect, Exit, Layer, Logger, ManagedRuntime, Option, References, Result, Stream } from "effect"
import { Capabilities } from "../announcing/Capabilities.ts"
import type { ConfigurationProblems } from "../config/ConfigurationProblems.ts"
import type { Settings } from "../config/Settings.ts"
import { Gossip } from "../gossip/Gossip.ts"
import { Readiness } from "../health/Readiness.ts"
import { type PeerId, parse } from "../identity/PeerId.ts"
import type { Fact } from "../logging/FactText.ts"
import { layerRemarks } from "../logging/Logging.ts"
import * as LogLine from "../logging/LogLine.ts"
import { OpsServer } from "../ops/OpsServer.ts"
import type { Filter, Why } from "../registry/Query.ts"
import type { DiscoveryConfig } from "./DiscoveryConfig.ts"
import * as Discovery from "./Layers.ts"
import type { Server } from "./Server.ts"
import { Servers, type ServersEvent } from "./Servers.ts"

/**
 * One line of the server's log, escaped for a terminal: `time`, `level` such as `INFO`, `msg` in words that do not
 * change, and the facts by name.
 */
export type DiscoveryLogLine = Readonly<Record<string, Fact>>

/** What a program says of the server besides its settings. */
export interface DiscoveryOptions {
  /**
   * Where it keeps what a restart must not forget. `database`: the database of the settings, which is embedded where
   * none is set and then takes some 200 MB of memory. `none`: nowhere. Default: `database`.
   */
  readonly storage?: "database" | "none" | undefined
  /**
   * Readiness checks of the program's own, by name. A check fails by throwing or rejecting, and by taking longer than
   * a self-check allows, 10 seconds, or `/readyz`, `ops.readiness_timeout`; its signal is aborted when nobody waits
   * for it any more. While self-checks fail no other server lists this one.
   */
  readonly checks?: Readonly<Record<string, (signal: AbortSignal) => unknown>> | undefined
  /** What it announces that it offers, at most 64 names of 256 characters. Default: what every Ricochet server does. */
  readonly capabilities?: ReadonlyArray<string> | undefined
  /** Takes the log, from `Info` up, and must not throw. Default: warnings and errors go to standard error. */
  readonly log?: ((line: DiscoveryLogLine) => void) | undefined
}

/**
 * What went wrong, as `code`: the name of what stopped the start; `InvalidPeerId`, where text is no peer ID; `Closed`,
 * for what is asked of a server that was closed.
 */
export type DiscoveryErrorCode = Discovery.StartFailure["_tag"] | "Closed" | "InvalidPeerId"

/** What a promise is rejected with. Its message is for people, and complete; its cause is the error of the Effect front. */
export class DiscoveryError extends Error {
  /** What went wrong. */
  readonly code: DiscoveryErrorCode
  override readonly name = "DiscoveryError"
  constructor(code: DiscoveryErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** A server that runs. */
export interface RunningDiscovery extends AsyncDisposable {
  /** Its peer ID. */
  readonly serverId: PeerId
  /** Where others reach it: multiaddrs that end in its peer ID. */
  readonly addresses: ReadonlyArray<string>
  /** Where its HTTP is, such as `http://127.0.0.1:9090`; undefined unless `ops.enabled` is true. */
  readonly opsUrl: string | undefined
  /** The available servers, highest uptime score first. */
  services(filter?: Filter): Promise<ReadonlyArray<Server>>
  /** One server, available or not; undefined while it has not announced itself. Rejects with `InvalidPeerId`. */
  find(serverId: string): Promise<Server | undefined>
  /** Why a server is listed or is not, and since when. Rejects with `InvalidPeerId`. */
  why(serverId: string): Promise<Why>
  /** The available server that takes the work named `key`: the same on every server that knows the same others. */
  pick(key: string, filter?: Filter): Promise<Server | undefined>
  /** A snapshot, then every change, once and in order. It ends when the server is closed; leaving the loop ends it too. */
  watch(): AsyncIterable<ServersEvent>
  /** Says farewell and stops. Whoever closes it again waits for the same end. */
  close(): Promise<void>
}

const logging = (log: DiscoveryOptions["log"]): Layer.Layer<never> =>
  log === undefined
    ? layerRemarks
    : Layer.merge(
        Logger.layer([
          Logger.make(({ date, logLevel, message, cause, fiber }) => {
            const annotations = fiber.getRef(References.CurrentLogAnnotations)
            log(LogLine.record({ date, level: logLevel, message, cause, annotations }))
          })
        ]),
        Layer.succeed(References.MinimumLogLevel, "Info")
      )

type Given = Layer.Layer<
  Exclude<Discovery.Ground, Settings>,
  Exclude<Discovery.StartFailure, ConfigurationProblems>,
  Settings
>

const withoutStorage: Given = Discovery.layerNetwork.pipe(
  Layer.merge(Discovery.layerReadiness),
  Layer.merge(Discovery.layerStorageNone),
  Layer.provideMerge(Discovery.layerIdentity)
)

const layerOf = (
  config: DiscoveryConfig,
  { capabilities, checks = {}, log, storage = "database" }: DiscoveryOptions
) => {
  const ground: Given = storage === "none" ? withoutStorage : Discovery.layerGround
  const ownChecks = Layer.effectDiscard(
    Effect.flatMap(Readiness, ({ register }) =>
      Effect.forEach(Object.entries(checks), ([name, check]) =>
        register(name, Effect.tryPromise({ try: async (signal) => check(signal), catch: (cause) => cause }))
      )
    )
  )
  return Discovery.layerServer.pipe(
    Layer.provide(ownChecks),
    Layer.provideMerge(ground),
    Layer.provide(Discovery.layerConfig(config)),
    Layer.provide(capabilities === undefined ? Layer.empty : Layer.succeed(Capabilities, capabilities)),
    Layer.provide(Discovery.layerMetrics),
    Layer.provide(logging(log))
  )
}

const peerIdOf = (text: string): PeerId =>
  Result.match(parse(text), {
    onSuccess: (peerId) => peerId,
    onFailure: (error) => {
      throw new DiscoveryError("InvalidPeerId", error.message, error)
    }
  })

/**
 * Starts a server. The promise is fulfilled once it is up and has said its first words:
 *
 * ```ts
 * await using discovery = await createDiscovery({ "server.region": "eu-west" })
 * console.log(await discovery.services())
 * ```
 *
 * Rejects with a DiscoveryError when it cannot start, and leaves nothing behind then. As many as wanted run in one
 * process, each with a `storage.data_directory` of its own.
 */
export const createDiscovery = async (
  config: DiscoveryConfig = {},
  options: DiscoveryOptions = {}
): Promise<RunningDiscovery> => {
  const runtime = ManagedRuntime.make(layerOf(config, options))
  const started = await runtime.runPromiseExit(
    Effect.gen(function* () {
      const [gossip, { url }, servers] = [yield* Gossip, yield* OpsServer, yield* Servers]
      return { serverId: gossip.self, addresses: yield* gossip.addresses, opsUrl: url, servers }
    })
  )
  if (Exit.isFailure(started)) {
    await runtime.dispose()
    const error = Option.getOrUndefined(Cause.findErrorOption(started.cause))
    throw error === undefined ? Cause.squash(started.cause) : new DiscoveryError(error._tag, error.message, error)
  }
  const { servers, ...whereabouts } = started.value

  let closing: Promise<void> | undefined
  const close = () => (closing ??= runtime.dispose())
  const whileOpen = () => {
    if (closing !== undefined) throw new DiscoveryError("Closed", "this server was closed")
  }
  const ask = async <A>(question: () => Effect.Effect<A>): Promise<A> => {
    whileOpen()
    return await runtime.runPromise(question())
  }
  return {
    ...whereabouts,
    services: (filter) => ask(() => servers.list(filter)),
    find: (serverId) => ask(() => Effect.map(servers.find(peerIdOf(serverId)), Option.getOrUndefined)),
    why: (serverId) => ask(() => servers.why(peerIdOf(serverId))),
    pick: (key, filter) => ask(() => Effect.map(servers.pick(key, filter), Option.getOrUndefined)),
    watch: () => {
      whileOpen()
      return Stream.toAsyncIterable(servers.changes)
    },
    close,
    [Symbol.asyncDispose]: close
  }
}
