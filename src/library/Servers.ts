/**
 * The registry as an application reads it: the list, one server, why, who takes a piece of work, and every change. It
 * changes nothing in the registry, and knows nothing of how it came to be believed.
 */
import { Context, Deferred, Effect, Layer, Option, Queue, Stream } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { Surroundings } from "../ops/Surroundings.ts"
import type { Known } from "../registry/Known.ts"
import * as Query from "../registry/Query.ts"
import { type Change, Registry } from "../registry/Registry.ts"
import { now } from "../time/Now.ts"
import { type Server, type ServerState, serverOf, type View } from "./Server.ts"

/**
 * What a reader of the list is told. First a snapshot, then every change after exactly that state. A reader that falls
 * 1 024 changes behind is told a snapshot in place of what it missed; it replaces all that came before.
 */
export type ServersEvent =
  | {
      readonly _tag: "Snapshot"
      /** Every server that has announced itself, whatever its state, in the order of the list. */
      readonly servers: ReadonlyArray<Server>
    }
  | {
      readonly _tag: "Changed"
      /** What was heard of it; `silent` when two hours passed in which nothing was, `restored` when it was told of. */
      readonly cause: "announced" | "heartbeat" | "silent" | "restored"
      /** Its state as this reader was told it before; undefined for a server that is new. */
      readonly before: ServerState | undefined
      /** The server as it is now. */
      readonly server: Server
    }
  | {
      readonly _tag: "Gone"
      /** `forgotten` after 24 hours of silence, `evicted` from a full registry. */
      readonly cause: "forgotten" | "evicted"
      readonly serverId: PeerId
    }

/** The other servers, as this one knows them. Its own entry is not among them (R20). */
export class Servers extends Context.Service<
  Servers,
  {
    /**
     * The available servers, highest uptime score first, then by peer ID: healthy at their last word, and heard within
     * two hours. Source: S14, S15, S17.
     */
    list(filter?: Query.Filter): Effect.Effect<ReadonlyArray<Server>>
    /** Every server that has announced itself, available or not, in the same order. */
    readonly known: Effect.Effect<ReadonlyArray<Server>>
    /** One server, available or not; none while it has not announced itself. */
    find(serverId: PeerId): Effect.Effect<Option.Option<Server>>
    /** Why a server is listed or is not, and since when (R21). */
    why(serverId: PeerId): Effect.Effect<Query.Why>
    /**
     * The available server that takes the work named `key`: by weighted rendezvous hashing, so that every server that
     * knows the same others picks the same, each gets its share by its score, and one that comes or goes moves its own
     * share alone. None when no server matches. Source: R20.
     */
    pick(key: string, filter?: Query.Filter): Effect.Effect<Option.Option<Server>>
    /**
     * A snapshot, then every change, each once and in order. Every run of the stream begins anew. It ends when the
     * server stops, and never fails.
     */
    readonly changes: Stream.Stream<ServersEvent>
  }
>()("ricochet-discovery/library/Servers") {
  /** Reads the registry, as long as the layer lives. */
  static readonly layer: Layer.Layer<Servers, never, Registry | Surroundings> = Layer.effect(
    Servers,
    Effect.suspend(() => make)
  )
}

const shown = (entries: ReadonlyArray<Known>, view: View): ReadonlyArray<Server> =>
  entries.flatMap((known) => serverOf(known, view) ?? [])

const one = (entry: Option.Option<Known>, view: View): Option.Option<Server> =>
  Option.flatMap(entry, (known) => Option.fromUndefinedOr(serverOf(known, view)))

/** What one reader was told of each server. */
type Told = Map<PeerId, ServerState>

const snapshotOf = (entries: ReadonlyArray<Known>, told: Told, view: View): ServersEvent => {
  const servers = shown([...entries].sort(Query.inOrder), view)
  for (const { serverId, state } of servers) told.set(serverId, state)
  return { _tag: "Snapshot", servers }
}

/** A change as a reader is told it; nothing of a server that has not announced itself. */
const eventOf = ({ cause, entry, serverId }: Change, told: Told, view: View): ReadonlyArray<ServersEvent> => {
  const before = told.get(serverId)
  if (cause === "forgotten" || cause === "evicted") {
    return told.delete(serverId) ? [{ _tag: "Gone", cause, serverId }] : []
  }
  const server = entry && serverOf(entry, view)
  // Silence may be told twice: a state is as of now, and two hours pass a moment before the registry says so.
  if (server === undefined || (cause === "silent" && before === "silent")) return []
  told.set(serverId, server.state)
  return [{ _tag: "Changed", cause, before, server }]
}

const make = Effect.gen(function* () {
  const registry = yield* Registry
  const surroundings = yield* Surroundings
  const closed = yield* Deferred.make<void>()
  yield* Effect.addFinalizer(() => Deferred.succeed(closed, undefined))

  const available = Effect.fnUntraced(function* (filter: Query.Filter) {
    const view = yield* surroundings.read
    const entries = Query.select(Query.available(yield* registry.entries, view.now), filter, view.now)
    return { entries, view }
  })

  const subscription = Effect.gen(function* () {
    const { changes, entries } = yield* registry.subscribe
    const told: Told = new Map()
    const first = snapshotOf(entries, told, yield* surroundings.read)
    const next = Effect.gen(function* () {
      const taken = yield* Effect.raceFirst(Queue.takeAll(changes), Deferred.await(closed))
      if (taken === undefined) return undefined
      const view = yield* surroundings.read
      return [taken.flatMap((change) => eventOf(change, told, view)), undefined] as const
    })
    return Stream.concat(Stream.make(first), Stream.flattenIterable(Stream.unfold(undefined, () => next)))
  })
  /** Until the reader is too slow. */
  const untilTooSlow = Stream.catch(Stream.unwrap(subscription), () => Stream.empty)
  const untilClosed = Effect.map(Deferred.isDone(closed), (isClosed) =>
    isClosed ? undefined : ([untilTooSlow, undefined] as const)
  )

  return Servers.of({
    list: (filter = {}) => Effect.map(available(filter), ({ entries, view }) => shown(entries, view)),
    known: Effect.gen(function* () {
      return shown([...(yield* registry.entries)].sort(Query.inOrder), yield* surroundings.read)
    }),
    find: Effect.fnUntraced(function* (serverId) {
      return one(yield* registry.find(serverId), yield* surroundings.read)
    }),
    why: Effect.fnUntraced(function* (serverId) {
      const entry = yield* registry.find(serverId)
      const [refusal, eviction] = [yield* registry.refusalOf(serverId), yield* registry.evictionOf(serverId)]
      return Query.why({ entry, refusal, eviction }, yield* now)
    }),
    pick: (key, filter = {}) =>
      Effect.map(available(filter), ({ entries, view }) => one(Query.pick(entries, key), view)),
    changes: Stream.flatten(Stream.unfold(undefined, () => untilClosed))
  })
})
