/** What the tests of this room share: settings that say only what storage reads, and the layer under test on them. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Duration, Effect, Layer, Logger, References, type Scope } from "effect"
import { type DatabaseSettings, Settings, type SettingsShape } from "../../src/config/Settings.ts"
import * as DatabaseLive from "../../src/storage/DatabaseLive.ts"
import { DataDirectory } from "../../src/storage/DataDirectory.ts"

export const settings = (database: DatabaseSettings, dataDirectory: string): SettingsShape => ({
  preset: undefined,
  server: {
    port: 0,
    region: "default",
    identityFile: undefined,
    listenAddresses: [],
    externalAddresses: [],
    bootstrapPeers: []
  },
  storage: { dataDirectory, maxStorageGb: 1, retentionDays: 30 },
  database,
  performance: { maxConcurrentConnections: 100 },
  intervals: { serviceAnnouncement: Duration.minutes(60), healthCheck: Duration.minutes(5) },
  features: { enableMetrics: false, enableAuthentication: false },
  security: { trustedPeers: [] },
  ops: {
    enabled: false,
    bind: "127.0.0.1",
    port: 0,
    readinessTimeout: Duration.seconds(2),
    shutdownTimeout: Duration.seconds(5),
    drainDelay: Duration.zero
  },
  discovery: { maxServers: 50_000, mdns: false },
  logging: { level: "info", format: "json" },
  seedHex: undefined
})

export const temporaryDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "ricochet-storage-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** The database of these settings, in a data directory of its own unless one is given. */
export const databaseLayer = (database: DatabaseSettings, directory?: string) =>
  Layer.unwrap(
    Effect.map(directory === undefined ? temporaryDirectory : Effect.succeed(directory), (path) =>
      DatabaseLive.layer.pipe(
        Layer.provide(DataDirectory.layer),
        Layer.provide(Layer.succeed(Settings, settings(database, path)))
      )
    )
  )

export interface Line {
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}

/** Collects what is logged. */
export const capture = (lines: Array<Line>) =>
  Logger.layer([
    Logger.make(({ fiber, logLevel, message }) => {
      const annotations = fiber.getRef(References.CurrentLogAnnotations)
      lines.push({ level: logLevel, message: [message].flat().join(" "), annotations: { ...annotations } })
    })
  ])
