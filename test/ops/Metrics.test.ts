import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { announceTopic, topics } from "../../src/gossip/Topic.ts"
import { countPublish } from "../../src/ops/Metrics.ts"
import { refusalReasons, verdictOf } from "../../src/registry/Refusal.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { withDoor } from "./Door.ts"
import * as Doubles from "./Doubles.ts"
import { known } from "./Doubles.ts"

interface Exposition {
  readonly types: ReadonlyMap<string, string>
  readonly helps: ReadonlyMap<string, string>
  /** Name with labels, as written, to value. */
  readonly samples: ReadonlyMap<string, number>
}

/** Reads the text format; fails on a line that is none of it, and on a series told twice. Source: Prometheus, text format 0.0.4. */
const parse = (text: string): Exposition => {
  const [types, helps] = [new Map<string, string>(), new Map<string, string>()]
  const samples = new Map<string, number>()
  assert.strictEqual(text.endsWith("\n"), true)
  for (const line of text.split("\n").slice(0, -1)) {
    const comment = /^# (HELP|TYPE) ([a-z][a-z0-9_]*) (.+)$/.exec(line)
    if (comment !== null) {
      const [, kind, name = "", rest = ""] = comment
      const into = kind === "HELP" ? helps : types
      assert.strictEqual(into.has(name), false, line)
      into.set(name, rest)
      continue
    }
    const sample = /^([a-z][a-z0-9_]*(?:\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})?) (\S+)$/.exec(line)
    assert.isNotNull(sample, line)
    const [, series = "", value] = sample ?? []
    assert.strictEqual(samples.has(series), false, line)
    assert.strictEqual(Number.isFinite(Number(value)), true, line)
    samples.set(series, Number(value))
  }
  return { types, helps, samples }
}

const familyOf = (series: string, { types }: Exposition) => {
  const name = series.split("{", 1)[0] ?? ""
  const base = name.replace(/_(bucket|sum|count)$/, "")
  return types.get(base) === "histogram" ? base : name
}

const withMetrics = <A, E, R>(
  world: Doubles.World,
  test: (scrape: Effect.Effect<Exposition>) => Effect.Effect<A, E, R>
) => withDoor(world, (ask) => test(Effect.map(ask("/metrics"), ({ text }) => parse(text))))

