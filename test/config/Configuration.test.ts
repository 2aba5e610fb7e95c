import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Result } from "effect"
import * as Configuration from "../../src/config/Configuration.ts"
import type { SettingsShape } from "../../src/config/Settings.ts"
import { fromFile, load, problems, usual } from "./Loading.ts"

const defaults: SettingsShape = {
  preset: undefined,
  server: {
    port: 55_223,
    region: "default",
    identityFile: undefined,
    listenAddresses: [],
    externalAddresses: [],
    bootstrapPeers: []
  },
  storage: { dataDirectory: "./sf_storage", maxStorageGb: 10, retentionDays: 30 },
  database: { kind: "embedded" },
  performance: { maxConcurrentConnections: 10_000 },
  intervals: { serviceAnnouncement: Duration.minutes(60), healthCheck: Duration.minutes(5) },
  features: { enableMetrics: true, enableAuthentication: false },
  security: { trustedPeers: [] },
  ops: {
    enabled: true,
    bind: "127.0.0.1",
    port: 9_090,
    allowedHosts: [],
    readinessTimeout: Duration.seconds(2),
    shutdownTimeout: Duration.seconds(5),
    drainDelay: Duration.zero
  },
  discovery: { maxServers: 50_000, mdns: false },
  logging: { level: "info", format: "auto" },
  seedHex: undefined
}

const peerId = "12D3KooWMFsDqe1d3TsXBR51Q561R57Fm4KkW3msxvAewGVw2cV4"
/** An address of that peer. */
const seed = (port: number) => `/ip4/192.0.2.1/tcp/${port}/p2p/${peerId}`

const postgres = {
  kind: "postgres",
  host: "localhost",
  port: 5_432,
  name: "ricochet",
  username: "ricochet",
  password: undefined,
  sslmode: "require",
  poolSize: 25
} as const

/** A password cannot be compared, being kept from view. */
const shown = (settings: SettingsShape) =>
  settings.database.kind === "postgres" && settings.database.password !== undefined
    ? { ...settings.database, password: Redacted.value(settings.database.password) }
    : settings.database

const settingsOf = (given: Parameters<typeof load>[0]) => Effect.map(load(given), ({ settings }) => settings)

describe("a configuration of nothing", () => {
  it.effect("L01 is the defaults, and names no file", () =>
    Effect.gen(function* () {
      const { settings, file, warnings } = yield* load({})
      assert.deepStrictEqual(settings, defaults)
      assert.isUndefined(file)
      assert.deepStrictEqual(warnings, [])
    })
  )

  it.effect("L08 is the same for a file of comments, and for one with empty sections", () =>
    Effect.gen(function* () {
      for (const text of ["# nothing\n", "", "server:\nfeatures:\ndatabase:\n"]) {
        const { settings, file } = yield* fromFile(text)
        assert.deepStrictEqual(settings, defaults)
        assert.strictEqual(file, usual)
      }
    })
  )
})

describe("the presets", () => {
  it.effect("S4 development announces every minute and checks every 30 seconds", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* settingsOf({ flags: { presets: ["development"] } }), {
        ...defaults,
        preset: "development",
        storage: { ...defaults.storage, maxStorageGb: 1 },
        performance: { maxConcurrentConnections: 100 },
        intervals: { serviceAnnouncement: Duration.minutes(1), healthCheck: Duration.seconds(30) },
        discovery: { ...defaults.discovery, mdns: true },
        logging: { ...defaults.logging, level: "debug" }
      })
    })
  )

  it.effect("production has a larger budget and pool", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* settingsOf({ flags: { presets: ["production"], values: { "database.host": ["db"] } } }),
        {
          ...defaults,
          preset: "production",
          storage: { ...defaults.storage, maxStorageGb: 50 },
          database: { ...postgres, host: "db", poolSize: 50 }
        }
      )
    })
  )

  it.effect("L07 contradict each other, which is bad usage", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load({ flags: { presets: ["development", "production"] } }))
      assert.strictEqual(error.exitCode, 2)
      assert.strictEqual(
        error.message,
        "bad configuration: --development --production: presets that contradict each other; allowed: one of them"
      )
    })
  )
})

