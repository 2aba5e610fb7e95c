import { readFile } from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Redacted } from "effect"
import { keyAt, paths } from "../../src/config/Keys.ts"
import { Settings } from "../../src/config/Settings.ts"
import type { DiscoveryConfig } from "../../src/library/DiscoveryConfig.ts"
import * as Discovery from "../../src/library/Layers.ts"

const seeds = [1, 2].map(
  (port) => `/ip4/192.0.2.1/tcp/${port}/p2p/12D3KooWMFsDqe1d3TsXBR51Q561R57Fm4KkW3msxvAewGVw2cV4`
)

const settingsOf = (layer: ReturnType<typeof Discovery.layerConfig>) => Effect.provide(Settings, layer)

const fromProvider = (provider: ConfigProvider.ConfigProvider, preset?: "development" | "production") =>
  settingsOf(Discovery.layerConfigProvider(preset).pipe(Layer.provide(ConfigProvider.layer(provider))))

describe("settings as a value", () => {
  it("R22 have every key of the table but those of the program's log, documented as the table has it", async () => {
    const source = await readFile(new URL("../../src/library/DiscoveryConfig.ts", import.meta.url), "utf8")
    const documented = new Map<string, string>()
    for (const [, comment = "", name = ""] of source.matchAll(
      /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*readonly "?([\w.]+)"?\?:/g
    )) {
      documented.set(name, comment.replace(/\s*\n\s*\* ?/g, " ").trim())
    }
    const expected = paths
      .filter((path) => !path.startsWith("logging."))
      .map((path) => {
        const { doc, kind, ...key } = keyAt(path)
        const write = (value: unknown) => {
          const text = kind.write(value) ?? "none"
          if (Array.isArray(value) && value.length === 0) return "none"
          return typeof value === "string" && !kind.allowed.startsWith("one of") ? JSON.stringify(value) : text
        }
        const presets = (["development", "production"] as const).flatMap((preset) =>
          key[preset] === undefined || write(key[preset]) === write(key.default)
            ? []
            : [`; ${preset} preset: ${write(key[preset])}`]
        )
        const defaults = path === "ops.enabled" ? "false, unlike the program's" : write(key.default) + presets.join("")
        return [path, `${doc} Allowed: ${kind.allowed}. Default: ${defaults}.`] as const
      })
    documented.delete("preset")
    assert.deepStrictEqual(Object.fromEntries(documented), Object.fromEntries(expected))
  })

  it.effect("are over the preset's, and leave HTTP off where nothing is said of it", () =>
    Effect.gen(function* () {
      const config: DiscoveryConfig = { preset: "development", "server.region": "eu-west", "ops.drain_delay": "1s" }
      const { intervals, ops, server } = yield* settingsOf(Discovery.layerConfig(config))
      assert.strictEqual(server.region, "eu-west")
      assert.deepStrictEqual(intervals.healthCheck, Duration.seconds(30))
      assert.deepStrictEqual([ops.enabled, ops.drainDelay], [false, Duration.seconds(1)])
      assert.isTrue((yield* settingsOf(Discovery.layerConfig({ "ops.enabled": true }))).ops.enabled)
    })
  )

  it.effect("R22 are refused all at once", () =>
    Effect.gen(function* () {
      const wrong = {
        "server.port": 70_000,
        "server.regions": "x",
        "server.external_addresses": seeds.concat("here"),
        "security.trusted_peers": ["me"]
      } as DiscoveryConfig
      const { message } = yield* Effect.flip(settingsOf(Discovery.layerConfig(wrong)))
      assert.strictEqual(
        message,
        [
          "bad configuration, 4 problems:",
          "  program: server.regions: unknown key; did you mean server.region?",
          "  program: server.port: found number 70000; allowed: a whole number from 0 to 65535",
          '  program: server.external_addresses[2]: found text "here": not a multiaddr (/ip4/192.0.2.1/tcp/55223, for example); allowed: a list of at most 1000 multiaddrs, none of them empty or a <placeholder>',
          '  program: security.trusted_peers[0]: found text "me": not a peer ID (expected base58, 12D3KooW…, or CIDv1, bafz…); allowed: a list of at most 1000 peer IDs, none of them empty or a <placeholder>'
        ].join("\n")
      )
    })
  )
})

describe("settings from a ConfigProvider", () => {
  it.effect("are read at their paths from a tree, beside whatever else is in it", () =>
    Effect.gen(function* () {
      const settings = yield* fromProvider(
        ConfigProvider.fromUnknown({
          server: { port: 4001, bootstrap_peers: seeds, color: "blue" },
          database: { password: "secret" },
          intervals: { health_check_min: 0.5 },
          ops: { enabled: true, shutdown_timeout: "9s" },
          shop: { currency: "EUR" }
        }),
        "production"
      )
      assert.deepInclude(settings.server, { port: 4001, bootstrapPeers: seeds })
      assert.strictEqual(settings.storage.maxStorageGb, 50)
      assert.deepStrictEqual(settings.intervals.healthCheck, Duration.seconds(30))
      assert.deepStrictEqual([settings.ops.enabled, settings.ops.shutdownTimeout], [true, Duration.seconds(9)])
      const { database } = settings
      assert.strictEqual(
        database.kind === "postgres" && database.password && Redacted.value(database.password),
        "secret"
      )
    })
  )

  it.effect("are read from an environment under constantCase, a list with commas", () =>
    Effect.gen(function* () {
      const environment = {
        SERVER_PORT: "4001",
        SERVER_BOOTSTRAP_PEERS: seeds.join(","),
        DISCOVERY_MDNS: "true",
        OPS_SHUTDOWN_TIMEOUT: "9s",
        PATH: "/usr/bin"
      }
      const settings = yield* fromProvider(ConfigProvider.fromEnvRecord(environment).pipe(ConfigProvider.constantCase))
      assert.deepInclude(settings.server, { port: 4001, bootstrapPeers: seeds })
      assert.deepStrictEqual([settings.discovery.mdns, settings.ops.enabled], [true, false])
      assert.deepStrictEqual(settings.ops.shutdownTimeout, Duration.seconds(9))
      assert.deepStrictEqual(settings.database, { kind: "embedded" })
    })
  )

  it.effect("R22 are refused all at once, a password never shown", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        fromProvider(
          ConfigProvider.fromUnknown({
            server: { port: "many", region: { name: "x" } },
            database: { password: "hunter2".repeat(200) }
          })
        )
      )
      assert.include(message, 'configuration provider: server.port: found text "many"')
      assert.include(message, "configuration provider: server.region: found")
      assert.include(
        message,
        "configuration provider: database.password: found a value that is not allowed (not shown)"
      )
      assert.notInclude(message, "hunter2")
    })
  )
})
