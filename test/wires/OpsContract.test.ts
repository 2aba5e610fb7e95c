/** What the listener answers over HTTP, held against the OpenAPI document that it hands out itself. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import {
  Context,
  Effect,
  JsonSchema,
  Layer,
  Logger,
  Metric,
  Record as Records,
  Result,
  Schema,
  SchemaRepresentation
} from "effect"
import { OpsServer } from "../../src/ops/OpsServer.ts"
import type { Known } from "../../src/registry/Known.ts"
import { silentAfterMillis } from "../../src/registry/Limits.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { now } from "../../src/time/Now.ts"
import * as Timestamp from "../../src/time/Timestamp.ts"
import * as Doubles from "../ops/Doubles.ts"

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get: {
          readonly parameters: ReadonlyArray<{ readonly name: string; readonly schema: JsonSchema.JsonSchema }>
          readonly responses: Readonly<Record<string, { readonly content: Content }>>
        }
      }
    >
  >
  readonly components: { readonly schemas: JsonSchema.Definitions }
}
type Content = Readonly<Record<string, { readonly schema: JsonSchema.JsonSchema }>>

const refusal = { reason: "too-old", detail: "timestamp: 3 h behind this server", count: 7, lastWallMillis: 1 } as const

/** A server of each kind that there is, by the reason that R21 has for it. */
const peers = {
  available: peerIdOf("available"),
  unhealthy: peerIdOf("unhealthy"),
  silent: peerIdOf("silent"),
  "never-announced": peerIdOf("never announced"),
  refused: peerIdOf("refused"),
  evicted: peerIdOf("evicted"),
  self: Doubles.self
} as const

const worldOfAll = Effect.map(now, ({ steadyMillis, wallNanos }) => {
  const at = (ageMillis: number) => ({
    wallMillis: Timestamp.toMillis(wallNanos) - ageMillis,
    steadyMillis: steadyMillis - ageMillis
  })
  const heard = (peer: (typeof peers)[keyof typeof peers], entry: Partial<Known> = {}, healthy = true) =>
    Doubles.known(peer, at(0).wallMillis, { healthy }, { lastHeard: at(1_000), verdictSince: at(2_000), ...entry })
  const world = Doubles.world([
    heard(peers.available, { skewMillis: -250, beatMillis: 60_000 }),
    heard(peers.unhealthy, { restored: true, skewMillis: undefined }, false),
    heard(peers.silent, { lastHeard: at(silentAfterMillis + 1) }),
    heard(peers["never-announced"], { announcement: undefined })
  ])
  world.refusals.set(peers.refused, refusal)
  world.evictions.set(peers.evicted, { wallMillis: 1, reason: "silent" })
  world.connections = [{ peer: peers.available, address: "/ip4/10.0.0.1/tcp/1", direction: "outbound" }]
  world.checks = [
    { startedWallMillis: 1, durationMillis: 3, ok: false, errorClass: "postgres: refused" },
    { startedWallMillis: 2, durationMillis: 3, ok: true, errorClass: undefined }
  ]
  world.connectivity = {
    topicPeers: 0,
    aloneSinceMillis: 1,
    bootstrap: [
      { address: "/dns4/a/tcp/1", peer: undefined, isConnected: false, nextTryInMillis: 3, lastError: "refused" }
    ]
  }
  return world
})

/** A listener in such a world, and the document that it hands out. */
class Listener extends Context.Service<
  Listener,
  { readonly url: string; readonly world: Doubles.World; readonly document: Document }
>()("Listener") {
  static readonly layer = Layer.effect(
    Listener,
    Effect.gen(function* () {
      const world = yield* worldOfAll
      const context = yield* Layer.build(OpsServer.layer.pipe(Layer.provide(Doubles.layer(world))))
      const url = Context.get(context, OpsServer).url ?? assert.fail("it is off")
      const document = yield* Effect.promise(
        async (): Promise<Document> => JSON.parse(await fetch(`${url}/openapi.json`).then((answer) => answer.text()))
      )
      return Listener.of({ url, world, document })
    })
  ).pipe(Layer.provide([Layer.succeed(Metric.MetricRegistry, new Map()), Logger.layer([])]))
}

const schemaOf = ({ paths }: Document, path: string, status: number, type: string): JsonSchema.JsonSchema =>
  paths[path]?.get.responses[status]?.content[type]?.schema ??
  assert.fail(`${path} is not said to answer ${status} as ${type}`)

const ofOpenApi = (schema: JsonSchema.JsonSchema) => JsonSchema.fromSchemaOpenApi3_1(schema).schema

/** Fails unless the value is what the schema says, to the last property. */
const conforms = ({ components }: Document, schema: JsonSchema.JsonSchema, value: unknown) => {
  const imported = SchemaRepresentation.fromJsonSchemaDocument({
    dialect: "draft-2020-12",
    schema: ofOpenApi(schema),
    definitions: Records.map(components.schemas, ofOpenApi)
  }) as Schema.Codec<unknown>
  const decoded = Schema.decodeUnknownResult(imported, { onExcessProperty: "error", errors: "all" })(value)
  if (Result.isFailure(decoded)) assert.fail(`${decoded.failure} in ${JSON.stringify(value)}`)
}

