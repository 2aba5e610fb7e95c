/**
 * The one table of everything that can be set: path in the configuration file, what it can hold, default, presets,
 * flag, and what it is for. File, environment, flags, `ricochet config` and the documentation all follow it.
 *
 * The environment variable of `server.port` is `RICOCHET_SERVER_PORT`, and so for every key.
 */
import { Duration } from "effect"
import { addresses, addressesOfPeers, peerIds } from "./AddressKinds.ts"
import {
  boolean,
  choice,
  duration,
  host,
  hostOrSocketDirectory,
  type Kind,
  list,
  minutes,
  number,
  optional,
  path,
  secret,
  text,
  wholeNumber
} from "./Kind.ts"

export interface Key<A> {
  readonly kind: Kind<A>
  readonly default: A
  readonly development?: A
  readonly production?: A
  /** What a bare number counts. */
  readonly unit?: string
  /** The flag's name, without its dashes. */
  readonly flag?: string
  readonly doc: string
}

const key = <A>(kind: Kind<A>, about: Omit<Key<NoInfer<A>>, "kind">): Key<A> => ({ kind, ...about })

const port = wholeNumber(0, 65_535)

export const keys = {
  "server.port": key(port, {
    default: 55_223,
    flag: "port",
    doc: "TCP port that other servers reach this one on; 0 takes a free one."
  }),
  "server.region": key(text, {
    default: "default",
    flag: "region",
    doc: "Label that this server announces."
  }),
  "server.identity_file": key(optional(path), {
    default: undefined,
    flag: "identity-file",
    doc: "File of the server's Ed25519 key; `peer_identity.key` in the data directory where none is set."
  }),
  "server.listen_addresses": key(addresses, {
    default: [],
    doc: "Multiaddrs to listen on; made from the port where none are set."
  }),
  "server.external_addresses": key(addresses, {
    default: [],
    flag: "external-addrs",
    doc: "Multiaddrs that others can dial, where they are not the ones listened on."
  }),
  "server.bootstrap_peers": key(addressesOfPeers, {
    default: [],
    flag: "bootstrap",
    doc: "Servers to connect to at startup and to stay connected to: multiaddrs that end in /p2p/ and their peer ID."
  }),
  "storage.data_directory": key(path, {
    default: "./sf_storage",
    flag: "data-dir",
    doc: "Directory of the identity and of the embedded database."
  }),
  "storage.max_storage_gb": key(number(0.001, 1_000_000), {
    default: 10,
    development: 1,
    production: 50,
    unit: "GB of 1024³ bytes",
    doc: "Storage budget that this server announces."
  }),
  "storage.retention_days": key(wholeNumber(1, 36_500), {
    default: 30,
    unit: "days",
    doc: "Retention policy that this server announces."
  }),
  "database.host": key(hostOrSocketDirectory, {
    default: "localhost",
    flag: "pg-host",
    doc: "Host of the PostgreSQL server. Any database setting selects PostgreSQL; with none, an embedded one is used."
  }),
  "database.port": key(wholeNumber(1, 65_535), {
    default: 5_432,
    flag: "pg-port",
    doc: "Port of the PostgreSQL server."
  }),
  "database.name": key(text, {
    default: "ricochet",
    flag: "pg-database",
    doc: "Name of the database."
  }),
  "database.username": key(text, {
    default: "ricochet",
    flag: "pg-username",
    doc: "User that the database knows this server as."
  }),
  "database.password": key(optional(secret), {
    default: undefined,
    doc: "Password of that user. Better kept out of the file, in RICOCHET_PG_PASSWORD."
  }),
  "database.sslmode": key(choice("disable", "prefer", "require", "verify-ca", "verify-full"), {
    default: "require",
    development: "disable",
    flag: "pg-sslmode",
    doc: "How the connection is encrypted, and how far the server's certificate is checked."
  }),
  "database.pool_size": key(wholeNumber(1, 1_000), {
    default: 25,
    production: 50,
    unit: "connections",
    doc: "Connections to the database at most."
  }),
  "performance.max_concurrent_connections": key(wholeNumber(1, 1_000_000), {
    default: 10_000,
    development: 100,
    production: 10_000,
    unit: "connections",
    doc: "Connections with other servers at most."
  }),
  "intervals.service_announcement_min": key(minutes, {
    default: Duration.minutes(60),
    development: Duration.minutes(1),
    production: Duration.minutes(60),
    unit: "minutes",
    doc: "Time from one announcement to the next."
  }),
  "intervals.health_check_min": key(minutes, {
    default: Duration.minutes(5),
    development: Duration.seconds(30),
    production: Duration.minutes(5),
    unit: "minutes",
    doc: "Time from one self-check, and its heartbeat, to the next. The uptime score covers the last 288 of them."
  }),
  "features.enable_metrics": key(boolean, {
    default: true,
    doc: "Whether /metrics is served."
  }),
  "features.enable_authentication": key(boolean, {
    default: false,
    doc: "Whether only the peers of security.trusted_peers may connect."
  }),
  "security.trusted_peers": key(peerIds, {
    default: [],
    doc: "Peer IDs of the servers that may connect where features.enable_authentication is true."
  }),
  "ops.enabled": key(boolean, {
    default: true,
    doc: "Whether health, list and metrics are served over HTTP."
  }),
  "ops.bind": key(host, {
    default: "127.0.0.1",
    doc: "Address or host name that the HTTP listener binds."
  }),
  "ops.port": key(port, {
    default: 9_090,
    flag: "ops-port",
    doc: "TCP port of the HTTP listener; 0 takes a free one."
  }),
  "ops.allowed_hosts": key(list("host names"), {
    default: [],
    doc: "Names, besides IP addresses, localhost and ops.bind, that HTTP requests may be addressed to."
  }),
  "ops.readiness_timeout": key(duration(Duration.millis(10), Duration.minutes(1)), {
    default: Duration.seconds(2),
    doc: "Time within which /readyz answers; a check that takes longer fails it. A self-check allows each 10 seconds."
  }),
  "ops.shutdown_timeout": key(duration(Duration.millis(100), Duration.minutes(10)), {
    default: Duration.seconds(5),
    doc: "Time that a stop may take; then the process ends all the same, with exit code 1."
  }),
  "ops.drain_delay": key(duration(Duration.zero, Duration.minutes(10)), {
    default: Duration.zero,
    doc: "Time between turning unready and leaving, for load balancers to notice; part of the shutdown timeout."
  }),
  "discovery.max_servers": key(wholeNumber(1_000, 1_000_000), {
    default: 50_000,
    unit: "servers",
    doc: "Servers that the registry keeps at most."
  }),
  "discovery.mdns": key(boolean, {
    default: false,
    development: true,
    doc: "Whether servers on the local network are found by multicast DNS."
  }),
  "logging.level": key(choice("debug", "info", "warn", "error"), {
    default: "info",
    development: "debug",
    flag: "log-level",
    doc: "Least severe level that is logged."
  }),
  "logging.format": key(choice("auto", "pretty", "json"), {
    default: "auto",
    flag: "log-format",
    doc: "pretty: lines for people. json: one JSON object a line. auto: pretty on a terminal, json elsewhere."
  })
} as const

export type Path = keyof typeof keys

export type ValueOf<P extends Path> = (typeof keys)[P] extends Key<infer A> ? A : never

export type Values = { readonly [P in Path]: ValueOf<P> }

/** Every path, in the order of the table. */
export const paths = Object.keys(keys) as ReadonlyArray<Path>

export const isPath = (text: string): text is Path => Object.hasOwn(keys, text)

export const keyAt = (path: Path): Key<unknown> => keys[path] as Key<unknown>

export const sectionOf = (path: string): string => path.slice(0, path.indexOf("."))

export const sections: ReadonlySet<string> = new Set(paths.map(sectionOf))

export const variableOf = (path: string): string => `RICOCHET_${path.replace(".", "_").toUpperCase()}`

/**
 * Parts of Ricochet that are not built here: a key or section with one of these words in its name is theirs. It loads,
 * has no effect, and is named in a warning. No name in the table holds one of the words, so none can hide a misspelling.
 */
const otherParts = /mailbox|quota|rate_limit|admission|relay|document/

export const isWithoutEffect = (name: string): boolean => otherParts.test(name)
