/** A server that starts well: what it reads, joins and says. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sources } from "./Program.ts"
import { launch, sideBySide, start, temporaryDirectory } from "./ServerProcess.ts"

const topics = ["/sf-network/services/announce", "/sf-network/services/heartbeat"]

describe("a server that starts", sideBySide, () => {
  it.live("S1 S5 S21 joins both topics and says so, with the defaults where nothing is set", () =>
    Effect.gen(function* () {
      const server = yield* start({ program: sources, withoutData: true })
      const started = yield* server.log("registry started")
      yield* server.log("joined topic", ({ topic }) => topic === topics[0])
      yield* server.log("joined topic", ({ topic }) => topic === topics[1])
      assert.deepInclude(started, {
        level: "INFO",
        announce_topic: topics[0],
        heartbeat_topic: topics[1],
        health_check_interval: "5m0s",
        service_announcement_interval: "1h0m0s",
        first_check_passed: true,
        region: "default",
        server_id: server.peerId
      })
      const { self, services } = yield* server.services
      assert.deepInclude(self, { region: "default", regions: ["default"], healthy: true, uptime_score: 1, checks: 1 })
      assert.deepStrictEqual(services, [])
    })
  )

  it.live("S5 reads the configuration file in its usual place, but not beside one that is named", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const usual = join(directory, "usual.yaml")
      const yaml = "intervals:\n  service_announcement_min: 7\n  health_check_min: 3\nserver:\n  region: eu-west\n"
      yield* Effect.promise(() => writeFile(usual, yaml))
      const seen = (config?: string) =>
        Effect.scoped(
          Effect.gen(function* () {
            const env = { RICOCHET_DEFAULT_CONFIG: usual }
            const server = yield* launch(config === undefined ? { env } : { env, config })
            return yield* server.log("registry started", undefined, "40 seconds")
          })
        )
      assert.deepInclude(yield* seen(), {
        health_check_interval: "3m0s",
        service_announcement_interval: "7m0s",
        region: "eu-west"
      })
      assert.deepInclude(yield* seen("server: { region: us-east }\n"), {
        health_check_interval: "5m0s",
        service_announcement_interval: "1h0m0s",
        region: "us-east"
      })
    })
  )

  it.live(
    "S4 S24 alone on the network with the development preset, it fails to publish, and tries again on the beat",
    () =>
      Effect.gen(function* () {
        const server = yield* start({ args: ["--development"] })
        const started = yield* server.log("registry started")
        assert.deepInclude(started, { health_check_interval: "30s", service_announcement_interval: "1m0s" })
        const refused = ({ level, error, topic }: { readonly [fact: string]: unknown }) => ({ level, error, topic })
        assert.deepStrictEqual(refused(yield* server.log("failed to publish announcement")), {
          level: "WARN",
          topic: topics[0],
          error: `no peer is on the topic ${topics[0]}`
        })
        const first = yield* server.log("failed to publish heartbeat")
        assert.deepStrictEqual(refused(first), {
          level: "WARN",
          topic: topics[1],
          error: `no peer is on the topic ${topics[1]}`
        })
        const again = yield* server.log("failed to publish heartbeat", ({ time }) => time > first.time, "40 seconds")
        assert.closeTo((Date.parse(again.time) - Date.parse(first.time)) / 1000, 30, 2)
      })
  )

  it.live("S22 at debug level it tells what it publishes and whom it discovers", () =>
    Effect.gen(function* () {
      const first = yield* start({ args: ["--log-level", "debug"] })
      const second = yield* start({ args: ["--log-level", "debug", "--bootstrap", first.address] })
      for (const [server, other] of [
        [first, second],
        [second, first]
      ] as const) {
        yield* server.log("published server announcement")
        const heartbeat = yield* server.log("published heartbeat")
        assert.deepInclude(heartbeat, { level: "DEBUG", healthy: true, uptime_score: 1 })
        const discovered = yield* server.log("discovered server", ({ server_id }) => server_id === other.peerId)
        assert.strictEqual(discovered.level, "DEBUG")
      }
    })
  )
})