describe("the precedence", () => {
  const layers = {
    files: { [usual]: "storage: {max_storage_gb: 3}\n", "/my.yaml": "storage: {max_storage_gb: 4}\n" },
    preset: { presets: ["development"] },
    environment: { RICOCHET_STORAGE_MAX_STORAGE_GB: "5" }
  } as const
  const budget = (given: Parameters<typeof load>[0]) =>
    Effect.map(settingsOf(given), ({ storage }) => storage.maxStorageGb)

  it.effect("L06 S5 is preset, file, environment, flag, lowest first", () =>
    Effect.gen(function* () {
      const { files, environment, preset } = layers
      const seen = [
        yield* budget({}),
        yield* budget({ flags: preset }),
        yield* budget({ flags: preset, files }),
        yield* budget({ flags: { ...preset, config: "/my.yaml" }, files }),
        yield* budget({ flags: preset, files, environment }),
        yield* budget({ flags: { ...preset, values: { "storage.max_storage_gb": ["6"] } }, files, environment })
      ]
      assert.deepStrictEqual(seen, [10, 1, 3, 4, 5, 6])
    })
  )

  it.effect("R22 is told for each value", () =>
    Effect.gen(function* () {
      const { sources } = yield* load({
        files: { [usual]: "server:\n  region: eu\n  port: 1\nstorage:\n  retention_days: 3\n" },
        environment: {
          RICOCHET_SERVER_PORT: "2",
          RICOCHET_STORAGE_RETENTION_DAYS: "4",
          RICOCHET_PG_PASSWORD: "hunter2"
        },
        flags: { presets: ["development"], values: { "server.port": ["3"] } }
      })
      const told = sources.filter(({ source }) => !["default", "development preset"].includes(source))
      assert.deepStrictEqual(told, [
        { path: "server.port", value: "3", source: "--port" },
        { path: "server.region", value: '"eu"', source: `${usual}:2:11` },
        { path: "storage.retention_days", value: "4", source: "RICOCHET_STORAGE_RETENTION_DAYS" },
        { path: "database.password", value: "********", source: "RICOCHET_PG_PASSWORD" }
      ])
      assert.deepInclude(sources, { path: "storage.max_storage_gb", value: "1", source: "development preset" })
      assert.deepInclude(sources, { path: "ops.port", value: "9090", source: "default" })
    })
  )

  it.effect("L06 takes an empty variable for an unset one", () =>
    Effect.gen(function* () {
      const environment = {
        RICOCHET_SERVER_PORT: "",
        RICOCHET_SERVER_REGION: "",
        DATABASE_URL: "",
        RICOCHET_PG_PASSWORD: "",
        RICOCHET_CONFIG: "",
        RICOCHET_SEED_HEX: ""
      }
      assert.deepStrictEqual(yield* settingsOf({ environment }), defaults)
    })
  )
})

