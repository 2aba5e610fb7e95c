/**
 * The server as layers, for an application that composes it: whole in one line, or of its parts, each of which another
 * may stand in for. What the parts do is their rooms' business.
 */
import { Context, Effect, Layer, Metric } from "effect"
import type { Announcer, OwnAnnouncementRefused } from "../announcing/Announcer.ts"
import * as Configuration from "../config/Configuration.ts"
import type { ConfigurationProblems } from "../config/ConfigurationProblems.ts"
import { fromProvider } from "../config/Provider.ts"
import type { Preset } from "../config/Resolve.ts"
import { Settings } from "../config/Settings.ts"
import * as Live from "../Discovery.ts"
import type { Connectivity } from "../gossip/Connectivity.ts"
import type { Gossip } from "../gossip/Gossip.ts"
import * as GossipLibp2p from "../gossip/GossipLibp2p.ts"
import type { BadAddress } from "../gossip/GossipLibp2pAddresses.ts"
import type { GossipNode } from "../gossip/GossipLibp2pApplication.ts"
import type { BroughtNode, UnsuitableNode } from "../gossip/GossipLibp2pBrought.ts"
import type { ListenUnavailable } from "../gossip/GossipLibp2pListeners.ts"
import type { Streams } from "../gossip/Streams.ts"
import * as DatabaseCheck from "../health/DatabaseCheck.ts"
import type { Readiness } from "../health/Readiness.ts"
import * as ReadinessChecks from "../health/ReadinessChecks.ts"
import { type BadIdentity, Identity, type IdentityNotKept } from "../identity/Identity.ts"
import type { OpsListenUnavailable } from "../ops/OpsListenUnavailable.ts"
import type { OpsServer } from "../ops/OpsServer.ts"
import type { Database, DatabaseRefused } from "../storage/Database.ts"
import * as DatabaseLive from "../storage/DatabaseLive.ts"
import { DataDirectory, type DataDirectoryInUse, type DataDirectoryUnusable } from "../storage/DataDirectory.ts"
import type { KeptChecks } from "../storage/KeptChecks.ts"
import * as KeptChecksSql from "../storage/KeptChecksSql.ts"
import * as KeptNothing from "../storage/KeptNothing.ts"
import type { KeptServers } from "../storage/KeptServers.ts"
import * as KeptServersSql from "../storage/KeptServersSql.ts"
import { Tables } from "../storage/Migrations.ts"
import * as SteadyClock from "../time/SteadyClock.ts"
import type { DiscoveryConfig } from "./DiscoveryConfig.ts"
import type { Servers } from "./Servers.ts"

/** Everything that can stop a start. Each has a message for people, and the `exitCode` that the program would end with. */
export type StartFailure =
  | BadAddress
  | BadIdentity
  | ConfigurationProblems
  | DatabaseRefused
  | DataDirectoryInUse
  | DataDirectoryUnusable
  | IdentityNotKept
  | ListenUnavailable
  | OpsListenUnavailable
  | OwnAnnouncementRefused

/** What an application has of a server. */
export type ServerServices = Announcer | OpsServer | Servers

/** What a server stands on. */
export type Ground = KeptChecks | KeptServers | Network | Readiness | Settings

/** The way to the other servers, and the libp2p node behind it. */
export type Network = Connectivity | Gossip | GossipNode | Streams

const live = Layer.provide(SteadyClock.layerLive)

/** An application listens to HTTP of its own; that of the program it has to ask for. */
const beneath = { "ops.enabled": false } as const

/**
 * Settings as a value: `layerConfig({ preset: "development", "server.port": 0 })`. It reads neither file nor
 * environment. Other than for the program, `ops.enabled` is false where it is not set. Fails with ConfigurationProblems.
 */
export const layerConfig = ({
  preset,
  ...values
}: DiscoveryConfig = {}): Layer.Layer<Settings, ConfigurationProblems> =>
  Layer.effect(Settings, Effect.fromResult(Configuration.fromValues({ ...beneath, ...values }, preset)))

/**
 * Settings from the ConfigProvider in force: `server.port` is at `["server", "port"]`, which in an environment under
 * `ConfigProvider.constantCase` is `SERVER_PORT`; a list is an array, or one text with commas. A misspelt key goes
 * unnoticed. `ops.enabled` is false where it is not set. Fails with ConfigurationProblems.
 */
export const layerConfigProvider = (preset?: Preset): Layer.Layer<Settings, ConfigurationProblems> =>
  Layer.effect(Settings, fromProvider({ preset, beneath: Configuration.entriesOf(beneath) }))

/**
 * The key of the settings, found or made in the data directory, which is held against other processes. Fails with
 * BadIdentity, IdentityNotKept, DataDirectoryInUse and DataDirectoryUnusable.
 */
export const layerIdentity: Layer.Layer<
  DataDirectory | Identity,
  BadIdentity | DataDirectoryInUse | DataDirectoryUnusable | IdentityNotKept,
  Settings
