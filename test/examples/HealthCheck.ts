/**
 * An Effect application with a health check of its own, and a task that reacts to changes: while a file named
 * `maintenance` stands in its directory, no other server lists this one.
 *
 *     SERVER_REGION=eu-west SERVER_BOOTSTRAP_PEERS=… node HealthCheck.ts
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { ConfigProvider, Console, Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { Discovery, Gossip, Readiness, Servers } from "ricochet-discovery"

class InMaintenance extends Schema.TaggedError<InMaintenance>()("InMaintenance", {}) {}

/** Registered before the server is built, so that its first heartbeat already counts it. */
const maintenance = Layer.effectDiscard(
  Effect.gen(function* () {
    const [files, readiness] = [yield* FileSystem.FileSystem, yield* Readiness]
    const check = Effect.flatMap(files.exists("maintenance"), (exists) => (exists ? new InMaintenance() : Effect.void))
    yield* readiness.register("maintenance", check)
  })
)

/** Counts the available servers anew whenever one changes its state or goes. */
const counting = Layer.effectDiscard(
  Effect.gen(function* () {
    const [gossip, servers] = [yield* Gossip, yield* Servers]
    yield* Console.log(`${gossip.self} is at ${(yield* gossip.addresses)[0]}`)
    yield* servers.changes.pipe(
      Stream.filter((event) => event._tag !== "Changed" || event.before !== event.server.state),
      Stream.mapEffect(() => servers.list()),
      Stream.runForEach((available) => Console.log(`${available.length} available`)),
      Effect.forkScoped
    )
  })
)

const app = counting.pipe(
  Layer.provide(Discovery.layerServer),
  Layer.provide(maintenance),
  Layer.provide(Discovery.layerGround),
  Layer.provide(Discovery.layerConfigProvider()),
  Layer.provide(ConfigProvider.layer(ConfigProvider.constantCase(ConfigProvider.fromEnv()))),
  Layer.provide(NodeServices.layer)
)

NodeRuntime.runMain(Layer.launch(app))
