/**
 * Every number and name the program obeys, resolved: what the rooms read. Where the values come from is Configuration's.
 */
import { Context, type Duration, type Redacted } from "effect"

/** Where and as whom a server is on the network. */
export interface ServerSettings {
  /** TCP port of the libp2p listener, 0 to 65535; 0 takes a free one. */
  readonly port: number
  /** The region that it announces. */
  readonly region: string
  /** File of its key; `peer_identity.key` in the data directory where none is set. */
  readonly identityFile: string | undefined
  /** Multiaddrs to listen on; made from the port where none are set. */
  readonly listenAddresses: ReadonlyArray<string>
  /** Multiaddrs that others can dial, where they are not the ones listened on. */
  readonly externalAddresses: ReadonlyArray<string>
  /** Multiaddrs with `/p2p/<peer id>`. */
  readonly bootstrapPeers: ReadonlyArray<string>
}

/** The database: a PostgreSQL server where any of its settings is set, else one embedded in the data directory. */
export type DatabaseSettings =
  | {
      readonly kind: "postgres"
      readonly host: string
      readonly port: number
      readonly name: string
      readonly username: string
      readonly password: Redacted.Redacted | undefined
      readonly sslmode: "disable" | "prefer" | "require" | "verify-ca" | "verify-full"
      readonly poolSize: number
    }
  | { readonly kind: "embedded" }

/** Every setting, resolved. What each is for, its bounds and its default are with `DiscoveryConfig`. */
export interface SettingsShape {
  /** The set of defaults that the settings started from; none where none was named. */
  readonly preset: "development" | "production" | undefined
  /** Where and as whom the server is on the network. */
  readonly server: ServerSettings
  /** Where it keeps its files, and what it announces of its storage. */
  readonly storage: {
    readonly dataDirectory: string
    readonly maxStorageGb: number
    readonly retentionDays: number
  }
  /** The database it keeps things in. */
  readonly database: DatabaseSettings
  /** How many connections with other servers it has at most. */
  readonly performance: { readonly maxConcurrentConnections: number }
  /** How often it speaks. */
  readonly intervals: {
    /** From 1 second to 24 hours (R22). */
    readonly serviceAnnouncement: Duration.Duration
    /** From 1 second to 24 hours (R22). */
    readonly healthCheck: Duration.Duration
  }
  /** What is switched on. */
  readonly features: { readonly enableMetrics: boolean; readonly enableAuthentication: boolean }
  /** Who may connect where authentication is on, by peer ID. */
  readonly security: { readonly trustedPeers: ReadonlyArray<string> }
  /** HTTP for operators, and how the server stops. */
  readonly ops: {
    readonly enabled: boolean
    readonly bind: string
    readonly port: number
    /** Host names, besides IP addresses, `localhost` and `bind`, that requests may be addressed to. Default: none. */
    readonly allowedHosts?: ReadonlyArray<string>
    readonly readinessTimeout: Duration.Duration
    readonly shutdownTimeout: Duration.Duration
    readonly drainDelay: Duration.Duration
  }
  /** The registry, and how others are found on a local network. */
  readonly discovery: {
    /** Entries the registry keeps at most, 1 000 to 1 000 000 (R19). */
    readonly maxServers: number
    /** Find servers on the local network by multicast DNS. On in the development preset only. */
    readonly mdns: boolean
  }
  /** What is logged, and how it looks. */
  readonly logging: {
    readonly level: "debug" | "info" | "warn" | "error"
    /** `auto`: for people on a terminal, JSON lines otherwise. */
    readonly format: "auto" | "pretty" | "json"
  }
  /** The identity's seed from `RICOCHET_SEED_HEX`. */
  readonly seedHex: Redacted.Redacted | undefined
}

/** The settings that a server obeys. */
export class Settings extends Context.Service<Settings, SettingsShape>()("ricochet-discovery/config/Settings") {}
