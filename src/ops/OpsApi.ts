/**
 * The HTTP API of a server, as a value: paths, parameters, what they answer. It holds no handler and nothing that
 * listens, so a client imports it without dragging in the server.
 */
import { Schema, Struct } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, OpenApi } from "effect/http-api"
import { InternalFailure, InvalidParameter, NeverHeard, TooManyWatchers } from "./Problem.ts"
import { Health, Readiness } from "./ReadinessView.ts"
import { RefusalList } from "./RefusalList.ts"
import { SelfView } from "./SelfView.ts"
import { ServiceDetail, ServiceList } from "./ServiceView.ts"
import { WatchEvent } from "./WatchEvent.ts"

/** Turns what a client got wrong into problem details that name it. */
export class Problems extends HttpApiMiddleware.Service<Problems>()("ricochet-discovery/ops/Problems", {
  error: [InvalidParameter, InternalFailure]
}) {}

/** What each query parameter of `/services` allows: the words of its documentation and of its refusal. */
export const allowedInQuery = {
  capability: "a capability of 1 to 256 characters",
  region: "a region of 1 to 256 characters",
  min_uptime: "a number from 0 to 1",
  limit: "a whole number from 1 to 1000000",
  available: "true, false or all",
  max_age: "a number of seconds from 0 to 86400",
  pick: "a key of 1 to 256 characters"
} as const

const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256))
const within = (minimum: number, maximum: number) => Schema.isBetween({ minimum, maximum })

export const ServiceQuery = Schema.Struct({
  capability: Text.annotate({ description: `Only servers that offer it: ${allowedInQuery.capability}` }),
  region: Text.annotate({ description: `Only servers in it, or that serve it: ${allowedInQuery.region}` }),
  min_uptime: Schema.Finite.check(within(0, 1)).annotate({
    description: `Only servers with at least this uptime score: ${allowedInQuery.min_uptime}`
  }),
  limit: Schema.Int.check(within(1, 1_000_000)).annotate({
    description: `At most so many, the first in order: ${allowedInQuery.limit}`
  }),
  available: Schema.Literals(["true", "false", "all"]).annotate({
    description: "true (the default): the available servers; false: the others that have announced; all: both"
  }),
  max_age: Schema.Finite.check(within(0, 86_400)).annotate({
    description: `Only servers heard from within so long: ${allowedInQuery.max_age}`
  }),
  pick: Text.annotate({
    description:
      `The one of the matching servers that takes this piece of work: ${allowedInQuery.pick}. The same key gives the ` +
      "same server everywhere, equals share the keys, and a server that goes moves only its own"
  })
}).mapFields(Struct.map(Schema.optionalKey))
export type ServiceQuery = typeof ServiceQuery.Type

/** What the parameters mean: of a number, the text that carries it would tell no more than a pattern. */
const meanings = new Map(Object.entries(Schema.toJsonSchemaDocument(ServiceQuery).schema.properties ?? {}))

const health = HttpApiGroup.make("health", { topLevel: true })
  .annotate(OpenApi.Description, "Whether the process lives, and whether it can do its work")
  .add(
    HttpApiEndpoint.get("healthz", "/healthz", { success: Health }).annotate(
      OpenApi.Summary,
      "Liveness: the process answers; it touches nothing"
    ),
    HttpApiEndpoint.get("readyz", "/readyz", {
      success: [Readiness, Readiness.pipe(HttpApiSchema.status(503))]
    }).annotate(OpenApi.Summary, "Readiness: 200 when every check passes, 503 otherwise")
  )

const services = HttpApiGroup.make("services")
  .annotate(OpenApi.Description, "The servers of the network, as this server knows them")
  .add(
    HttpApiEndpoint.get("list", "/services", { query: ServiceQuery, success: ServiceList })
      .annotate(OpenApi.Summary, "The available servers, highest uptime score first, then by peer ID")
      .annotate(HttpApi.QueryParseOptions, { onExcessProperty: "error", errors: "all" })
      .annotate(OpenApi.Transform, (operation) => ({
        ...operation,
        parameters: operation.parameters.map((parameter: { readonly name: string }) => ({
          ...parameter,
          schema: meanings.get(parameter.name)
        }))
      })),
    HttpApiEndpoint.get("watch", "/services/watch", {
      headers: {
        "last-event-id": Schema.optionalKey(
          Schema.String.check(Schema.isMaxLength(64)).annotate({
            description: "The id of the last event that was read"
          })
        )
      },
      success: HttpApiSchema.StreamSse({ events: WatchEvent }),
      error: TooManyWatchers
    })
      .annotate(OpenApi.Summary, "Server-sent events: the list as it is, then every change")
      .annotate(
        OpenApi.Description,
        "Resumable by Last-Event-ID while the change is remembered, else a fresh snapshot. A comment every 15 seconds. A client that falls too far behind is disconnected."
      ),
    HttpApiEndpoint.get("find", "/services/:peerId", {
      params: {
        peerId: Schema.String.annotate({ description: "The peer ID, in base58 (12D3KooW…) or as CIDv1 (bafz…)" })
      },
      success: ServiceDetail,
      error: NeverHeard
    }).annotate(OpenApi.Summary, "Whether a server is listed, and if not, why not and since when")
  )

const self = HttpApiGroup.make("self", { topLevel: true })
  .annotate(OpenApi.Description, "This server about itself")
  .add(
    HttpApiEndpoint.get("self", "/self", { success: SelfView }).annotate(
      OpenApi.Summary,
      "What this server announces, its self-checks, its neighbours, its clock"
    )
  )

const refusals = HttpApiGroup.make("refusals", { topLevel: true })
  .annotate(OpenApi.Description, "The messages that did not count")
  .add(
    HttpApiEndpoint.get("refusals", "/refusals", { success: RefusalList }).annotate(
      OpenApi.Summary,
      "Which messages did not count since this server started, whose they were, and why"
    )
  )

export class OpsApi extends HttpApi.make("ops")
  .add(health, services, self, refusals)
  .middleware(Problems)
  .annotate(OpenApi.Title, "Ricochet service discovery")
  .annotate(OpenApi.Version, "1")
  .annotate(OpenApi.Description, "Read only. Errors are problem details (RFC 9457).")
  .annotate(HttpApi.HeadersParseOptions, {}) {}
