/** The dashboard and the alert rules, held against what real servers tell; and all of it against Prometheus's own tool. */
import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { parse as parseYaml } from "yaml"
import { eventually } from "../process/Eventually.ts"
import { start } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"
import * as Scrape from "./Scrape.ts"

const deployed = (name: string) => new URL(`../../src/deploy/${name}`, import.meta.url).pathname

interface Panel {
  readonly id: number
  readonly title: string
  readonly description?: string
  readonly type: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: ReadonlyArray<{ readonly expr: string; readonly legendFormat: string; readonly refId: string }>
}

interface Dashboard {
  readonly panels: ReadonlyArray<Panel>
  readonly templating: { readonly list: ReadonlyArray<{ readonly name: string; readonly definition?: string }> }
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

const dashboard = Effect.promise(
  async (): Promise<Dashboard> => JSON.parse(await readFile(deployed("grafana.json"), "utf8"))
)
const rules = Effect.promise(async (): Promise<ReadonlyArray<Rule>> => {
  const { groups } = parseYaml(await readFile(deployed("alerts.yaml"), "utf8"))
  return groups.flatMap((group: { readonly rules: ReadonlyArray<Rule> }) => group.rules)
})

const strangersIn = (expressions: ReadonlyArray<string>, scrape: Scrape.Scrape) =>
  expressions.flatMap((expression) =>
    Scrape.strangersIn(expression, scrape).map((stranger) => `${stranger} in ${expression}`)
  )

/** Two servers that have heard each other, and where the first is scraped. */
class Pair extends Context.Service<Pair, { readonly url: string }>()("Pair") {
  static readonly layer = Layer.effect(
    Pair,
    Effect.gen(function* () {
      const first = yield* start()
      const second = yield* start({ args: ["--bootstrap", first.address] })
      yield* first.lists([second.peerId])
      const { url } = yield* first.log("ops listening")
      return Pair.of({ url: String(url) })
    })
  )
}

const promtool = (args: ReadonlyArray<string>, input = "") =>
  Effect.callback<{ readonly code: number | null; readonly output: string }>((resume) => {
    const child = spawn("promtool", args, { stdio: ["pipe", "pipe", "pipe"] })
    let output = ""
    const keep = (data: Buffer) => {
      output += data
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    child.on("close", (code) => resume(Effect.succeed({ code, output })))
    child.stdin.end(input)
  })

const live = { excludeTestServices: true, timeout: "60 seconds" } as const

layer(Pair.layer, live)("what a server tells of itself", (it) => {
  it.effect("moves with what happens: two servers that find each other raise every number that it should", () =>
    Effect.gen(function* () {
      const { url } = yield* Pair
      const moving = [
        'ricochet_messages_total{topic="announce",verdict="accept",reason="none"}',
        'ricochet_messages_total{topic="heartbeat",verdict="accept",reason="none"}',
        'ricochet_servers{state="available"}',
        "ricochet_uptime_score_checks",
        "ricochet_healthy",
        'ricochet_topic_peers{topic="announce"}',
        'ricochet_topic_peers{topic="heartbeat"}',
        "ricochet_connections",
        'ricochet_database_batches_total{result="written"}',
        'ricochet_directory_requests_total{result="answered"}',
        'ricochet_publishes_total{topic="announce",outcome="sent"}',
        'ricochet_publishes_total{topic="announce",outcome="no-topic-peers"}',
        'ricochet_publishes_total{topic="heartbeat",outcome="sent"}',
        'ricochet_self_checks_total{result="passed"}',
        "ricochet_self_check_duration_seconds_count",
        "ricochet_discovery_latency_seconds_count",
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "nodejs_heap_size_used_bytes",
        'gossipsub_mesh_peers{topic="announce"}',
        'gossipsub_peers{protocol="/meshsub/1.2.0"}',
        'gossipsub_peers_by_score_threshold{threshold="graylist"}',
        'gossipsub_msg_received_prevalidation_total{topic="announce"}',
        'gossipsub_msg_publish_peers_total{topic="announce"}',
        "gossipsub_rpc_recv_bytes_total",
        "gossipsub_rpc_sent_total",
        'gossipsub_cache_size{cache="seenCache"}',
        'libp2p_connection_manager_connections{state="inbound"}',
        'libp2p_connection_manager_dials_total{direction="inbound"}',
        "libp2p_noise_xxhandshake_successes_total",
        "libp2p_kad_dht_routing_table_size"
      ]
      const still = Effect.map(Scrape.textOf(url), (text) =>
        moving.filter((series) => !(Scrape.readingOf(text, series) > 0))
      )
      yield* eventually("every number has risen", still, (series) => series.length === 0)

      const scrape = Scrape.parse(yield* Scrape.textOf(url))
      const panels = (yield* dashboard).panels
      const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
      assert.deepStrictEqual(strangersIn(expressions, scrape), [])
      assert.deepStrictEqual(
        strangersIn(
          (yield* rules).map(({ expr }) => expr),
          scrape
        ),
        []
      )
    })
  )

  it.effect.skipIf(isMissing("promtool"))(named("is nothing that Prometheus's own tool complains of", "promtool"), () =>
    Effect.gen(function* () {
      const { url } = yield* Pair
      const text = yield* Scrape.textOf(url)
      assert.deepStrictEqual(yield* promtool(["check", "metrics"], text), { code: 0, output: "" })
    })
  )
})

describe("a PromQL expression", () => {
  it("is held against names, labels and values alike", () => {
    const scrape = Scrape.parse('a_total{x="1"} 1\nb_seconds 2\n')
    const strangers = (expression: string) => Scrape.strangersIn(expression, scrape)
    assert.deepStrictEqual(
      strangers('sum by (job, x) (rate(a_total{x="1",job=~"$job"}[5m])) / b_seconds offset 1h'),
      []
    )
    assert.deepStrictEqual(strangers("rate(c_total[5m]) and b_seconds > 2"), ["c_total"])
    assert.deepStrictEqual(strangers('a_total{y="1"}'), ["a_total{y}"])
    assert.deepStrictEqual(strangers('a_total{x!="2"}'), ['a_total{x="2"}'])
    assert.deepStrictEqual(strangers("sum by (y) (b_seconds)"), ["by (y)"])
  })
})

describe("the dashboard", () => {
  it.effect("has panels that say what they show, each in a place of its own", () =>
    Effect.gen(function* () {
      const { panels, templating } = yield* dashboard
      const taken = new Set<string>()
      for (const { gridPos, type, description, targets = [], title } of panels) {
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
            assert.strictEqual(taken.has(`${x} ${y}`), false, title)
            taken.add(`${x} ${y}`)
          }
        }
        assert.isAtMost(gridPos.x + gridPos.w, 24, title)
        if (type === "row") continue
        assert.match(description ?? "", /\.$/, title)
        assert.deepStrictEqual([...new Set(targets.map(({ refId }) => refId))].length, targets.length, title)
        for (const { expr } of targets) assert.include(expr, '{job=~"$job",instance=~"$instance"', title)
      }
      assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
      assert.deepStrictEqual(
        templating.list.map(({ name }) => name),
        ["datasource", "job", "instance"]
      )
    })
  )
})