> = Identity.layer.pipe(Layer.provideMerge(DataDirectory.layer))

/**
 * A libp2p node of discovery's own. What an application adds to it, it provides as ExtraTransports and ExtraServices.
 * Fails with ListenUnavailable and BadAddress.
 */
export const layerNetwork: Layer.Layer<Network, BadAddress | ListenUnavailable, Identity | Settings> = live(
  GossipLibp2p.layer
)

/**
 * A libp2p node that the application has made and started, with the services of `discoveryServices()` among its own. It
 * stays the application's to stop. Fails with UnsuitableNode when it is not such a node.
 */
export const layerNetworkBrought = (
  node: BroughtNode
): Layer.Layer<Identity | Network, BadAddress | UnsuitableNode, Settings> => live(GossipLibp2p.layerBrought(node))

/**
 * The database of the settings: PostgreSQL where any `database` key is set, else one embedded in the data directory,
 * which takes some 200 MB of memory. One that is away fails nothing; fails with DatabaseRefused when it answers and
 * refuses.
 */
export const layerDatabase: Layer.Layer<Database, DatabaseRefused, DataDirectory | Settings> = live(DatabaseLive.layer)

/** The database behind the `SqlClient` of the application, which is PostgreSQL. Fails with DatabaseRefused. */
export { layerGiven as layerDatabaseGiven } from "../storage/DatabaseLive.ts"

/** Keeps in the database what a restart must not forget (R14). */
export const layerStorage: Layer.Layer<KeptChecks | KeptServers, never, Database | Gossip> = Layer.merge(
  KeptChecksSql.layer,
  KeptServersSql.layer
).pipe(Layer.provide(Tables.layer))

/** Keeps nothing: for an application without a database. A restart begins with what neighbours know. */
export const layerStorageNone: Layer.Layer<KeptChecks | KeptServers> = KeptNothing.layer

/** Readiness without a check. Whoever has one registers it before the server is built, so that its first word counts it. */
export const layerReadiness: Layer.Layer<Readiness> = live(ReadinessChecks.layer)

/** The check named `postgres`: one round trip to the database (S9). */
export const layerDatabaseCheck: Layer.Layer<never, never, Database | Readiness> = DatabaseCheck.layer

/**
 * Metrics of its own for what is built on it, so that servers of one process do not count as one. They are in the
 * `Metric.MetricRegistry` that the application provides, for exporters that are provided with it too; else in a new one.
 */
export const layerMetrics: Layer.Layer<never> = Layer.effect(
  Metric.MetricRegistry,
  Effect.map(Metric.MetricRegistry, (given) => {
    const sharedByDefault = Context.get(Context.empty(), Metric.MetricRegistry)
    return given === sharedByDefault ? new Map() : given
  })
)

/** All that `layer` stands on, from the settings alone. */
export const layerGround: Layer.Layer<
  Database | Exclude<Ground, Settings>,
  Exclude<StartFailure, ConfigurationProblems | OpsListenUnavailable | OwnAnnouncementRefused>,
  Settings
> = layerDatabaseCheck.pipe(
  Layer.provideMerge(layerReadiness),
  Layer.provideMerge(layerStorage),
  Layer.provideMerge(layerNetwork),
  Layer.provideMerge(layerDatabase),
  Layer.provideMerge(layerIdentity)
)

/**
 * The server on a ground that is given. When it is built, everything is up and the first words are said (R23); when it
 * closes, it says farewell first (R13). Fails with OwnAnnouncementRefused, and with OpsListenUnavailable where
 * `ops.enabled` is true. A program that composes a second server of its parts provides `layerMetrics` to each, and
 * wraps each in `Layer.fresh`.
 */
export const layerServer: Layer.Layer<ServerServices, OpsListenUnavailable | OwnAnnouncementRefused, Ground> =
  Live.layer

/**
 * A whole server from its settings as a value:
 *
 * ```ts
 * const discovery = Discovery.layer({ "server.region": "eu-west", "server.bootstrap_peers": [address] })
 * ```
 *
 * It is `layerServer` on `layerGround` on `layerConfig`, with `layerMetrics`; an application that replaces a part, or
 * registers a check of its own, writes these out. Each call makes another server, however many there are in a program.
 */
export const layer = (config: DiscoveryConfig = {}): Layer.Layer<Database | Ground | ServerServices, StartFailure> =>
  apart(
    layerServer.pipe(
      Layer.provideMerge(layerGround),
      Layer.provideMerge(layerConfig(config)),
      Layer.provide(layerMetrics)
    )
  )

/**
 * A layer that shares no part with any other, where two would otherwise be built of one: a second server, in a program
 * that has provided a first, would be the first once more.
 */
const apart = <A, E>(whole: Layer.Layer<A, E>): Layer.Layer<A, E> =>
  Layer.effectContext(
    Effect.flatMap(Effect.scope, (scope) => Layer.buildWithMemoMap(whole, Layer.makeMemoMapUnsafe(), scope))
  )
