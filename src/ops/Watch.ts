/**
 * The list as it changes, for many readers at once (`/services/watch`). One fiber follows the registry; the last
 * changes are kept once for all, and a reader is no more than a place among them. It queues nothing for anyone: who
 * falls behind all that is kept is cut off, and may come back for a fresh snapshot.
 */
import {
  Clock,
  Context,
  Deferred,
  Effect,
  Exit,
  Latch,
  Layer,
  Option,
  Queue,
  Schedule,
  type Scope,
  Stream
} from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { stringify } from "../logging/InertText.ts"
import type { Known } from "../registry/Known.ts"
import { type Change, Registry } from "../registry/Registry.ts"
import { TooManyWatchers } from "./Problem.ts"
import { render } from "./ServiceRendering.ts"
import { type Moment, Surroundings } from "./Surroundings.ts"

/** Streams open at the same time at most. */
export const maxWatchers = 256
/** Changes kept for a reader that comes back or falls behind. */
export const keptChanges = 1_024
/** A reader hears at least a comment this often. */
export const beat = "15 seconds"
/** Entries or changes in one piece of the stream: all that a reader which stalls can hold on to. */
const pieceLength = 64

interface Kept {
  readonly change: Change
  /** The event as it is sent, made for the first reader that needs it. */
  text: string | undefined
}

/** Where a reader is: inside a snapshot, or after the change of that id. */
type Place =
  | { readonly in: "snapshot"; readonly id: number; readonly entries: ReadonlyArray<Known>; readonly next: number }
  | { readonly in: "changes"; readonly id: number }

const greeting = ": changes follow\n\n"
const comment = ": beat\n\n"

const renderChange = (change: Change, epoch: string, at: Moment): string => {
  const service = change.entry && render(change.entry, at)?.text
  const data = `{"server_id":${stringify(change.serverId)},"cause":"${change.cause}","service":${service ?? "null"}}`
  return `id: ${epoch}-${change.id}\nevent: change\ndata: ${data}\n\n`
}

const piece = (text: string): Uint8Array => new TextEncoder().encode(text)

export class Watch extends Context.Service<
  Watch,
  {
    /**
     * Server-sent events: what was missed since the event of that id while it is remembered, else a snapshot; then
     * every change. Fails with TooManyWatchers when 256 streams are open. The scope is the reader's.
     */
    open(lastEventId: string | undefined): Effect.Effect<Stream.Stream<Uint8Array>, TooManyWatchers, Scope.Scope>
    /** Streams open now. */
    readonly watchers: Effect.Effect<number>
    /** Ends every stream, and every one that is opened later: the server is leaving. */
    readonly end: Effect.Effect<void>
  }
>()("ricochet-discovery/ops/Watch") {
  static readonly layer: Layer.Layer<Watch, never, Registry | Surroundings> = Layer.effect(
    Watch,
    Effect.gen(function* () {
      const registry = yield* Registry
      const surroundings = yield* Surroundings
      /** Event ids of another run of this server are told apart by when that run started. */
      const epoch = (yield* Clock.currentTimeMillis).toString(36)

      const entries = new Map<PeerId, Known>()
      const kept: Array<Kept | undefined> = Array.from({ length: keptChanges })
      let lastId = 0
      let watchers = 0
      let ended = false
      let news = Deferred.makeUnsafe<void>()
      const following = yield* Latch.make(false)

      const tell = () => {
        const told = news
        news = Deferred.makeUnsafe<void>()
        Deferred.doneUnsafe(told, Exit.void)
      }
      const keptOf = (id: number): Kept | undefined => {
        const found = kept[id % keptChanges]
        return found?.change.id === id ? found : undefined
      }
      const keep = (change: Change) => {
        if (change.entry === undefined) entries.delete(change.serverId)
        else entries.set(change.serverId, change.entry)
        kept[change.id % keptChanges] = { change, text: undefined }
        lastId = change.id
      }

      const follow = Effect.gen(function* () {
        const current = yield* registry.subscribe
        entries.clear()
        for (const entry of current.entries) entries.set(entry.serverId, entry)
        lastId = current.lastId
        // What is kept has no gaps: a reader from before this goes on from a fresh snapshot.
        kept.fill(undefined)
        tell()
        yield* following.open
        while (true) {
          for (const change of yield* Queue.takeAll(current.changes)) keep(change)
          tell()
        }
      })
      yield* Effect.scoped(follow).pipe(
        Effect.catchCause((cause) => Effect.logWarning("watch lost its place in the registry, starts anew", cause)),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.forkScoped
      )

      /** The place after the last event a reader saw, if every change since is still kept. */
      const resume = (lastEventId: string): Place | undefined => {
        const match = /^([0-9a-z]+)-(\d{1,15})$/.exec(lastEventId)
        const id = Number(match?.[2])
        if (match?.[1] !== epoch || id > lastId) return undefined
        return id === lastId || keptOf(id + 1) !== undefined ? { in: "changes", id } : undefined
      }

      const snapshotPiece = (place: Place & { in: "snapshot" }, at: Moment): readonly [Uint8Array, Place] => {
        const end = Math.min(place.next + pieceLength, place.entries.length)
        const texts = place.entries.slice(place.next, end).map((entry) => render(entry, at)?.text ?? "")
        const first = place.next === 0 ? `id: ${epoch}-${place.id}\nevent: snapshot\ndata: {"services":[` : ","
        const isLast = end === place.entries.length
        const text = `${first}${texts.join(",")}${isLast ? "]}\n\n" : ""}`
        return [piece(text), isLast ? { in: "changes", id: place.id } : { ...place, next: end }]
      }

      const changesPiece = (from: number, at: Moment): readonly [Uint8Array, Place] | undefined => {
        const to = Math.min(from + pieceLength, lastId)
        let text = ""
        for (let id = from + 1; id <= to; id++) {
          const found = keptOf(id)
          if (found === undefined) return undefined
          found.text ??= renderChange(found.change, epoch, at)
          text += found.text
        }
        return [piece(text), { in: "changes", id: to }]
      }

      const step = Effect.fnUntraced(function* (place: Place) {
        if (ended) return undefined
        if (place.in === "snapshot") return snapshotPiece(place, yield* surroundings.read)
        if (place.id === lastId) {
          const waited = yield* Deferred.await(news).pipe(Effect.timeoutOption(beat))
          if (ended) return undefined
          if (Option.isNone(waited) || place.id === lastId) return [piece(comment), place] as const
        }
        return changesPiece(place.id, yield* surroundings.read)
      })

      const enter = Effect.suspend(() => {
        if (watchers >= maxWatchers) {
          return Effect.fail(
            new TooManyWatchers({ detail: `${maxWatchers} watch streams are open, which is all there are` })
          )
        }
        watchers += 1
        return Effect.void
      })

      return Watch.of({
        open: Effect.fnUntraced(function* (lastEventId) {
          yield* Effect.acquireRelease(enter, () =>
            Effect.sync(() => {
              watchers -= 1
            })
          )
          yield* following.await
          const resumed = lastEventId === undefined ? undefined : resume(lastEventId)
          if (resumed !== undefined) return Stream.concat(Stream.make(piece(greeting)), Stream.unfold(resumed, step))
          const announced = [...entries.values()].filter((entry) => entry.announcement !== undefined)
          const start: Place = { in: "snapshot", id: lastId, entries: announced, next: 0 }
          return Stream.unfold(start, step)
        }),
        watchers: Effect.sync(() => watchers),
        end: Effect.sync(() => {
          ended = true
          tell()
        })
      })
    })
  )
}
