/** The API without a socket: full encoding, routing and decoding through its own typed client. */

import { assert, describe, it } from "@effect/vitest"
import { peerIdFromString } from "@libp2p/peer-id"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { HttpApiTest } from "effect/http-api"
import { TestClock } from "effect/testing"
import { CheckFailed } from "../../src/health/Readiness.ts"
import { OpsApi } from "../../src/ops/OpsApi.ts"
import * as OpsHandlers from "../../src/ops/OpsHandlers.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import { withDoor } from "./Door.ts"
import * as Doubles from "./Doubles.ts"
import { known } from "./Doubles.ts"

const [a, b, c, d] = [peerIdOf("a"), peerIdOf("b"), peerIdOf("c"), peerIdOf("d")]
const client = HttpApiTest.groups(OpsApi, ["health", "services", "self", "refusals"])

/** Runs against an API on these rooms. */
const withWorld = <A, E, R>(world: Doubles.World, test: Effect.Effect<A, E, R>) =>
  test.pipe(
    Effect.provide(Layer.merge(OpsHandlers.layer.pipe(Layer.provide(Doubles.layer(world))), HttpServer.layerServices)),
    Effect.scoped
  )

describe("/healthz and /readyz", () => {
  it.effect("says that it lives, asking nothing", () =>
    withWorld(
      { ...Doubles.world(), readiness: Effect.never },
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* (yield* client).healthz(), { status: "ok" })
      })
    )
  )

  it.effect("S25 says 200 when every check passes", () =>
    withWorld(
      Doubles.world(),
      Effect.gen(function* () {
        const [view, response] = yield* (yield* client).readyz({ responseMode: "decoded-and-response" })
        assert.strictEqual(response.status, 200)
        assert.deepStrictEqual(view, {
          ready: true,
          checks: { postgres: { ok: true } },
          draining: false,
          topic_peers: { announce: 0, heartbeat: 0 },
          alone_since: "1970-01-01T00:00:00Z",
          clock: { state: "unknown", by_seconds: 0, disagreeing: 0, heard: 0 }
        })
      })
    )
  )

  it.effect("S25 G10 says 503 when one fails, and nothing of the database's own words", () => {
    const failure = new CheckFailed({ check: "postgres", outside: "refused", cause: new Error("password of user x") })
    const world = Doubles.world()
    world.readiness = Effect.succeed({
      ready: false,
      checks: { postgres: { ok: false, error: "refused" } },
      failures: [failure],
      durationMillis: 1
    })
    return withWorld(
      world,
      Effect.gen(function* () {
        const response = yield* (yield* client).readyz({ responseMode: "response-only" })
        assert.strictEqual(response.status, 503)
        const text = yield* response.text
        assert.deepStrictEqual(JSON.parse(text).checks, { postgres: { ok: false, error: "refused" } })
        assert.notInclude(text, "password")
      })
    )
  })

  it.effect("R13 is unready while the server drains, though every check passes", () => {
    const world = Doubles.world()
    world.readiness = Effect.succeed({ ...Doubles.ready, ready: false, reason: "draining" })
    return withWorld(
      world,
      Effect.gen(function* () {
        const [view, response] = yield* (yield* client).readyz({ responseMode: "decoded-and-response" })
        assert.deepStrictEqual([response.status, view.ready, view.draining], [503, false, true])
      })
    )
  })

  it.effect("R15 D03 says how many peers are on each topic, and since when there are none", () => {
    const world = Doubles.world()
    world.topicPeers = { ...world.topicPeers, "/sf-network/services/heartbeat": [a, b] }
    world.connectivity = { ...world.connectivity, aloneSinceMillis: undefined }
    return withWorld(
      world,
      Effect.gen(function* () {
        const { readyz } = yield* client
        const { alone_since, topic_peers } = yield* readyz()
        assert.deepStrictEqual(
          { alone_since, topic_peers },
          { alone_since: null, topic_peers: { announce: 0, heartbeat: 2 } }
        )
        world.connectivity = { ...world.connectivity, aloneSinceMillis: 12_000 }
        assert.strictEqual((yield* readyz()).alone_since, "1970-01-01T00:00:12Z")
      })
    )
  })
})