describe("the database", () => {
  it.effect("is PostgreSQL as soon as anything of it is set", () =>
    Effect.gen(function* () {
      const url = "postgres://ricochet@localhost"
      const given = [
        { files: { [usual]: "database: {host: localhost}" } },
        { environment: { RICOCHET_DATABASE_PORT: "5432" } },
        { environment: { DATABASE_URL: url } },
        { flags: { values: { "database.name": ["ricochet"] } } }
      ]
      for (const one of given) assert.deepStrictEqual((yield* settingsOf(one)).database, postgres)
      assert.deepStrictEqual(shown(yield* settingsOf({ environment: { RICOCHET_PG_PASSWORD: "12345" } })), {
        ...postgres,
        password: "12345"
      })
      assert.deepStrictEqual((yield* settingsOf({ files: { [usual]: "database:\n" } })).database, { kind: "embedded" })
    })
  )

  it.effect("is at a Unix socket where the host is a path, from whatever source", () =>
    Effect.gen(function* () {
      const host = "/var/run/postgresql"
      for (const given of [
        { files: { [usual]: `database: {host: ${host}}` } },
        { environment: { RICOCHET_DATABASE_HOST: host } },
        { environment: { DATABASE_URL: "postgres://ricochet@%2Fvar%2Frun%2Fpostgresql/ricochet" } },
        { flags: { values: { "database.host": [host] } } }
      ]) {
        assert.deepStrictEqual((yield* settingsOf(given)).database, { ...postgres, host })
      }
      assert.deepStrictEqual(
        yield* problems({ files: { [usual]: "database: {host: var/run}\nops: {bind: /run}\n" } }),
        [
          `${usual}:1:18: database.host: found text "var/run"; allowed: an IP address such as 127.0.0.1 or ::1, a host name, or the absolute path of a Unix socket's directory of at most 88 bytes`,
          `${usual}:2:13: ops.bind: found text "/run"; allowed: an IP address such as 127.0.0.1 or ::1, or a host name`
        ]
      )
    })
  )

  it.effect("is the URL's, under its own variables and flags", () =>
    Effect.gen(function* () {
      const settings = yield* settingsOf({
        files: { [usual]: "database: {host: file, port: 1, username: file, pool_size: 7}" },
        environment: {
          DATABASE_URL: "postgres://url:url@url/url",
          RICOCHET_PG_PASSWORD: "pg",
          RICOCHET_DATABASE_USERNAME: "variable"
        },
        flags: { values: { "database.name": ["flag"] } }
      })
      assert.deepStrictEqual(shown(settings), {
        ...postgres,
        host: "url",
        username: "variable",
        password: "pg",
        name: "flag",
        poolSize: 7
      })
    })
  )
})

describe("a file", () => {
  it.effect("L01 changes what it sets and nothing else", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* fromFile("server:\n  region: eu-west\n")).settings, {
        ...defaults,
        server: { ...defaults.server, region: "eu-west" }
      })
    })
  )

  it.effect("L01 that is named has to be there, the usual one has not", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problems({ flags: { config: "/x.yaml" } }), ["--config /x.yaml: no such file"])
      assert.deepStrictEqual(yield* problems({ environment: { RICOCHET_CONFIG: "/x.yaml" } }), [
        "RICOCHET_CONFIG /x.yaml: no such file"
      ])
      assert.isUndefined((yield* load({ environment: { RICOCHET_DEFAULT_CONFIG: "/x.yaml" } })).file)
    })
  )

  it.effect("S5 may have another usual place, and another name", () =>
    Effect.gen(function* () {
      const files = {
        "/a.yaml": "server: {region: a}",
        "/b.yaml": "server: {region: b}",
        [usual]: "server: {region: c}"
      }
      const region = (environment: Readonly<Record<string, string>>) =>
        Effect.map(settingsOf({ files, environment }), ({ server }) => server.region)
      assert.strictEqual(yield* region({}), "c")
      assert.strictEqual(yield* region({ RICOCHET_DEFAULT_CONFIG: "/a.yaml" }), "a")
      assert.strictEqual(yield* region({ RICOCHET_DEFAULT_CONFIG: "/a.yaml", RICOCHET_CONFIG: "/b.yaml" }), "b")
    })
  )

  it.effect("names what has no effect in one warning", () =>
    Effect.gen(function* () {
      const { warnings } = yield* fromFile("rate_limiting: {a: 1, b: 2}\nrelay_limits: {c: 3}\n")
      assert.deepStrictEqual(warnings, [
        {
          message: "settings without effect here",
          facts: { keys: "rate_limiting.a, rate_limiting.b, relay_limits.c" }
        }
      ])
    })
  )
})

