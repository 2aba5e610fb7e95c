/**
 * The registry, in memory: one row a server, at most so many rows, and the order in which rows go when there are more
 * (R9, R19). It knows when rows end; what is in them it leaves to Judge and Query.
 */
import { Cause, Clock, Effect, Layer, Option, Queue, Result } from "effect"
import { Settings } from "../config/Settings.ts"
import type { PeerId } from "../identity/PeerId.ts"
import { type Now, now } from "../time/Now.ts"
import { Deadlines, type Due } from "./Deadlines.ts"
import { Departed } from "./Departed.ts"
import { Displaceable } from "./Displaceable.ts"
import type { Known } from "./Known.ts"
import { forgottenAfterMillis, refusedSigners, silentAfterMillis, subscriberBacklog } from "./Limits.ts"
import { ageMillis, isSilent } from "./Query.ts"
import { type Refusal, refuse } from "./Refusal.ts"
import {
  type Admission,
  type Change,
  type Decide,
  type RefusalRecord,
  type RefusedSigner,
  Registry
} from "./Registry.ts"

/** A registry as large as the settings say. */
export const layer: Layer.Layer<Registry, never, Settings> = Layer.unwrap(
  Effect.map(Settings, ({ discovery }) => layerBounded(discovery.maxServers))
)

/** A registry of at most so many servers. */
export const layerBounded = (maxServers: number): Layer.Layer<Registry> =>
  Layer.effect(
    Registry,
    Effect.gen(function* () {
      const rows = new Rows(maxServers)
      yield* Effect.forkScoped(sweepForEver(rows))
      return Registry.of({
        admit: (server, decide) => Effect.map(now, (at) => rows.admit(server, decide, at)),
        remember: (server, last) => Effect.map(now, (at) => rows.departed.remember(server, last, at)),
        noteRefusal: (signer, refusal) =>
          Effect.map(Clock.currentTimeMillis, (wallMillis) => rows.noteRefusal(signer, refusal, wallMillis)),
        entries: Effect.sync(() => rows.entries()),
        find: (server) => Effect.sync(() => Option.fromUndefinedOr(rows.find(server))),
        refusalOf: (server) => Effect.sync(() => Option.fromUndefinedOr(rows.refusals.get(server))),
        latestRefusals: (limit) => Effect.sync(() => rows.latestRefusals(limit)),
        evictionOf: (server) => Effect.sync(() => Option.fromUndefinedOr(rows.departed.evictionOf(server))),
        subscribe: Effect.acquireRelease(
          Effect.map(Queue.make<Change, "too-slow">({ capacity: subscriberBacklog, strategy: "dropping" }), (changes) =>
            rows.subscribe(changes)
          ),
          ({ changes }) => Effect.sync(() => rows.unsubscribe(changes))
        )
      })
    })
  )

/** Between two looks at what is due: in milliseconds. A machine that slept is noticed within the longer one. */
const shortestNap = 1_000
const longestNap = 60_000
/** Between two log lines that the registry is full: 1 hour in milliseconds. */
const fullLineMillis = 3_600_000

const sweepForEver = (rows: Rows) =>
  Effect.gen(function* () {
    const at = yield* now
    rows.sweep(at)
    const refused = rows.refusedToTell(at)
    if (refused > 0) {
      yield* Effect.logWarning("registry is full").pipe(Effect.annotateLogs({ max_servers: rows.maxServers, refused }))
    }
    yield* Effect.sleep(Math.min(longestNap, Math.max(shortestNap, rows.nextDue() - at.steadyMillis)))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logError("registry sweep failed", cause).pipe(Effect.andThen(Effect.sleep(longestNap)))
    ),
    Effect.forever
  )

interface Row extends Due {
  known: Known
  /** Whether its silence has been told to the readers. */
  isSilent: boolean
}

/** The rows and all that hangs on them. Every method is one step that nothing comes between. */
class Rows {
  readonly maxServers: number
  readonly departed = new Departed()
  readonly refusals = new Map<PeerId, RefusalRecord>()
  readonly #rows = new Map<PeerId, Row>()
  readonly #deadlines = new Deadlines<Row>()
  readonly #displaceable = new Displaceable()
  readonly #readers = new Set<Queue.Queue<Change, "too-slow">>()
  #entries: ReadonlyArray<Known> | undefined
  #lastId = 0
  #refusedFull = 0
  #fullToldMillis = Number.NEGATIVE_INFINITY

  constructor(maxServers: number) {
    this.maxServers = maxServers
  }

  find(server: PeerId): Known | undefined {
    return this.#rows.get(server)?.known
  }

  entries(): ReadonlyArray<Known> {
    this.#entries ??= Array.from(this.#rows.values(), (row) => row.known)
    return this.#entries
  }