describe("/services", () => {
  const servers = () =>
    Doubles.world([
      known(a, 0, { uptimeScore: 0.5, capabilities: ["mailbox"], region: "eu", regions: ["eu", "eu-north"] }),
      known(b, 0, { uptimeScore: 0.9 }),
      known(c, 0, { uptimeScore: 0.9, healthy: false }),
      known(d, 0, {}, { announcement: undefined })
    ])

  it.effect("S17 R20 F03 lists the available servers in order, this one apart, and counts those known", () =>
    withWorld(
      servers(),
      Effect.gen(function* () {
        const list = yield* (yield* client).services.list({ query: {} })
        assert.deepStrictEqual(
          list.services.map(({ server_id, state }) => [server_id, state]),
          [
            [b, "available"],
            [a, "available"]
          ]
        )
        assert.deepStrictEqual(list.known, { available: 2, unhealthy: 1, stopped: 0, silent: 0, unannounced: 1 })
        assert.deepStrictEqual(list.self, {
          server_id: Doubles.self,
          capabilities: ["store-and-forward", "mailbox", "document-sync"],
          max_storage: "10GB",
          retention_policy: "720h0m0s",
          region: "eu-west",
          regions: ["eu-west"],
          uptime_score: 0,
          healthy: false,
          timestamp: "1970-01-01T00:00:00Z",
          port: 55223,
          checks: 0,
          addresses: [`/ip4/127.0.0.1/tcp/55223/p2p/${Doubles.self}`]
        })
      })
    )
  )

  it.effect.each([
    { query: { capability: "mailbox" }, found: [a] },
    { query: { capability: "mail" }, found: [] },
    { query: { region: "eu-north" }, found: [a] },
    { query: { region: "default" }, found: [b] },
    { query: { min_uptime: 0.9 }, found: [b] },
    { query: { min_uptime: 0.91 }, found: [] },
    { query: { limit: 1 }, found: [b] },
    { query: { available: "true" }, found: [b, a] },
    { query: { available: "false" }, found: [c] },
    { query: { available: "all" }, found: [b, c, a] },
    { query: { available: "all", min_uptime: 0.6, limit: 1 }, found: [b] },
    { query: { max_age: 60 }, found: [b, a] },
    { query: { max_age: 59.999 }, found: [] }
  ] as const)("R20 R21 narrows the list by $query", ({ found, query }) =>
    withWorld(
      servers(),
      Effect.gen(function* () {
        yield* TestClock.adjust("60 seconds")
        const { services } = yield* (yield* client).services.list({ query })
        assert.deepStrictEqual(
          services.map(({ server_id }) => server_id),
          [...found]
        )
      })
    )
  )

  it.effect("R20 F05 picks one of the matching, the same for the same key, others for other keys", () =>
    withWorld(
      Doubles.world(Array.from({ length: 8 }, (_, index) => known(peerIdOf(index), 0))),
      Effect.gen(function* () {
        const { services } = yield* client
        const pick = Effect.fnUntraced(function* (key: string) {
          const list = yield* services.list({ query: { pick: key } })
          return list.services.map(({ server_id }) => server_id)
        })
        const picked = yield* Effect.forEach(Array.from({ length: 64 }), (_, index) => pick(`key ${index}`))
        assert.deepStrictEqual(yield* pick("key 0"), picked[0])
        assert.strictEqual(
          picked.every((one) => one.length === 1),
          true
        )
        assert.strictEqual(new Set(picked.flat()).size, 8)
      })
    )
  )

  it.effect.each([
    { query: "min_uptime=1.5", parameter: "min_uptime", found: "1.5", allowed: "a number from 0 to 1" },
    { query: "min_uptime=", parameter: "min_uptime", found: "", allowed: "a number from 0 to 1" },
    { query: "min_uptime=NaN", parameter: "min_uptime", found: "NaN", allowed: "a number from 0 to 1" },
    { query: "limit=0", parameter: "limit", found: "0", allowed: "a whole number from 1 to 1000000" },
    { query: "limit=1.5", parameter: "limit", found: "1.5", allowed: "a whole number from 1 to 1000000" },
    { query: "limit=0x10", parameter: "limit", found: "0x10", allowed: "a whole number from 1 to 1000000" },
    { query: "available=yes", parameter: "available", found: "yes", allowed: "true, false or all" },
    { query: "max_age=-1", parameter: "max_age", found: "-1", allowed: "a number of seconds from 0 to 86400" },
    { query: "pick=", parameter: "pick", found: "", allowed: "a key of 1 to 256 characters" },
    { query: "region=a&region=b", parameter: "region", found: "a, b", allowed: "a region of 1 to 256 characters" },
    {
      query: "capabilty=x",
      parameter: "capabilty",
      found: "x",
      allowed: "one of the parameters capability, region, min_uptime, limit, available, max_age, pick"
    },
    {
      query: "limit=%1B%5B2J%E2%80%AE",
      parameter: "limit",
      found: "\\u{1b}[2J\\u{202e}",
      allowed: "a whole number from 1 to 1000000"
    },
    {
      query: `limit=${"9".repeat(500)}`,
      parameter: "limit",
      found: `${"9".repeat(63)}…`,
      allowed: "a whole number from 1 to 1000000"
    }
  ])("refuses $query, naming what was found and what is allowed", ({ query, ...expected }) =>
    withDoor(servers(), (ask) =>
      Effect.gen(function* () {
        const { headers, status, text } = yield* ask(`/services?${query}`)
        assert.deepStrictEqual([status, headers.get("content-type")], [400, "application/problem+json"])
        const { detail, ...problem } = JSON.parse(text)
        assert.deepStrictEqual(problem, { type: "about:blank", title: "Bad Request", status: 400, errors: [expected] })
        assert.include(detail, expected.parameter)
      })
    )
  )

  it.effect("reports every bad parameter at once", () =>
    withDoor(servers(), (ask) =>
      Effect.gen(function* () {
        const { text } = yield* ask("/services?limit=x&min_uptime=2&foo=1")
        const parameters = JSON.parse(text).errors.map(({ parameter }: { parameter: string }) => parameter)
        assert.deepStrictEqual(parameters.sort(), ["foo", "limit", "min_uptime"])
      })
    )
  )

  it.effect("S15 drops a server the moment it falls silent, not a second later", () =>
    withWorld(
      Doubles.world([known(a, 0)]),
      Effect.gen(function* () {
        const { services } = yield* client
        const count = Effect.map(services.list({ query: {} }), (list) => list.services.length)
        yield* TestClock.adjust("119 minutes")
        yield* TestClock.adjust("59500 millis")
        assert.strictEqual(yield* count, 1)
        yield* TestClock.adjust("500 millis")
        assert.strictEqual(yield* count, 1)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* count, 0)
      })
    )
  )

  it.effect("S14 shows a change at once", () => {
    const world = Doubles.world([known(a, 0)])
    return withWorld(
      world,
      Effect.gen(function* () {
        const { services } = yield* client
        const count = Effect.map(services.list({ query: {} }), (list) => list.services.length)
        assert.strictEqual(yield* count, 1)
        world.change(a, known(a, 0, { healthy: false }), "heartbeat")
        assert.strictEqual(yield* count, 0)
      })
    )
  })

  it.effect("sends nothing to a reader that has it, and all of it once something has changed", () => {
    const world = Doubles.world([known(a, 0)])
    world.checks = [{ startedWallMillis: 0, durationMillis: 3, ok: true, errorClass: undefined }]
    return withDoor(world, (ask) =>
      Effect.gen(function* () {
        const first = yield* ask("/services")
        const etag = first.headers.get("etag") ?? ""
        assert.match(etag, /^W\/"[\w-]+"$/)
        yield* TestClock.adjust("30 seconds")
        const again = yield* ask("/services", { headers: { "if-none-match": `"x", ${etag}` } })
        assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag])
        const other = yield* ask("/services?available=false", { headers: { "if-none-match": etag } })
        assert.strictEqual(other.status, 200)
        world.change(a, known(a, 30_000), "heartbeat")
        const changed = yield* ask("/services", { headers: { "if-none-match": etag } })
        assert.strictEqual(changed.status, 200)
        assert.notStrictEqual(changed.headers.get("etag"), etag)
      })
    )
  })

  it.effect("I10 tells hostile text as text, as JSON that no browser takes for a page", () => {
    const hostile = `<img src=x onerror=alert(1)>"><script>javascript:\u001b[2J\u202e\n`
    return withDoor(Doubles.world([known(a, 0, { region: hostile, capabilities: [hostile] })]), (ask) =>
      Effect.gen(function* () {
        const { headers, text } = yield* ask("/services")
        assert.strictEqual(headers.get("content-type"), "application/json")
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(JSON.parse(text).services[0].region, hostile)
        assert.strictEqual(/[\p{Cc}\p{Bidi_Control}]/u.test(text), false)
      })
    )
  })
})

