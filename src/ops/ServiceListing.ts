/**
 * The body of `/services`, made once for all readers who ask within the same second and between the same changes.
 * Which servers belong in it is Query's.
 */
import { createHash } from "node:crypto"
import { Context, Effect, Layer, Option } from "effect"
import { stringify } from "../logging/InertText.ts"
import type { Known } from "../registry/Known.ts"
import { silentAfterMillis } from "../registry/Limits.ts"
import * as Query from "../registry/Query.ts"
import { Registry } from "../registry/Registry.ts"
import type { Now } from "../time/Now.ts"
import type { ServiceQuery } from "./OpsApi.ts"
import { OwnEntry } from "./OwnEntry.ts"
import { countStates, render } from "./ServiceRendering.ts"
import { type Moment, Surroundings } from "./Surroundings.ts"

export interface Body {
  readonly json: Uint8Array
  /** Weak: it stays while nothing but the ages has changed. */
  readonly etag: string
}

/** Bodies kept for different queries at the same time; whoever asks a great many at once has them made anew. */
const keptBodies = 16

/** Ages are told in whole seconds. */
const secondMillis = 1_000

/** The entries that a query asks for, in order. Pure. */
export const matching = (entries: ReadonlyArray<Known>, query: ServiceQuery, now: Now): ReadonlyArray<Known> => {
  const announced = entries.filter((known) => known.announcement !== undefined)
  const of = {
    true: () => Query.available(entries, now),
    false: () => announced.filter((known) => !Query.isAvailable(known, now)).sort(Query.inOrder),
    all: () => announced.sort(Query.inOrder)
  }
  const found = Query.select(
    of[query.available ?? "true"](),
    {
      capability: query.capability,
      region: query.region,
      minUptime: query.min_uptime,
      maxAgeMillis: query.max_age === undefined ? undefined : query.max_age * 1000
    },
    now
  )
  if (query.pick === undefined) return found.slice(0, query.limit)
  return Option.toArray(Query.pick(found, query.pick))
}

const make = (entries: ReadonlyArray<Known>, query: ServiceQuery, self: string, at: Moment): Body => {
  const rendered = matching(entries, query, at.now).flatMap((known) => render(known, at) ?? [])
  const known = stringify(countStates(entries, at))
  const hash = createHash("sha1").update(self).update(known)
  hash.update(rendered.map(({ substance }) => substance).join())
  const json = `{"self":${self},"known":${known},"services":[${rendered.map(({ text }) => text).join()}]}`
  return { json: new TextEncoder().encode(json), etag: `W/"${hash.digest("base64url")}"` }
}

/** What bodies were made of, and how long it holds: to the end of a second, and no server falls silent before. */
interface Basis {
  readonly entries: ReadonlyArray<Known>
  readonly neighbours: Moment["neighbours"]
  readonly self: string
  readonly fromMillis: number
  readonly untilMillis: number
  readonly bodies: Map<string, Body>
}

const basisOf = (entries: ReadonlyArray<Known>, self: string, { neighbours, now }: Moment): Basis => {
  const fromMillis = now.steadyMillis
  let untilMillis = fromMillis + secondMillis
  for (const { lastHeard } of entries) {
    const silentMillis = lastHeard.steadyMillis + silentAfterMillis
    if (silentMillis >= fromMillis && silentMillis < untilMillis) untilMillis = silentMillis
  }
  return { entries, neighbours, self, fromMillis, untilMillis, bodies: new Map() }
}

const holds = (basis: Basis, entries: ReadonlyArray<Known>, self: string, { neighbours, now }: Moment): boolean =>
  basis.entries === entries &&
  basis.neighbours === neighbours &&
  basis.self === self &&
  now.steadyMillis >= basis.fromMillis &&
  now.steadyMillis <= basis.untilMillis

export class ServiceListing extends Context.Service<
  ServiceListing,
  { list(query: ServiceQuery): Effect.Effect<Body> }
>()("ricochet-discovery/ops/ServiceListing") {
  static readonly layer: Layer.Layer<ServiceListing, never, OwnEntry | Registry | Surroundings> = Layer.effect(
    ServiceListing,
    Effect.gen(function* () {
      const registry = yield* Registry
      const surroundings = yield* Surroundings
      const ownEntry = yield* OwnEntry
      let basis: Basis | undefined

      return ServiceListing.of({
        list: Effect.fnUntraced(function* (query) {
          const self = stringify(yield* ownEntry.read)
          const at = yield* surroundings.read
          const entries = yield* registry.entries
          if (basis === undefined || !holds(basis, entries, self, at)) basis = basisOf(entries, self, at)
          // An age is asked for to the millisecond.
          if (query.max_age !== undefined) return make(entries, query, self, at)
          const key = stringify(query)
          const made = basis.bodies.get(key)
          if (made !== undefined) return made
          const body = make(entries, query, self, at)
          if (basis.bodies.size >= keptBodies) basis.bodies.clear()
          basis.bodies.set(key, body)
          return body
        })
      })
    })
  )
}