  admit(server: PeerId, decide: Decide, at: Now): Result.Result<Admission, Refusal> {
    const row = this.#rows.get(server)
    const before = row?.known
    const decided = decide(before, this.departed.remembered(server))
    if (Result.isFailure(decided)) return Result.fail(decided.failure)
    const after = decided.success
    if (row === undefined && !this.#makeRoom(after, at)) {
      this.#refusedFull++
      return Result.fail(refuse("full", `the registry holds ${this.maxServers} servers that are known for longer`))
    }
    const kept = row ?? { known: after, isSilent: false, at: 0, place: -1 }
    kept.known = after
    // A deadline only moves away while a server is heard, so it is looked at again when it comes, not at each message.
    if (row === undefined || row.isSilent) {
      kept.isSilent = isSilent(after, at)
      this.#deadlines.schedule(kept, kept.isSilent ? forgottenAt(after) : silentAt(after))
    }
    this.#rows.set(server, kept)
    this.#displaceable.place(after, at)
    this.#tell({ serverId: server, entry: after, cause: causeOf(before, after) })
    return Result.succeed({ before, after })
  }

  /** Tells what fell silent, and forgets what was silent for long. */
  sweep(at: Now): void {
    for (let row = this.#deadlines.first; row !== undefined && row.at <= at.steadyMillis; row = this.#deadlines.first) {
      const { known } = row
      if (ageMillis(known, at) > forgottenAfterMillis) {
        this.#remove(row, "forgotten")
        continue
      }
      const fellSilent = !row.isSilent && isSilent(known, at)
      row.isSilent ||= fellSilent
      this.#deadlines.schedule(row, row.isSilent ? forgottenAt(known) : silentAt(known))
      if (!fellSilent) continue
      this.#displaceable.place(known, at)
      this.#tell({ serverId: known.serverId, entry: known, cause: "silent" })
    }
  }

  /** The steady time at which there is something to sweep; infinite while there is nothing. */
  nextDue(): number {
    return this.#deadlines.first?.at ?? Number.POSITIVE_INFINITY
  }

  /** How many were refused for want of room since it was last told, once an hour; else 0. */
  refusedToTell(at: Now): number {
    if (this.#refusedFull === 0 || at.steadyMillis - this.#fullToldMillis < fullLineMillis) return 0
    const refused = this.#refusedFull
    this.#refusedFull = 0
    this.#fullToldMillis = at.steadyMillis
    return refused
  }

  noteRefusal(signer: PeerId, refusal: Refusal, wallMillis: number): void {
    const count = (this.refusals.get(signer)?.count ?? 0) + 1
    this.refusals.delete(signer)
    this.refusals.set(signer, { reason: refusal.reason, detail: refusal.detail, count, lastWallMillis: wallMillis })
    for (const oldest of this.refusals.keys()) {
      if (this.refusals.size <= refusedSigners) return
      this.refusals.delete(oldest)
    }
  }

  latestRefusals(limit: number): ReadonlyArray<RefusedSigner> {
    const latest = [...this.refusals].slice(-limit).reverse()
    return latest.map(([signer, record]) => ({ signer, ...record }))
  }

  subscribe(changes: Queue.Queue<Change, "too-slow">) {
    this.#readers.add(changes)
    return { lastId: this.#lastId, entries: this.entries(), changes }
  }

  unsubscribe(changes: Queue.Queue<Change, "too-slow">): void {
    this.#readers.delete(changes)
    Queue.shutdownUnsafe(changes)
  }

  #makeRoom(incoming: Known, at: Now): boolean {
    if (this.#rows.size < this.maxServers) return true
    this.sweep(at)
    if (this.#rows.size < this.maxServers) return true
    const displaced = this.#displaceable.first(incoming, at, (server) => this.find(server))
    const row = displaced === undefined ? undefined : this.#rows.get(displaced.server)
    if (displaced === undefined || row === undefined) return false
    this.departed.evicted(row.known, displaced.reason, at)
    this.#remove(row, "evicted")
    return true
  }

  #remove(row: Row, cause: "evicted" | "forgotten"): void {
    const server = row.known.serverId
    this.#rows.delete(server)
    this.#deadlines.remove(row)
    this.#displaceable.drop(server)
    this.#tell({ serverId: server, entry: undefined, cause })
  }

  #tell(news: Omit<Change, "id">): void {
    this.#entries = undefined
    const change = { id: ++this.#lastId, ...news }
    for (const reader of this.#readers) {
      if (Queue.offerUnsafe(reader, change)) continue
      this.#readers.delete(reader)
      Queue.failCauseUnsafe(reader, Cause.fail("too-slow"))
    }
  }
}

// Each a millisecond behind the last moment that still counts, because that moment itself counts (R6).
const silentAt = (known: Known) => known.lastHeard.steadyMillis + silentAfterMillis + 1
const forgottenAt = (known: Known) => known.lastHeard.steadyMillis + forgottenAfterMillis + 1

const causeOf = (before: Known | undefined, after: Known): Change["cause"] => {
  if (after.restored) return "restored"
  return after.announcement === before?.announcement ? "heartbeat" : "announced"
}