describe("/services/{peerId}", () => {
  it.effect("R21 O04 answers under either name of a peer", () =>
    withWorld(
      Doubles.world([known(a, 0)]),
      Effect.gen(function* () {
        const { services } = yield* client
        const byText = yield* services.find({ params: { peerId: a } })
        const byCid = yield* services.find({ params: { peerId: peerIdFromString(a).toCID().toString() } })
        assert.deepStrictEqual(byCid, byText)
        assert.deepStrictEqual([byText.listed, byText.reason], [true, "available"])
      })
    )
  )

  it.effect("R21 tells where a server can be dialled, connected or not, and never from where it dialled", () => {
    const at = (host: string) => `/ip4/${host}/tcp/1/p2p/${a}`
    const outbound = { peer: a, address: at("10.0.0.1"), direction: "outbound" } as const
    const inbound = { peer: a, address: undefined, direction: "inbound" } as const
    const many = Array.from({ length: 8 }, (_, n) => at(`10.0.1.${n}`))
    const told = (connections: Doubles.World["connections"], addresses: ReadonlyArray<string>) =>
      withWorld(
        { ...Doubles.world([known(a, 0)]), connections, addressBook: new Map([[a, addresses]]) },
        Effect.gen(function* () {
          const { services } = yield* client
          const [entry] = (yield* services.list({ query: {} })).services
          const detail = yield* services.find({ params: { peerId: a } })
          assert.deepStrictEqual([detail.connected, detail.addresses], [entry?.connected, entry?.addresses])
          return { connected: detail.connected, addresses: detail.addresses }
        })
      )
    return Effect.gen(function* () {
      const own = [at("10.0.0.2"), at("10.0.0.1")]
      assert.deepStrictEqual(yield* told([], own), { connected: false, addresses: own })
      assert.deepStrictEqual(yield* told([inbound], own), { connected: true, addresses: own })
      assert.deepStrictEqual(yield* told([inbound], []), { connected: true, addresses: [] })
      assert.deepStrictEqual(yield* told([inbound, outbound], own), { connected: true, addresses: own.toReversed() })
      assert.deepStrictEqual((yield* told([outbound], many)).addresses, [at("10.0.0.1"), ...many.slice(0, 7)])
    })
  })

  it.effect("R21 answers never announced for a peer that was never heard of", () =>
    withWorld(
      Doubles.world(),
      Effect.gen(function* () {
        const error = yield* Effect.flip((yield* client).services.find({ params: { peerId: a } }))
        assert.strictEqual(error._tag, "NeverHeard")
        if (error._tag !== "NeverHeard") return
        const { addresses, connected, listed, reason, server_id, status } = error
        assert.deepStrictEqual(
          { addresses, connected, listed, reason, server_id, status },
          { addresses: [], connected: false, listed: false, reason: "never-announced", server_id: a, status: 404 }
        )
      })
    )
  )

  it.effect.each([
    { peerId: "constructor", found: "constructor" },
    { peerId: "1".repeat(200), found: `${"1".repeat(63)}…` },
    { peerId: "%1B%5B2J", found: "\\u{1b}[2J" },
    { peerId: "12D3KooWnotreally", found: "12D3KooWnotreally" }
  ])("refuses $peerId, which is no peer ID", ({ found, peerId }) =>
    withDoor(Doubles.world(), (ask) =>
      Effect.gen(function* () {
        const { status, text } = yield* ask(`/services/${peerId}`)
        assert.strictEqual(status, 400)
        assert.deepStrictEqual(JSON.parse(text).errors, [
          { parameter: "peerId", found, allowed: "a peer ID in base58 (12D3KooW…) or as CIDv1 (bafz…)" }
        ])
      })
    )
  )
})

