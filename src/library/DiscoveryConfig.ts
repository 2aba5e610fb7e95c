/**
 * What a program says of a server that it composes itself: each setting by its path in the configuration file. The
 * table behind it is config/Keys; a test holds the two together.
 */
import type { Preset } from "../config/Resolve.ts"

/**
 * Settings as a value. Whatever is absent is at its default. A duration is text such as `2s`, an interval a number of
 * minutes. Everything that is wrong is reported at once, by `ConfigurationProblems`.
 */
export interface DiscoveryConfig {
  /** The set of defaults to start from. Default: none, which is how servers run that name no preset. */
  readonly preset?: Preset | undefined
  /**
   * TCP port that other servers reach this one on; 0 takes a free one.
   * Allowed: a whole number from 0 to 65535.
   * Default: 55223.
   */
  readonly "server.port"?: number | undefined
  /**
   * Label that this server announces.
   * Allowed: a text of 1 to 256 characters, without control characters, without spaces at its ends.
   * Default: "default".
   */
  readonly "server.region"?: string | undefined
  /**
   * File of the server's Ed25519 key; `peer_identity.key` in the data directory where none is set.
   * Allowed: a text of 1 to 4096 characters, without control characters, without spaces at its ends.
   * Default: none.
   */
  readonly "server.identity_file"?: string | undefined
  /**
   * Multiaddrs to listen on; made from the port where none are set.
   * Allowed: a list of at most 1000 multiaddrs, none of them empty or a <placeholder>.
   * Default: none.
   */
  readonly "server.listen_addresses"?: ReadonlyArray<string> | undefined
  /**
   * Multiaddrs that others can dial, where they are not the ones listened on.
   * Allowed: a list of at most 1000 multiaddrs, none of them empty or a <placeholder>.
   * Default: none.
   */
  readonly "server.external_addresses"?: ReadonlyArray<string> | undefined
  /**
   * Servers to connect to at startup and to stay connected to: multiaddrs that end in /p2p/ and their peer ID.
   * Allowed: a list of at most 1000 multiaddrs that end in /p2p/ and a peer ID, none of them empty or a <placeholder>.
   * Default: none.
   */
  readonly "server.bootstrap_peers"?: ReadonlyArray<string> | undefined
  /**
   * Directory of the identity and of the embedded database.
   * Allowed: a text of 1 to 4096 characters, without control characters, without spaces at its ends.
   * Default: "./sf_storage".
   */
  readonly "storage.data_directory"?: string | undefined
  /**
   * Storage budget that this server announces.
   * Allowed: a number from 0.001 to 1000000.
   * Default: 10; development preset: 1; production preset: 50.
   */
  readonly "storage.max_storage_gb"?: number | undefined
  /**
   * Retention policy that this server announces.
   * Allowed: a whole number from 1 to 36500.
   * Default: 30.
   */
  readonly "storage.retention_days"?: number | undefined
  /**
   * Host of the PostgreSQL server. Any database setting selects PostgreSQL; with none, an embedded one is used.
   * Allowed: an IP address such as 127.0.0.1 or ::1, a host name, or the absolute path of a Unix socket's directory of at
   * most 88 bytes.
   * Default: "localhost".
   */
  readonly "database.host"?: string | undefined
  /**
   * Port of the PostgreSQL server.
   * Allowed: a whole number from 1 to 65535.
   * Default: 5432.
   */
  readonly "database.port"?: number | undefined
  /**
   * Name of the database.
   * Allowed: a text of 1 to 256 characters, without control characters, without spaces at its ends.
   * Default: "ricochet".
   */
  readonly "database.name"?: string | undefined
  /**
   * User that the database knows this server as.
   * Allowed: a text of 1 to 256 characters, without control characters, without spaces at its ends.
   * Default: "ricochet".
   */
  readonly "database.username"?: string | undefined
  /**
   * Password of that user. Better kept out of the file, in RICOCHET_PG_PASSWORD.
   * Allowed: a text of 1 to 1024 characters.
   * Default: none.
   */
  readonly "database.password"?: string | undefined
  /**
   * How the connection is encrypted, and how far the server's certificate is checked.
   * Allowed: one of disable, prefer, require, verify-ca, verify-full.
   * Default: require; development preset: disable.
   */
  readonly "database.sslmode"?: "disable" | "prefer" | "require" | "verify-ca" | "verify-full" | undefined
  /**
   * Connections to the database at most.
   * Allowed: a whole number from 1 to 1000.
   * Default: 25; production preset: 50.
   */
  readonly "database.pool_size"?: number | undefined
  /**
   * Connections with other servers at most.
   * Allowed: a whole number from 1 to 1000000.
   * Default: 10000; development preset: 100.
   */
  readonly "performance.max_concurrent_connections"?: number | undefined
  /**
   * Time from one announcement to the next.
   * Allowed: a number of minutes from 0.016667 (1 second) to 1440 (24 hours).
   * Default: 60; development preset: 1.
   */
  readonly "intervals.service_announcement_min"?: number | undefined
  /**
   * Time from one self-check, and its heartbeat, to the next. The uptime score covers the last 288 of them.
   * Allowed: a number of minutes from 0.016667 (1 second) to 1440 (24 hours).
   * Default: 5; development preset: 0.5.
   */
  readonly "intervals.health_check_min"?: number | undefined
  /**
   * Whether /metrics is served.
   * Allowed: true or false.
   * Default: true.
   */
  readonly "features.enable_metrics"?: boolean | undefined
  /**
   * Whether only the peers of security.trusted_peers may connect.
   * Allowed: true or false.
   * Default: false.
   */
  readonly "features.enable_authentication"?: boolean | undefined
  /**
   * Peer IDs of the servers that may connect where features.enable_authentication is true.
   * Allowed: a list of at most 1000 peer IDs, none of them empty or a <placeholder>.
   * Default: none.
   */
  readonly "security.trusted_peers"?: ReadonlyArray<string> | undefined
  /**
   * Whether health, list and metrics are served over HTTP.
   * Allowed: true or false.
   * Default: false, unlike the program's.
   */
  readonly "ops.enabled"?: boolean | undefined
  /**
   * Address or host name that the HTTP listener binds.
   * Allowed: an IP address such as 127.0.0.1 or ::1, or a host name.
   * Default: "127.0.0.1".
   */
  readonly "ops.bind"?: string | undefined
  /**
   * TCP port of the HTTP listener; 0 takes a free one.
   * Allowed: a whole number from 0 to 65535.
   * Default: 9090.
   */
  readonly "ops.port"?: number | undefined
  /**
   * Names, besides IP addresses, localhost and ops.bind, that HTTP requests may be addressed to.
   * Allowed: a list of at most 1000 host names, none of them empty or a <placeholder>.
   * Default: none.
   */
  readonly "ops.allowed_hosts"?: ReadonlyArray<string> | undefined
  /**
   * Time within which /readyz answers; a check that takes longer fails it. A self-check allows each 10 seconds.
   * Allowed: a duration such as 2s, 1m30s or 500ms, from 10ms to 60s.
   * Default: 2s.
   */
  readonly "ops.readiness_timeout"?: string | undefined
  /**
   * Time that a stop may take; then the process ends all the same, with exit code 1.
   * Allowed: a duration such as 2s, 1m30s or 500ms, from 100ms to 600s.
   * Default: 5s.
   */
  readonly "ops.shutdown_timeout"?: string | undefined
  /**
   * Time between turning unready and leaving, for load balancers to notice; part of the shutdown timeout.
   * Allowed: a duration such as 2s, 1m30s or 500ms, from 0s to 600s.
   * Default: 0s.
   */
  readonly "ops.drain_delay"?: string | undefined
  /**
   * Servers that the registry keeps at most.
   * Allowed: a whole number from 1000 to 1000000.
   * Default: 50000.
   */
  readonly "discovery.max_servers"?: number | undefined
  /**
   * Whether servers on the local network are found by multicast DNS.
   * Allowed: true or false.
   * Default: false; development preset: true.
   */
  readonly "discovery.mdns"?: boolean | undefined
}