describe("everything that is wrong", () => {
  it.effect("R22 L07 is told at once, with place, kind and range", () =>
    Effect.gen(function* () {
      const given = {
        files: {
          [usual]: [
            "server:",
            "  port: 70000",
            "  bootstrap_peers: /ip4/127.0.0.1/tcp/1",
            "storage:",
            '  data_directory: ""',
            "intervals:",
            "  health_check_min: 0",
            "  service_announcement_min: 5m",
            "  helth_check_min: 1",
            "ops:",
            "  enabled: on",
            "  bind: [a]",
            "database:",
            "  password: [hunter2]"
          ].join("\n")
        },
        environment: { RICOCHET_OPS_PORT: "0x10", RICOCHET_SEED_HEX: "beef", DATABASE_URL: "hunter2" },
        flags: { values: { "server.port": ["http"], "logging.level": ["loud"] } }
      } as const
      const interval = "a number of minutes from 0.016667 (1 second) to 1440 (24 hours)"
      const port = "a whole number from 0 to 65535"
      assert.deepStrictEqual(
        [...(yield* problems(given))].sort(),
        [
          `${usual}:9:3: intervals.helth_check_min: unknown key; did you mean intervals.health_check_min?`,
          `${usual}:2:9: server.port: found number 70000; allowed: ${port}`,
          `${usual}:3:20: server.bootstrap_peers: found text "/ip4/127.0.0.1/tcp/1"; allowed: a list of at most 1000 multiaddrs that end in /p2p/ and a peer ID, none of them empty or a <placeholder>`,
          `${usual}:5:19: storage.data_directory: found an empty text; allowed: a text of 1 to 4096 characters, without control characters, without spaces at its ends`,
          `${usual}:7:21: intervals.health_check_min: found number 0; allowed: ${interval}`,
          `${usual}:8:29: intervals.service_announcement_min: found text "5m"; allowed: ${interval}`,
          `${usual}:11:12: ops.enabled: found text "on"; allowed: true or false`,
          `${usual}:12:9: ops.bind: found a list of 1; allowed: an IP address such as 127.0.0.1 or ::1, or a host name`,
          `${usual}:14:13: database.password: found a value that is not allowed (not shown); allowed: a text of 1 to 1024 characters`,
          "DATABASE_URL: no URL; allowed: postgres://user:password@host:port/database?sslmode=require, reserved characters percent-encoded",
          "RICOCHET_SEED_HEX: a text of another form (not shown); allowed: 64 hex digits",
          `RICOCHET_OPS_PORT: ops.port: found text "0x10"; allowed: ${port}`,
          `--port: server.port: found text "http"; allowed: ${port}`,
          '--log-level: logging.level: found text "loud"; allowed: one of debug, info, warn, error'
        ].sort()
      )
    })
  )

  it.effect("R22 D07 is of each address its line, what is the matter with it, and what is allowed", () =>
    Effect.gen(function* () {
      const doubled = `${seed(1)}/p2p/${peerId}`
      const given = {
        files: {
          [usual]: [
            "server:",
            "  port: 70000",
            "  bootstrap_peers:",
            "    - https://x",
            `    - ${seed(1)}`,
            '    - "/ip4/192.0.2.1/tcp/\\e1"',
            `  external_addresses: [here, /dns4/a.example.org/tcp/1, "/ip4/<own>/tcp/1"]`,
            "security:",
            `  trusted_peers: [${peerId}, me]`
          ].join("\n")
        },
        environment: { RICOCHET_SERVER_LISTEN_ADDRESSES: "/ip4/0.0.0.0/tcp/1,/ip4/300.0.0.1/tcp/1" },
        flags: { values: { "server.bootstrap_peers": ["/ip4/192.0.2.1/tcp/1", `${seed(1)},${doubled}`] } }
      } as const
      const listOf = (what: string) =>
        `; allowed: a list of at most 1000 ${what}, none of them empty or a <placeholder>`
      const [addresses, peers] = [listOf("multiaddrs"), listOf("multiaddrs that end in /p2p/ and a peer ID")]
      const noMultiaddr = "not a multiaddr (/ip4/192.0.2.1/tcp/55223, for example)"
      assert.deepStrictEqual(yield* problems(given), [
        `${usual}:2:9: server.port: found number 70000; allowed: a whole number from 0 to 65535`,
        `${usual}:4:7: server.bootstrap_peers[0]: found text "https://x": ${noMultiaddr}${peers}`,
        `${usual}:6:7: server.bootstrap_peers[2]: found text "/ip4/192.0.2.1/tcp/\\u{1b}1"${peers}`,
        `${usual}:7:24: server.external_addresses[0]: found text "here": ${noMultiaddr}${addresses}`,
        `${usual}:7:57: server.external_addresses[2]: found text "/ip4/<own>/tcp/1"${addresses}`,
        `${usual}:9:73: security.trusted_peers[1]: found text "me": not a peer ID (expected base58, 12D3KooW…, or CIDv1, bafz…)${listOf("peer IDs")}`,
        `RICOCHET_SERVER_LISTEN_ADDRESSES: server.listen_addresses[1]: found text "/ip4/300.0.0.1/tcp/1": not a multiaddr (Invalid IPv4 address "300.0.0.1")${addresses}`,
        `--bootstrap: server.bootstrap_peers[0]: found text "/ip4/192.0.2.1/tcp/1": no /p2p/ part: the peer ID of the server belongs at its end (/p2p/12D3KooW…)${peers}`,
        `--bootstrap: server.bootstrap_peers[2]: found text "${doubled}": a doubled /p2p/ part${peers}`
      ])
    })
  )

  it.effect("D09 is no address whose transport may be missing", () =>
    Effect.gen(function* () {
      const foreign = ["/ip4/192.0.2.1/udp/1/udx", "/ip4/192.0.2.1/udp/1/quic-v1"]
      const ofPeers = foreign.map((address) => `${address}/p2p/${peerId}`)
      const { server } = yield* settingsOf({
        flags: {
          values: {
            "server.listen_addresses": foreign,
            "server.external_addresses": foreign,
            "server.bootstrap_peers": ofPeers
          }
        }
      })
      assert.deepStrictEqual(server, {
        ...defaults.server,
        listenAddresses: foreign,
        externalAddresses: foreign,
        bootstrapPeers: ofPeers
      })
      const [told = "", ...others] = yield* problems({ flags: { values: { "server.bootstrap_peers": foreign } } })
      assert.include(told, `server.bootstrap_peers[0]: found text "${foreign[0]}": no /p2p/ part`)
      assert.strictEqual(others.length, 1)
    })
  )

  it.effect("R5 is of an address as much as fits, inert", () =>
    Effect.gen(function* () {
      const long = `/dns4/${"x".repeat(500)}\u001b[2J`
      const told = yield* problems({
        flags: { values: { "server.bootstrap_peers": [long, "/ip4/1.2.3.4/tcp/\u202e"] } }
      })
      assert.strictEqual(told.length, 2)
      assert.isTrue(told.every((line) => line.length <= 600 && !line.includes("\u001b") && !line.includes("\u202e")))
      assert.include(told[1], 'found text "/ip4/1.2.3.4/tcp/\\u{202e}"')
    })
  )

  it.effect("is no contradiction that only follows from an address that cannot be read", () =>
    Effect.gen(function* () {
      const told = yield* problems({ files: { [usual]: "server: {port: 9090, listen_addresses: [here]}" } })
      assert.strictEqual(told.length, 1)
      assert.include(told[0], `${usual}:1:41: server.listen_addresses[0]: found text "here"`)
    })
  )

  it.effect("R23 is bad usage where a flag is wrong, else bad configuration", () =>
    Effect.gen(function* () {
      const bad = { files: { [usual]: "server: {port: -1}" } }
      const code = (given: Parameters<typeof load>[0]) =>
        Effect.map(Effect.flip(load(given)), ({ exitCode }) => exitCode)
      assert.strictEqual(yield* code(bad), 78)
      assert.strictEqual(yield* code({ environment: { RICOCHET_SERVER_PORT: "abc" } }), 78)
      assert.strictEqual(yield* code({ ...bad, flags: { values: { "server.port": ["abc"] } } }), 2)
    })
  )

  it.effect("L06 names the variable", () =>
    Effect.gen(function* () {
      for (const text of [" ", "false", "1e3", "0x10", "12abc", "9007199254740993"]) {
        const [problem = ""] = yield* problems({ environment: { RICOCHET_SERVER_PORT: text } })
        assert.isTrue(problem.startsWith("RICOCHET_SERVER_PORT: server.port: found "), problem)
      }
    })
  )

  it.effect("is told even where something else hides it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* problems({
          files: { [usual]: "ops: {port: x}" },
          flags: { values: { "ops.port": ["1"] } }
        }),
        [`${usual}:1:13: ops.port: found text "x"; allowed: a whole number from 0 to 65535`]
      )
    })
  )

  it.effect("R22 includes a flag that is given twice, and two listeners on one port", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problems({ flags: { values: { "server.region": ["a", "b"] } } }), [
        "--region: server.region: found a list of 2; allowed: a text of 1 to 256 characters, without control characters, without spaces at its ends"
      ])
      assert.deepStrictEqual(yield* problems({ flags: { values: { "server.port": ["9090"] } } }), [
        "--port: server.port and ops.port are both 9090; allowed: two ports, or 0 for a free one"
      ])
      assert.strictEqual(
        (yield* load({ flags: { values: { "server.port": ["0"], "ops.port": ["0"] } } })).settings.ops.port,
        0
      )
    })
  )

  it.effect("R5 is bounded in number and size", () =>
    Effect.gen(function* () {
      const keys = Array.from({ length: 500 }, (_, n) => `  "k\\e${n}${"x".repeat(400)}": 1`).join("\n")
      const { message } = yield* Effect.flip(fromFile(`server:\n${keys}\n`))
      const lines = message.split("\n")
      assert.strictEqual(lines[0], "bad configuration, 500 problems:")
      assert.strictEqual(lines.at(-1), "  and 450 more")
      assert.isTrue(lines.every((line) => line.length <= 602 && !line.includes("\u001b")))
    })
  )
})

