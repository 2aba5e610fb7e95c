import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { isWithoutEffect, keyAt, type Path, paths, sectionOf, variableOf } from "../../src/config/Keys.ts"
import type { SettingsShape } from "../../src/config/Settings.ts"
import { fromFile, load } from "./Loading.ts"

/** A value other than the default, as a file, a variable and a flag can all hold it. */
const others: { readonly [P in Path]: string } = {
  "server.port": "1234",
  "server.region": "eu-west",
  "server.identity_file": "/id.key",
  "server.listen_addresses": "/ip4/127.0.0.1/tcp/1",
  "server.external_addresses": "/ip4/127.0.0.1/tcp/2",
  "server.bootstrap_peers": "/ip4/127.0.0.1/tcp/3/p2p/12D3KooWMFsDqe1d3TsXBR51Q561R57Fm4KkW3msxvAewGVw2cV4",
  "storage.data_directory": "/data",
  "storage.max_storage_gb": "0.5",
  "storage.retention_days": "7",
  "database.host": "db",
  "database.port": "6543",
  "database.name": "other",
  "database.username": "other",
  "database.password": "hunter2",
  "database.sslmode": "verify-full",
  "database.pool_size": "3",
  "performance.max_concurrent_connections": "17",
  "intervals.service_announcement_min": "7",
  "intervals.health_check_min": "0.25",
  "features.enable_metrics": "false",
  "features.enable_authentication": "true",
  "security.trusted_peers": "12D3KooWMFsDqe1d3TsXBR51Q561R57Fm4KkW3msxvAewGVw2cV4",
  "ops.enabled": "false",
  "ops.bind": "::1",
  "ops.port": "4321",
  "ops.allowed_hosts": "discovery.example.org",
  "ops.readiness_timeout": "500ms",
  "ops.shutdown_timeout": "1m30s",
  "ops.drain_delay": "1s",
  "discovery.max_servers": "2000",
  "discovery.mdns": "true",
  "logging.level": "warn",
  "logging.format": "json"
}

/** Everything in the settings as text, a password too. */
const flat = (settings: SettingsShape) =>
  JSON.stringify(settings, (_, value) => (Redacted.isRedacted(value) ? Redacted.value(value) : value))

const inFile = (path: Path, value: string) => {
  const written = keyAt(path).kind.shape === "list" ? `[${value}]` : value
  return `${sectionOf(path)}:\n  ${path.slice(path.indexOf(".") + 1)}: ${written}\n`
}

const example = readFileSync(new URL("../../config.example.yaml", import.meta.url), "utf8")
/** The example with every setting of it in force; prose has a single space after its `#`. */
const uncommented = example.replace(/^#(?=\w| {2})/gm, "")

describe("every key", () => {
  it.effect("L03 reaches the settings from the file, and the same from its variable and its flag", () =>
    Effect.gen(function* () {
      const defaults = flat((yield* load({})).settings)
      // The database is embedded until one of its keys is set, which already is a difference: its defaults count.
      const defaultsOfPostgres = flat((yield* fromFile(uncommented)).settings)
      for (const path of paths) {
        const value = others[path]
        const settings = flat((yield* fromFile(inFile(path, value))).settings)
        const before = sectionOf(path) === "database" ? defaultsOfPostgres : defaults
        assert.notStrictEqual(settings, before, path)
        const fromVariable = yield* load({ environment: { [variableOf(path)]: value } })
        assert.strictEqual(flat(fromVariable.settings), settings, variableOf(path))
        const fromFlag = yield* load({ flags: { values: { [path]: [value] } } })
        assert.strictEqual(flat(fromFlag.settings), settings, path)
      }
    })
  )

  it("has a default and presets that it would itself allow", () => {
    for (const path of paths) {
      const { kind, default: standard, development, production } = keyAt(path)
      for (const value of [standard, development, production]) {
        const written = value === undefined ? undefined : kind.write(value)
        if (written === undefined || kind.shape === "list") continue
        const text = written.startsWith('"') ? JSON.parse(written) : written
        assert.deepStrictEqual(
          kind.read({ type: "scalar", text, quoted: false }),
          kind.read({ type: "scalar", text, quoted: kind.shape === "text" }),
          path
        )
        assert.strictEqual(kind.read({ type: "scalar", text, quoted: false })._tag, "Success", path)
      }
    }
  })

  it("L02 is told from those of the parts that are not built here, so that these hide no misspelling", () => {
    assert.deepStrictEqual(paths.filter(isWithoutEffect), [])
  })

  it("has a variable and a flag of its own", () => {
    const flags = paths.flatMap((path) => keyAt(path).flag ?? [])
    assert.strictEqual(new Set(flags).size, flags.length)
    assert.strictEqual(new Set(paths.map(variableOf)).size, paths.length)
    assert.strictEqual(variableOf("ops.readiness_timeout"), "RICOCHET_OPS_READINESS_TIMEOUT")
  })
})

describe("the example", () => {
  it.effect("L08 changes nothing as it is", () =>
    Effect.gen(function* () {
      const { settings, warnings } = yield* fromFile(example)
      assert.deepStrictEqual(settings, (yield* load({})).settings)
      assert.deepStrictEqual(warnings, [])
    })
  )

  it.effect("L08 holds every key, valid and at its default", () =>
    Effect.gen(function* () {
      const { settings, sources, warnings } = yield* fromFile(uncommented)
      const standard = yield* load({ flags: { values: { "database.host": ["localhost"] } } })
      assert.deepStrictEqual(settings, standard.settings)
      assert.deepStrictEqual(warnings, [])
      assert.deepStrictEqual(
        sources.filter(({ source }) => source === "default"),
        []
      )
    })
  )

  it("documents every key with default, unit, bounds and flag", () => {
    const blocks = new Map<string, string>()
    for (const part of example.split(/^#(?=\w+:$)/m)) {
      const section = part.slice(0, part.indexOf(":"))
      for (const [, prose = "", name = ""] of part.matchAll(/((?:^# .+\n)+)^# {2}(\w+):/gm)) {
        blocks.set(`${section}.${name}`, prose.replaceAll(/^# /gm, "").replaceAll("\n", " "))
      }
    }
    assert.deepStrictEqual([...blocks.keys()], [...paths])
    for (const path of paths) {
      const { kind, doc, default: standard, unit, flag } = keyAt(path)
      const told = [
        doc,
        `Default: ${standard === undefined ? "none" : kind.write(standard)}`,
        `Allowed: ${kind.allowed}.`,
        ...(unit === undefined ? [] : [`(${unit})`]),
        ...(flag === undefined ? [] : [`Flag: --${flag}.`])
      ]
      for (const text of told) assert.include(blocks.get(path) ?? "", text, path)
    }
  })
})
