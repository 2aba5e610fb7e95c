/** The settings of a virtual server: those of the specification, as a value, with what a test changes in them. */
import { Duration } from "effect"
import type { SettingsShape } from "../config/Settings.ts"

/** What a test may set; everything else is at its default, and nothing is read from files or the environment. */
export interface VirtualSettings {
  /** Default `default`. */
  readonly region?: string | undefined
  /** Default 60 minutes. */
  readonly serviceAnnouncement?: Duration.Input | undefined
  /** Default 5 minutes. */
  readonly healthCheck?: Duration.Input | undefined
  /** Default 5 seconds. */
  readonly shutdownTimeout?: Duration.Input | undefined
  /** Default none. */
  readonly drainDelay?: Duration.Input | undefined
  /** Default 50 000. */
  readonly maxServers?: number | undefined
}

export const make = (virtual: VirtualSettings): SettingsShape => ({
  preset: undefined,
  server: {
    port: 55_223,
    region: virtual.region ?? "default",
    identityFile: undefined,
    listenAddresses: [],
    externalAddresses: [],
    bootstrapPeers: []
  },
  storage: { dataDirectory: "./sf_storage", maxStorageGb: 10, retentionDays: 30 },
  database: { kind: "embedded" },
  performance: { maxConcurrentConnections: 10_000 },
  intervals: {
    serviceAnnouncement: Duration.fromInputUnsafe(virtual.serviceAnnouncement ?? "60 minutes"),
    healthCheck: Duration.fromInputUnsafe(virtual.healthCheck ?? "5 minutes")
  },
  features: { enableMetrics: true, enableAuthentication: false },
  security: { trustedPeers: [] },
  ops: {
    enabled: false,
    bind: "127.0.0.1",
    port: 9090,
    readinessTimeout: Duration.seconds(2),
    shutdownTimeout: Duration.fromInputUnsafe(virtual.shutdownTimeout ?? "5 seconds"),
    drainDelay: Duration.fromInputUnsafe(virtual.drainDelay ?? "0 seconds")
  },
  discovery: { maxServers: virtual.maxServers ?? 50_000, mdns: false },
  logging: { level: "debug", format: "json" },
  seedHex: undefined
})
