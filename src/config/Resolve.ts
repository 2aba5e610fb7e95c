/** Entries of all sources, lowest precedence first, made into the settings in force. Pure: it reads nothing itself. */
import { join } from "node:path"
import type { Redacted } from "effect"
import { Result } from "effect"
import { ConfigurationProblems, Problem } from "./ConfigurationProblems.ts"
import * as Consistency from "./Consistency.ts"
import type { Entry, Warning } from "./Entry.ts"
import { keyAt, type Path, paths, sectionOf, type Values } from "./Keys.ts"
import { describe, type Refused } from "./Kind.ts"
import type { SettingsShape } from "./Settings.ts"

/** A set of defaults to start from. */
export type Preset = NonNullable<SettingsShape["preset"]>

/** One setting in force, as the file would say it, a secret masked. `value` is absent where nothing is set. */
export interface Effective {
  readonly path: Path
  readonly value: string | undefined
  readonly source: string
}

export interface Resolved {
  readonly settings: SettingsShape
  readonly sources: ReadonlyArray<Effective>
  readonly warnings: ReadonlyArray<Warning>
}

const problemOf = ({ path, from, source, itemSources }: Entry, { part, index, flaw }: Refused): Problem => {
  const { allowed, isSecret } = keyAt(path).kind
  const what = isSecret ? "a value that is not allowed (not shown)" : describe(part)
  const found = flaw === undefined ? `found ${what}` : `found ${what}: ${flaw}`
  return index === undefined
    ? new Problem({ from, source, path, found, allowed })
    : new Problem({ from, source: itemSources?.[index] ?? source, path: `${path}[${index}]`, found, allowed })
}

/**
 * Every entry is judged, also one that another hides. `problems` are those that the sources have already; fails with
 * them and its own.
 */
export const resolve = (input: {
  readonly preset: Preset | undefined
  readonly entries: ReadonlyArray<Entry>
  readonly seedHex: Redacted.Redacted | undefined
  readonly home: string
  readonly problems: ReadonlyArray<Problem>
}): Result.Result<Resolved, ConfigurationProblems> => {
  const { preset, entries } = input
  const problems = [...input.problems]
  const inForce = new Map<Path, { readonly value: unknown; readonly source: string }>()
  for (const path of paths) {
    const key = keyAt(path)
    const preferred = preset === undefined ? undefined : key[preset]
    inForce.set(
      path,
      preferred === undefined
        ? { value: key.default, source: "default" }
        : { value: preferred, source: `${preset} preset` }
    )
  }
  for (const entry of entries) {
    const { path, raw, source } = entry
    Result.match(keyAt(path).kind.read(raw), {
      onSuccess: (value) => inForce.set(path, { value, source }),
      onFailure: (refused) => problems.push(...refused.map((one) => problemOf(entry, one)))
    })
  }

  // The table gives each path the value its kind reads, which the map's type cannot say.
  const values = Object.fromEntries(Array.from(inForce, ([path, { value }]) => [path, value])) as unknown as Values
  const contradiction = Consistency.contradiction(values)
  // A value that could not be read left a lower one in its place, which contradicts nobody.
  const wrong = new Set(problems.map(({ path }) => path?.replace(/\[\d+\]$/, "")))
  const isTold = contradiction?.follows.some((path) => wrong.has(path))
  if (contradiction !== undefined && !isTold) {
    const last = entries.findLast(({ path }) => contradiction.paths.includes(path))
    problems.push(
      new Problem({
        from: last?.from ?? "program",
        source: last?.source ?? "preset",
        found: contradiction.found,
        allowed: contradiction.allowed
      })
    )
  }
  if (problems.length > 0) return Result.fail(new ConfigurationProblems({ problems }))

  const isDatabaseSet = entries.some(({ path }) => sectionOf(path) === "database")
  return Result.succeed({
    settings: settingsOf(values, { preset, seedHex: input.seedHex, home: input.home, isDatabaseSet }),
    sources: Array.from(inForce, ([path, { value, source }]) => ({
      path,
      value: keyAt(path).kind.write(value),
      source
    })),
    warnings: Consistency.warnings(values)
  })
}

const settingsOf = (
  values: Values,
  beside: {
    readonly preset: Preset | undefined
    readonly seedHex: Redacted.Redacted | undefined
    readonly home: string
    readonly isDatabaseSet: boolean
  }
): SettingsShape => {
  const atHome = (path: string) => (path === "~" || path.startsWith("~/") ? join(beside.home, path.slice(1)) : path)
  const identityFile = values["server.identity_file"]
  return {
    preset: beside.preset,
    server: {
      port: values["server.port"],
      region: values["server.region"],
      identityFile: identityFile === undefined ? undefined : atHome(identityFile),
      listenAddresses: values["server.listen_addresses"],
      externalAddresses: values["server.external_addresses"],
      bootstrapPeers: values["server.bootstrap_peers"]
    },
    storage: {
      dataDirectory: atHome(values["storage.data_directory"]),
      maxStorageGb: values["storage.max_storage_gb"],
      retentionDays: values["storage.retention_days"]
    },
    database: beside.isDatabaseSet
      ? {
          kind: "postgres",
          host: values["database.host"],
          port: values["database.port"],
          name: values["database.name"],
          username: values["database.username"],
          password: values["database.password"],
          sslmode: values["database.sslmode"],
          poolSize: values["database.pool_size"]
        }
      : { kind: "embedded" },
    performance: { maxConcurrentConnections: values["performance.max_concurrent_connections"] },
    intervals: {
      serviceAnnouncement: values["intervals.service_announcement_min"],
      healthCheck: values["intervals.health_check_min"]
    },
    features: {
      enableMetrics: values["features.enable_metrics"],
      enableAuthentication: values["features.enable_authentication"]
    },
    security: { trustedPeers: values["security.trusted_peers"] },
    ops: {
      enabled: values["ops.enabled"],
      bind: values["ops.bind"],
      port: values["ops.port"],
      allowedHosts: values["ops.allowed_hosts"],
      readinessTimeout: values["ops.readiness_timeout"],
      shutdownTimeout: values["ops.shutdown_timeout"],
      drainDelay: values["ops.drain_delay"]
    },
    discovery: { maxServers: values["discovery.max_servers"], mdns: values["discovery.mdns"] },
    logging: { level: values["logging.level"], format: values["logging.format"] },
    seedHex: beside.seedHex
  }
}