describe("/metrics", () => {
  it.effect("is the text format, with help, type and unit for each family", () =>
    withDoor(Doubles.world([known(peerIdOf("a"), 0)]), (ask) =>
      Effect.gen(function* () {
        const { headers, status, text } = yield* ask("/metrics")
        assert.deepStrictEqual([status, headers.get("content-type")], [200, "text/plain; version=0.0.4; charset=utf-8"])
        const exposition = parse(text)
        const families = [...exposition.types.keys()]
        assert.deepStrictEqual([...exposition.helps.keys()], families)
        assert.deepStrictEqual(
          [...new Set([...exposition.samples.keys()].map((series) => familyOf(series, exposition)))],
          families
        )
        for (const [name, type] of exposition.types) {
          assert.strictEqual(/_total$/.test(name), type === "counter", name)
          assert.notMatch(name, /_(milliseconds|millis|ms|minutes|kb|mb|percent)(_|$)/, name)
        }
      })
    )
  )

  it.effect("says what the rooms say", () => {
    const world = Doubles.world([
      known(peerIdOf("a"), 0, {}, { skewMillis: -1_500 }),
      known(peerIdOf("b"), 0, { healthy: false }),
      known(peerIdOf("c"), 0, {}, { announcement: undefined })
    ])
    world.checks = [
      { startedWallMillis: 0, durationMillis: 3, ok: false, errorClass: "postgres: refused" },
      { startedWallMillis: 0, durationMillis: 3, ok: true, errorClass: undefined }
    ]
    world.messages = [
      { topic: announceTopic, verdict: "reject", reason: "forged", count: 20 },
      { topic: announceTopic, verdict: "accept", reason: "none", count: 5 }
    ]
    world.database = { writes: 7, failures: 2, pending: 3, dropped: 1, lagMillis: 1_500 }
    world.directory = { asked: 4, failed: 1, messages: 30, bytes: 9_000, accepted: 20, known: 7, refused: 3 }
    world.topicPeers = { ...world.topicPeers, [announceTopic]: [peerIdOf("a")] }
    world.clock = { state: "behind", byMillis: 60_000, disagreeing: 2, heard: 2 }
    return withMetrics(world, (scrape) =>
      Effect.gen(function* () {
        const { samples } = yield* scrape
        const expected = {
          'ricochet_messages_total{topic="announce",verdict="reject",reason="forged"}': 20,
          'ricochet_messages_total{topic="announce",verdict="accept",reason="none"}': 5,
          'ricochet_messages_total{topic="heartbeat",verdict="accept",reason="none"}': 0,
          'ricochet_servers{state="available"}': 1,
          'ricochet_servers{state="unhealthy"}': 1,
          'ricochet_servers{state="silent"}': 0,
          'ricochet_servers{state="unannounced"}': 1,
          ricochet_servers_limit: 50_000,
          ricochet_uptime_score_ratio: 0.5,
          ricochet_uptime_score_checks: 2,
          ricochet_healthy: 1,
          'ricochet_topic_peers{topic="announce"}': 1,
          'ricochet_topic_peers{topic="heartbeat"}': 0,
          ricochet_clock_offset_seconds: -60,
          ricochet_clock_skew_max_seconds: 1.5,
          'ricochet_database_batches_total{result="written"}': 7,
          'ricochet_database_batches_total{result="failed"}': 2,
          ricochet_database_pending_changes: 3,
          ricochet_database_dropped_changes_total: 1,
          ricochet_database_lag_seconds: 1.5,
          'ricochet_directory_requests_total{result="answered"}': 3,
          'ricochet_directory_requests_total{result="failed"}': 1,
          'ricochet_directory_messages_total{result="accepted"}': 20,
          'ricochet_directory_messages_total{result="known"}': 7,
          'ricochet_directory_messages_total{result="refused"}': 3,
          ricochet_directory_bytes_total: 9_000,
          ricochet_watch_clients: 0,
          'ricochet_publishes_total{topic="announce",outcome="sent"}': 0,
          'ricochet_self_checks_total{result="failed"}': 0,
          ricochet_self_check_duration_seconds_count: 0
        }
        for (const [series, value] of Object.entries(expected)) assert.strictEqual(samples.get(series), value, series)
        assert.isAbove(samples.get("process_resident_memory_bytes") ?? 0, 1e6)
      })
    )
  })

  it.effect("follows self-checks, discoveries and publishes as they come", () => {
    const world = Doubles.world()
    return withMetrics(world, (scrape) =>
      Effect.gen(function* () {
        world.check({ startedWallMillis: 0, durationMillis: 30, ok: true, errorClass: undefined })
        world.check({ startedWallMillis: 0, durationMillis: 10_000, ok: false, errorClass: "postgres: timeout" })
        world.change(peerIdOf("a"), known(peerIdOf("a"), 0, {}, { skewMillis: -300 }), "announced")
        world.change(peerIdOf("a"), known(peerIdOf("a"), 0, {}, { skewMillis: -300 }), "heartbeat")
        world.change(peerIdOf("b"), known(peerIdOf("b"), 0, {}, { skewMillis: 300 }), "announced")
        world.change(peerIdOf("c"), known(peerIdOf("c"), 0, {}, { skewMillis: undefined }), "restored")
        yield* countPublish(announceTopic, "no-topic-peers")
        yield* TestClock.adjust("2 seconds")
        const { samples } = yield* scrape
        const expected = {
          'ricochet_self_checks_total{result="passed"}': 1,
          'ricochet_self_checks_total{result="failed"}': 1,
          'ricochet_self_check_duration_seconds_bucket{le="0.025"}': 0,
          'ricochet_self_check_duration_seconds_bucket{le="0.05"}': 1,
          'ricochet_self_check_duration_seconds_bucket{le="10"}': 2,
          'ricochet_self_check_duration_seconds_bucket{le="+Inf"}': 2,
          ricochet_self_check_duration_seconds_sum: 10.03,
          'ricochet_discovery_latency_seconds_bucket{le="0.01"}': 1,
          'ricochet_discovery_latency_seconds_bucket{le="0.5"}': 2,
          ricochet_discovery_latency_seconds_count: 2,
          'ricochet_publishes_total{topic="announce",outcome="no-topic-peers"}': 1
        }
        for (const [series, value] of Object.entries(expected)) {
          assert.strictEqual(samples.has(series), true, series)
          assert.closeTo(samples.get(series) ?? 0, value, 1e-9, series)
        }
      })
    )
  })

  it.effect("O01 K02 has as many series with ten thousand strangers as with none", () => {
    const world = Doubles.world()
    return withMetrics(world, (scrape) =>
      Effect.gen(function* () {
        const before = [...(yield* scrape).samples.keys()]
        for (let n = 0; n < 10_000; n++) {
          const stranger = peerIdOf(n)
          const hostile = `"} evil{${n}="\n`
          world.change(stranger, known(stranger, 0, { region: hostile, capabilities: [hostile] }), "announced")
        }
        world.messages = topics.flatMap((topic) =>
          refusalReasons.map((reason) => ({ topic, verdict: verdictOf[reason], reason, count: 1_000 }))
        )
        yield* TestClock.adjust("2 seconds")
        const { samples } = yield* scrape
        assert.deepStrictEqual([...samples.keys()], before)
        assert.strictEqual(samples.get('ricochet_servers{state="available"}'), 10_000)
      })
    )
  })

  it.effect("is not there when metrics are off", () => {
    const on = Doubles.settings()
    const off = { ...on, features: { ...on.features, enableMetrics: false } }
    return withDoor(
      Doubles.world(),
      (ask) => Effect.map(ask("/metrics"), ({ status }) => assert.strictEqual(status, 404)),
      off
    )
  })
})