describe("lists and paths", () => {
  it.effect("are separated by commas in variables and flags, and a flag adds up", () =>
    Effect.gen(function* () {
      const { server } = yield* settingsOf({
        environment: { RICOCHET_SERVER_EXTERNAL_ADDRESSES: "/dns4/a/tcp/1, /dns4/b/tcp/1" },
        flags: { values: { "server.bootstrap_peers": [seed(1), `${seed(2)},${seed(3)}`] } }
      })
      assert.deepStrictEqual(server.externalAddresses, ["/dns4/a/tcp/1", "/dns4/b/tcp/1"])
      assert.deepStrictEqual(server.bootstrapPeers, [1, 2, 3].map(seed))
    })
  )

  it.effect("start at home where they start with ~/", () =>
    Effect.gen(function* () {
      const { server, storage } = yield* settingsOf({
        environment: { HOME: "/home/me" },
        files: { [usual]: "server: {identity_file: ~/id.key}\nstorage: {data_directory: ~/data}\n" }
      })
      assert.strictEqual(server.identityFile, "/home/me/id.key")
      assert.strictEqual(storage.dataDirectory, "/home/me/data")
    })
  )

  it.effect("L04 R22 keep texts as they are written", () =>
    Effect.gen(function* () {
      const text =
        "server: {region: no}\nops: {allowed_hosts: [no, 1e3]}\ndatabase: {name: 12345, username: 0123, password: 1e3}\n"
      const { settings } = yield* fromFile(text)
      assert.strictEqual(settings.server.region, "no")
      assert.deepStrictEqual(settings.ops.allowedHosts, ["no", "1e3"])
      assert.deepStrictEqual(shown(settings), { ...postgres, name: "12345", username: "0123", password: "1e3" })
    })
  )
})

