/**
 * The HTTP listener for operators, on `ops.bind:ops.port`: read only, bounded, and gone at once when the server stops.
 * What it answers is the handlers' business.
 */
import { createServer, type Server } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, FiberSet, Layer } from "effect"
import { HttpServer } from "effect/http"
import { Settings } from "../config/Settings.ts"
import { guarded } from "./HttpDoor.ts"
import * as OpsHandlers from "./OpsHandlers.ts"
import { OpsListenUnavailable } from "./OpsListenUnavailable.ts"
import * as OpsRoutes from "./OpsRoutes.ts"
import { Watch } from "./Watch.ts"

/** Longest a request that runs at the stop may take, before its connection is cut. */
const stopGrace = "1 second"

/** Bounds on what a client may take of this server, in milliseconds, bytes and connections. */
const bounds = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 5_000
} as const

/** Open connections at most; a watch takes one as long as it lasts. */
const maxConnections = 1_024
const maxHeaders = 64

/**
 * A connection on which nothing moves for so long is cut, in milliseconds: a client that stopped reading, for a watch
 * is never quiet that long, and other connections have ended before.
 */
export const IdleMillis: Context.Reference<number> = Context.Reference("ricochet-discovery/ops/IdleMillis", {
  defaultValue: () => 45_000
})

const boundedServer = (idleMillis: number): Server => {
  const server = createServer(bounds)
  server.maxConnections = maxConnections
  server.maxHeadersCount = maxHeaders
  server.setTimeout(idleMillis)
  return server
}

/** Listens until the scope closes, and says where. Fails with OpsListenUnavailable. */
export const listen = Effect.gen(function* () {
  const { ops } = yield* Settings
  const watch = yield* Watch
  const node = boundedServer(yield* IdleMillis)
  const server = yield* NodeHttpServer.make(() => node, {
    host: ops.bind,
    port: ops.port,
    gracefulShutdownTimeout: stopGrace
  }).pipe(Effect.mapError(({ cause }) => new OpsListenUnavailable({ bind: ops.bind, port: ops.port, cause })))
  yield* Effect.addFinalizer(() => Effect.sync(() => node.closeAllConnections()))
  // A connection that cannot be accepted, for want of file descriptors say, must not end the process.
  const run = yield* FiberSet.makeRuntime<never>()
  node.on("error", (cause) => run(Effect.logError("ops listener failed to accept a connection", cause)))

  const application = yield* OpsRoutes.application
  yield* server.serve(guarded(application, [ops.bind, ...(ops.allowedHosts ?? [])]))
  // Runs first at the stop: a watch would otherwise use up the grace of all requests.
  yield* Effect.addFinalizer(() => watch.end)

  const url = HttpServer.formatAddress(server.address)
  yield* Effect.logInfo("ops listening").pipe(Effect.annotateLogs({ url }))
  return { url }
})

/** What listening needs, out of the rooms of a server. */
export const answering = Layer.mergeAll(OpsHandlers.layer, NodeHttpServer.layerHttpServices)