describe("the alert rules", () => {
  it.effect("say what is wrong where, what to do about it, and how bad it is", () =>
    Effect.gen(function* () {
      for (const { alert, annotations, labels, ...rule } of yield* rules) {
        assert.match(alert, /^Ricochet[A-Z][A-Za-z]+$/)
        assert.include(["critical", "warning"], labels.severity, alert)
        assert.include(annotations.summary, "{{ $labels.instance }}", alert)
        assert.match(annotations.description, /[.?)]$/, alert)
        assert.match(rule.for, /^\d+m$/, alert)
      }
    })
  )
})

describe.skipIf(isMissing("promtool"))(named("the alert rules, judged by Prometheus's own tool", "promtool"), () => {
  it.live("are rules", () =>
    Effect.gen(function* () {
      const { code, output } = yield* promtool(["check", "rules", deployed("alerts.yaml")])
      assert.strictEqual(code, 0, output)
      assert.match(output, new RegExp(`SUCCESS: ${(yield* rules).length} rules found`))
    })
  )

  it.live("fire when they should, and not before", () =>
    Effect.gen(function* () {
      const tests = new URL("alerts.yaml", import.meta.url).pathname
      const { code, output } = yield* promtool(["test", "rules", tests])
      assert.strictEqual(code, 0, output)
      const told = yield* Effect.promise(() => readFile(tests, "utf8"))
      for (const { alert } of yield* rules) assert.include(told, `alertname: ${alert}\n`)
    })
  )
})