describe("what is worth a remark", () => {
  const remarks = (given: Parameters<typeof load>[0]) => Effect.map(load(given), ({ warnings }) => warnings)

  it.effect("L09 is a health check that leaves the others waiting too long, and words that nobody counts", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* remarks({ files: { [usual]: "intervals: {health_check_min: 60}" } }), [])
      assert.deepStrictEqual(yield* remarks({ files: { [usual]: "intervals: {health_check_min: 300}" } }), [
        {
          message: "intervals.health_check_min is long: other servers stop listing one that is silent for 120 minutes",
          facts: { minutes: "300" }
        }
      ])
      assert.deepStrictEqual(yield* remarks({ files: { [usual]: "intervals: {service_announcement_min: 0.05}" } }), [
        {
          message: "intervals.service_announcement_min is short: other servers count at most 12 announcements a minute",
          facts: { seconds: "3" }
        }
      ])
    })
  )

  it.effect("is a setting that has no effect, or one that locks everybody out", () =>
    Effect.gen(function* () {
      const messages = (text: string) =>
        Effect.map(remarks({ files: { [usual]: text } }), (all) => all.map(({ message }) => message))
      assert.deepStrictEqual(yield* messages("features: {enable_authentication: true}"), [
        "features.enable_authentication is true and security.trusted_peers is empty: no peer may connect"
      ])
      assert.deepStrictEqual(yield* messages(`security: {trusted_peers: [${peerId}]}`), [
        "security.trusted_peers has no effect while features.enable_authentication is false"
      ])
      assert.deepStrictEqual(yield* messages("ops: {drain_delay: 5s}"), [
        "ops.drain_delay is cut short: a stop as a whole ends within ops.shutdown_timeout"
      ])
      assert.deepStrictEqual(yield* messages("ops: {bind: 0.0.0.0}"), [
        "the ops listener is reachable from other machines, and asks nobody who they are"
      ])
      assert.deepStrictEqual(yield* messages("server: {external_addresses: [/ip4/203.0.113.7/tcp/1]}"), [
        "server.external_addresses holds addresses set aside for documentation: nobody can dial them"
      ])
    })
  )

  it.effect("is an unknown variable, with the one that was probably meant", () =>
    Effect.gen(function* () {
      const environment = { RICOCHET_SERVER_PROT: "1", RICOCHET_TEA: "green", PATH: "/bin" }
      assert.deepStrictEqual(yield* remarks({ environment }), [
        {
          message: "unknown environment variable has no effect",
          facts: { variable: "RICOCHET_SERVER_PROT", did_you_mean: "RICOCHET_SERVER_PORT" }
        },
        { message: "unknown environment variable has no effect", facts: { variable: "RICOCHET_TEA" } }
      ])
    })
  )

  it.effect("is a parameter of DATABASE_URL that has no effect", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* remarks({ environment: { DATABASE_URL: "postgres://db/x?a=hunter2" } }), [
        { message: "parameters of DATABASE_URL have no effect here", facts: { parameters: "a" } }
      ])
    })
  )
})

