/**
 * Every number and name the program obeys, resolved: what the rooms read. Where the values come from is Configuration's.
 */
import { Context, type Duration, type Redacted } from "effect"

export interface ServerSettings {
  /** TCP port of the libp2p listener, 0 to 65535; 0 takes a free one. */
  readonly port: number
  readonly region: string
  readonly identityFile: string | undefined
  /** Multiaddrs to listen on; made from the port where none are set. */
  readonly listenAddresses: ReadonlyArray<string>
  /** Multiaddrs that others can dial, where they are not the ones listened on. */
  readonly externalAddresses: ReadonlyArray<string>
  /** Multiaddrs with `/p2p/<peer id>`. */
  readonly bootstrapPeers: ReadonlyArray<string>
}

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

export interface SettingsShape {
  readonly preset: "development" | "production" | undefined
  readonly server: ServerSettings
  readonly storage: {
    readonly dataDirectory: string
    readonly maxStorageGb: number
    readonly retentionDays: number
  }
  readonly database: DatabaseSettings
  readonly performance: { readonly maxConcurrentConnections: number }
  readonly intervals: {
    /** From 1 second to 24 hours (R22). */
    readonly serviceAnnouncement: Duration.Duration
    /** From 1 second to 24 hours (R22). */
    readonly healthCheck: Duration.Duration
  }
  readonly features: { readonly enableMetrics: boolean; readonly enableAuthentication: boolean }
  readonly security: { readonly trustedPeers: ReadonlyArray<string> }
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
  readonly discovery: {
    /** Entries the registry keeps at most, 1 000 to 1 000 000 (R19). */
    readonly maxServers: number
    /** Find servers on the local network by multicast DNS. On in the development preset only. */
    readonly mdns: boolean
  }
  readonly logging: {
    readonly level: "debug" | "info" | "warn" | "error"
    /** `auto`: for people on a terminal, JSON lines otherwise. */
    readonly format: "auto" | "pretty" | "json"
  }
  /** The identity's seed from `RICOCHET_SEED_HEX`. */
  readonly seedHex: Redacted.Redacted | undefined
}

export class Settings extends Context.Service<Settings, SettingsShape>()("ricochet-discovery/config/Settings") {}
