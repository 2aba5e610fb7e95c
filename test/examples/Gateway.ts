/**
 * An HTTP gateway that routes by region: it sends a client to the server that holds a mailbox. Every gateway that knows
 * the same servers picks the same one, and a server that leaves takes only its own mailboxes with it.
 *
 *     SERVER_BOOTSTRAP_PEERS=… PORT=8080 node Gateway.ts
 *     curl 127.0.0.1:8080/eu-west/mailboxes/alice
 */
import { createServer } from "node:http"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Config, ConfigProvider, Effect, Layer, Option, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Capabilities, Discovery, Servers } from "ricochet-discovery"

const Mailbox = Schema.Struct({ region: Schema.String, name: Schema.String })

const routes = HttpRouter.add(
  "GET",
  "/:region/mailboxes/:name",
  Effect.gen(function* () {
    const { region, name } = yield* HttpRouter.schemaPathParams(Mailbox)
    const servers = yield* Servers
    const picked = yield* servers.pick(name, { region, capability: "mailbox" })
    return Option.match(picked, {
      onNone: () => HttpServerResponse.jsonUnsafe({ problem: `no server in ${region}` }, { status: 503 }),
      onSome: ({ serverId, addresses }) => HttpServerResponse.jsonUnsafe({ serverId, addresses })
    })
  })
)

/** A server like any other, but without mailboxes, and without a database to remember in. */
const discovery = Discovery.layerServer.pipe(
  Layer.provide([Discovery.layerNetwork, Discovery.layerReadiness, Discovery.layerStorageNone]),
  Layer.provide(Discovery.layerIdentity),
  Layer.provide(Discovery.layerConfigProvider()),
  Layer.provide(Layer.succeed(Capabilities, ["gateway"]))
)

const gateway = HttpRouter.serve(routes).pipe(
  Layer.provide(discovery),
  Layer.provide(
    NodeHttpServer.layerConfig(createServer, {
      host: Config.succeed("127.0.0.1"),
      port: Config.Int("PORT").pipe(Config.withDefault(8080))
    })
  ),
  Layer.provide(ConfigProvider.layer(ConfigProvider.constantCase(ConfigProvider.fromEnv())))
)

NodeRuntime.runMain(Layer.launch(gateway))