describe("/self", () => {
  it.effect("R10 tells what this server announces, its checks, its neighbours and its clock", () => {
    const world = Doubles.world([known(a, 0), known(b, 0, { healthy: false })])
    world.connectivity = {
      topicPeers: 1,
      aloneSinceMillis: undefined,
      bootstrap: [
        {
          address: "/dns4/up.example/tcp/1",
          peer: a,
          isConnected: true,
          lastError: undefined,
          nextTryInMillis: undefined
        },
        {
          address: "/ip4/10.0.0.1/tcp/1",
          peer: undefined,
          isConnected: false,
          lastError: "refused",
          nextTryInMillis: 1_500
        }
      ]
    }
    world.clock = { state: "behind", byMillis: 600_000.6, disagreeing: 3, heard: 4 }
    world.checks = [
      { startedWallMillis: 1_000, durationMillis: 12.5, ok: false, errorClass: "postgres: refused" },
      { startedWallMillis: 2_000, durationMillis: 3, ok: true, errorClass: undefined }
    ]
    world.topicPeers = { ...world.topicPeers, "/sf-network/services/announce": [a] }
    world.connections = [{ peer: a, address: "/ip4/10.0.0.2/tcp/1", direction: "outbound" }]
    return withWorld(
      world,
      Effect.gen(function* () {
        const { self } = yield* client
        yield* TestClock.adjust("1 minute")
        const { announcement, ...rest } = yield* self()
        assert.deepStrictEqual(
          [announcement.uptime_score, announcement.checks, announcement.healthy, announcement.timestamp],
          [0.5, 2, true, "1970-01-01T00:00:02Z"]
        )
        assert.deepStrictEqual(rest, {
          version: "0.1.0",
          started: "1970-01-01T00:00:00Z",
          uptime_seconds: 60,
          database: "embedded",
          self_checks: [
            { time: "1970-01-01T00:00:01Z", ok: false, duration_seconds: 0.013, error: "postgres: refused" },
            { time: "1970-01-01T00:00:02Z", ok: true, duration_seconds: 0.003 }
          ],
          topic_peers: { announce: [a], heartbeat: [] },
          alone_since: null,
          bootstrap: [
            {
              address: "/dns4/up.example/tcp/1",
              peer: a,
              connected: true,
              last_error: null,
              next_try_seconds: null
            },
            {
              address: "/ip4/10.0.0.1/tcp/1",
              peer: null,
              connected: false,
              last_error: "refused",
              next_try_seconds: 1.5
            }
          ],
          connections: 1,
          neighbours: [a],
          clock: { state: "behind", by_seconds: 600.001, disagreeing: 3, heard: 4 },
          servers: { available: 1, unhealthy: 1, stopped: 0, silent: 0, unannounced: 0 }
        })
      })
    )
  })
})