const examples: ReadonlyArray<readonly [operation: string, path: string, status: number]> = [
  ["/healthz", "/healthz", 200],
  ["/readyz", "/readyz", 200],
  ["/self", "/self", 200],
  ["/refusals", "/refusals", 200],
  ["/services", "/services", 200],
  ["/services", "/services?available=all&limit=2", 200],
  ["/services", "/services?available=false&max_age=60", 200],
  ["/services", "/services?pick=mailbox-1", 200],
  ["/services", "/services?limit=0&colour=red", 400],
  ["/services/{peerId}", "/services/nobody", 400],
  ["/services/{peerId}", `/services/${peerIdOf("a stranger")}`, 404]
]

const live = { excludeTestServices: true } as const

layer(Listener.layer, live)("the OpenAPI document", (it) => {
  const holds = Effect.fnUntraced(function* (operation: string, path: string, status: number) {
    const { document, url } = yield* Listener
    const response = yield* Effect.promise(() => fetch(`${url}${path}`))
    const body: unknown = yield* Effect.promise(() => response.json())
    assert.strictEqual(response.status, status, path)
    conforms(document, schemaOf(document, operation, status, response.headers.get("content-type") ?? ""), body)
    return body
  })

  for (const [operation, path, status] of examples) {
    it.effect(`says what ${path} answers with ${status}`, () => holds(operation, path, status))
  }

  for (const [reason, peer] of Object.entries(peers)) {
    it.effect(`R21 says what is answered of a server that is ${reason}`, () =>
      Effect.gen(function* () {
        const body = yield* holds("/services/{peerId}", `/services/${peer}`, 200)
        assert.deepInclude(body, { server_id: peer, reason, listed: reason === "available" })
      })
    )
  }

  it.effect("says what an unready server answers", () =>
    Effect.gen(function* () {
      const { world } = yield* Listener
      const failed = { ok: false, error: "refused" } as const
      world.readiness = Effect.succeed({ ...Doubles.ready, ready: false, checks: { postgres: failed } })
      yield* holds("/readyz", "/readyz", 503)
    })
  )

  it.effect("says what a watch sends, and what one too many is answered", () =>
    Effect.gen(function* () {
      const { document, url, world } = yield* Listener
      const stop = new AbortController()
      yield* Effect.addFinalizer(() => Effect.sync(() => stop.abort()))
      const open = () => fetch(`${url}/services/watch`, { signal: stop.signal })
      const { body } = yield* Effect.promise(open)
      const pieces = (body ?? assert.fail("there is no body")).pipeThrough(new TextDecoderStream())
      let text = ""
      const entry = world.entries.get(peers.available)
      const events = yield* Effect.promise(async () => {
        for await (const piece of pieces) {
          text += piece
          const blocks = text.split("\n\n").filter((block) => block.startsWith("id: "))
          if (blocks.length === 1 && world.lastId === 0) world.change(peers.available, entry, "heartbeat")
          if (blocks.length === 2 && world.lastId === 1) world.change(peers.available, undefined, "forgotten")
          if (blocks.length === 3 && text.endsWith("\n\n")) return blocks
        }
        return []
      })
      const kinds = events.map((text) => {
        const event = Object.fromEntries(text.split("\n").map((line) => line.split(/: (.*)/s, 2)))
        conforms(document, schemaOf(document, "/services/watch", 200, "text/event-stream"), event)
        const name = event.event === "snapshot" ? "Snapshot" : "Change"
        conforms(document, { $ref: `#/components/schemas/${name}` }, JSON.parse(event.data))
        return event.event
      })
      assert.deepStrictEqual(kinds, ["snapshot", "change", "change"])
      while ((yield* Effect.promise(open)).status === 200);
      yield* holds("/services/watch", "/services/watch", 503)
    })
  )

  it.effect("says of every parameter what it may be, and the page made of it needs nothing but itself", () =>
    Effect.gen(function* () {
      const { document, url } = yield* Listener
      const response = yield* Effect.promise(() => fetch(`${url}/docs`))
      const page = yield* Effect.promise(() => response.text())
      const parameters = Object.values(document.paths).flatMap(({ get }) => get.parameters)
      assert.deepStrictEqual(
        parameters.map(({ name, schema }) => `${name}: ${schema.type}`),
        [
          "capability: string",
          "region: string",
          "min_uptime: number",
          "limit: integer",
          "available: string",
          "max_age: number",
          "pick: string",
          "last-event-id: string",
          "peerId: string"
        ]
      )
      for (const { schema } of parameters) assert.include(page, `<td>${schema.description}</td>`)
      const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? ""
      const hash = createHash("sha256").update(style).digest("base64")
      assert.strictEqual(
        response.headers.get("content-security-policy"),
        `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'`
      )
      assert.notMatch(
        page.replace(style, ""),
        /<(script|link|img|iframe|style>.*<style)| (src|style|on\w+)=|url\(|\/\//s
      )
    })
  )

  it.effect("has an example here for whatever a request can bring about", () =>
    Effect.gen(function* () {
      const { document } = yield* Listener
      const shown = new Set(examples.map(([operation, , status]) => `${operation} ${status}`))
      const apart = ["/readyz 503", "/services/watch 200", "/services/watch 503", "/services/{peerId} 200"]
      for (const one of apart) shown.add(one)
      const said = Object.entries(document.paths).flatMap(([path, { get }]) =>
        Object.keys(get.responses).map((status) => `${path} ${status}`)
      )
      // A defect is said of every path, and so is a bad parameter, which only these can have.
      const provoked = said.filter((one) => !one.endsWith(" 500") && (!one.endsWith(" 400") || shown.has(one)))
      assert.deepStrictEqual([...shown].sort(), provoked.sort())
    })
  )
})