describe("the seed of an identity", () => {
  it.effect("is taken from its variable", () =>
    Effect.gen(function* () {
      const { seedHex } = yield* settingsOf({ environment: { RICOCHET_SEED_HEX: "Ab".repeat(32) } })
      assert.strictEqual(seedHex === undefined ? undefined : Redacted.value(seedHex), "Ab".repeat(32))
    })
  )
})

describe("settings made by a program", () => {
  it("are the defaults, the preset and what is given", () => {
    assert.deepStrictEqual(Result.getOrThrow(Configuration.fromValues({})), defaults)
    const settings = Result.getOrThrow(
      Configuration.fromValues(
        {
          "server.port": 0,
          "server.region": "123",
          "server.bootstrap_peers": [seed(1)],
          "ops.enabled": false,
          "ops.drain_delay": "1m30s",
          "intervals.health_check_min": 0.1
        },
        "development"
      )
    )
    assert.deepStrictEqual(settings.server, { ...defaults.server, port: 0, region: "123", bootstrapPeers: [seed(1)] })
    assert.deepStrictEqual(settings.ops, { ...defaults.ops, enabled: false, drainDelay: Duration.seconds(90) })
    assert.deepStrictEqual(settings.intervals, {
      serviceAnnouncement: Duration.minutes(1),
      healthCheck: Duration.seconds(6)
    })
  })

  it("R22 are held to the same rules", () => {
    const refused = Result.getOrThrow(
      Result.flip(Configuration.fromValues({ "server.port": 1e21, "server.region": "" }))
    )
    assert.deepStrictEqual(
      refused.problems.map(({ text }) => text),
      [
        'program: server.port: found text "1e+21"; allowed: a whole number from 0 to 65535',
        "program: server.region: found an empty text; allowed: a text of 1 to 256 characters, without control characters, without spaces at its ends"
      ]
    )
    assert.strictEqual(refused.exitCode, 78)
  })
})