describe("/refusals", () => {
  it.effect("R2 R21 tells which messages did not count, whose they were and why", () => {
    const world = Doubles.world()
    const [announce, heartbeat] = ["/sf-network/services/announce", "/sf-network/services/heartbeat"] as const
    world.messages = [
      { topic: announce, verdict: "accept", reason: "none", count: 5 },
      { topic: announce, verdict: "reject", reason: "forged", count: 2 },
      { topic: heartbeat, verdict: "ignore", reason: "too-old", count: 0 }
    ]
    world.refusals.set(a, { reason: "forged", detail: "signed by another", count: 2, lastWallMillis: 1_000 })
    return withWorld(
      world,
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* (yield* client).refusals(), {
          counts: [{ topic: "announce", verdict: "reject", reason: "forged", count: 2 }],
          signers: [
            {
              server_id: a,
              reason: "forged",
              verdict: "reject",
              detail: "signed by another",
              count: 2,
              last: "1970-01-01T00:00:01Z"
            }
          ]
        })
      })
    )
  })

  it.effect("R19 names the 64 signers whose messages were refused last", () => {
    const world = Doubles.world()
    for (let index = 0; index < 100; index++) {
      world.refusals.set(peerIdOf(index), { reason: "forged", detail: "", count: 1, lastWallMillis: 0 })
    }
    return withWorld(
      world,
      Effect.gen(function* () {
        assert.strictEqual((yield* (yield* client).refusals()).signers.length, 64)
      })
    )
  })
})

describe("the door", () => {
  const ask = (path: string, init?: RequestInit) => withDoor(Doubles.world(), (door) => door(path, init))

  it.effect.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("answers %s with 405 and what is allowed", (method) =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* ask("/services", { method })
      assert.deepStrictEqual(
        [status, headers.get("allow"), headers.get("content-type")],
        [405, "GET, HEAD", "application/problem+json"]
      )
      assert.deepStrictEqual(JSON.parse(text), {
        type: "about:blank",
        title: "Method Not Allowed",
        status: 405,
        detail: "only GET, HEAD are served"
      })
    })
  )

  it.effect("answers 404 where nothing is", () =>
    Effect.gen(function* () {
      const { status, text } = yield* ask("/nowhere?secret=1")
      assert.strictEqual(status, 404)
      assert.deepStrictEqual(JSON.parse(text), {
        type: "about:blank",
        title: "Not Found",
        status: 404,
        detail: "nothing is at /nowhere"
      })
    })
  )

  it.effect.each([
    ["evil.example", 421],
    ["evil.example:9090", 421],
    ["ops.example:9090", 200],
    ["localhost:9090", 200],
    ["[::1]:9090", 200]
  ] as const)("DNS rebinding: answers a request for %s with %i", ([host, expected]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask("/services", { headers: { host } })).status, expected)
    })
  )

  it.effect("is closed to other origins, and to what a browser would make of its answers", () =>
    Effect.gen(function* () {
      const { headers } = yield* ask("/readyz", { headers: { origin: "https://evil.example" } })
      assert.strictEqual(headers.get("access-control-allow-origin"), null)
      assert.deepStrictEqual(
        [
          "x-content-type-options",
          "referrer-policy",
          "cross-origin-resource-policy",
          "content-security-policy",
          "cache-control"
        ].map((name) => headers.get(name)),
        ["nosniff", "no-referrer", "same-origin", "default-src 'none'; frame-ancestors 'none'", "no-store"]
      )
    })
  )

  it.effect("G10 tells of a defect only that there was one", () => {
    const world = Doubles.world()
    world.readiness = Effect.die(new Error("SELECT secret FROM users"))
    const log = CapturedLog.make()
    return withDoor(world, (door) =>
      Effect.gen(function* () {
        const { headers, status, text } = yield* door("/readyz")
        assert.deepStrictEqual([status, headers.get("content-type")], [500, "application/problem+json"])
        assert.notInclude(text, "secret")
        assert.deepStrictEqual(
          log.lines.map(({ cause, level, message }) => [level, message, cause]),
          [["Error", "request failed", "Error: SELECT secret FROM users"]]
        )
      })
    ).pipe(Effect.provide(log.layer))
  })

  it.effect("answers HEAD as GET, without the body", () =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* ask("/healthz", { method: "HEAD" })
      assert.deepStrictEqual([status, text, headers.get("content-type")], [200, "", "application/json"])
    })
  )

  it.effect("describes itself: every path in the OpenAPI document is in the page for people", () =>
    Effect.gen(function* () {
      const { paths } = JSON.parse((yield* ask("/openapi.json")).text)
      const page = yield* ask("/docs")
      assert.deepStrictEqual(Object.keys(paths).sort(), [
        "/healthz",
        "/readyz",
        "/refusals",
        "/self",
        "/services",
        "/services/watch",
        "/services/{peerId}"
      ])
      for (const path of Object.keys(paths)) assert.include(page.text, `GET ${path}`)
      assert.notMatch(page.text, /https?:\/\/|<script/)
    })
  )
})
