/** The rooms behind the HTTP API, as a test tells them to be. */
import { Cause, Effect, Layer, Option, Queue } from "effect"
import { Settings, type SettingsShape } from "../../src/config/Settings.ts"
import { type DirectoryCounts, DirectorySync } from "../../src/directory/DirectorySync.ts"
import { Connectivity, type ConnectivityStatus } from "../../src/gossip/Connectivity.ts"
import { type Connection, Gossip } from "../../src/gossip/Gossip.ts"
import type { Topic } from "../../src/gossip/Topic.ts"
import { Readiness, type ReadinessReport } from "../../src/health/Readiness.ts"
import { SelfCheck, type SelfCheckRecord, type SelfCheckReport } from "../../src/health/SelfCheck.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import { Intake } from "../../src/registry/Intake.ts"
import type { Known } from "../../src/registry/Known.ts"
import type { ClockVerdict } from "../../src/registry/OwnClock.ts"
import { type Change, type EvictionRecord, type RefusalRecord, Registry } from "../../src/registry/Registry.ts"
import { type Count, Tally } from "../../src/registry/Tally.ts"
import { Database } from "../../src/storage/Database.ts"
import { WriteBehind, type WriteBehindStatus } from "../../src/storage/WriteBehind.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"

export const self = peerIdOf("self")

const nanos = (millis: number) => BigInt(millis) * 1_000_000n

/** Heard at `heardMillis` on both clocks; a healthy server with a full score unless told otherwise. */
export const known = (
  serverId: PeerId,
  heardMillis: number,
  announcement: Partial<Announcement> = {},
  entry: Partial<Known> = {}
): Known => {
  const heard = { wallMillis: heardMillis, steadyMillis: heardMillis }
  const message: Announcement = {
    serverId,
    capabilities: ["store-and-forward"],
    maxStorage: "10GB",
    retentionPolicy: "720h0m0s",
    region: "default",
    regions: ["default"],
    uptimeScore: 1,
    healthy: true,
    timestamp: nanos(heardMillis),
    port: 55223,
    ...announcement
  }
  return {
    serverId,
    announcement: { message, signed: new Uint8Array() },
    heartbeat: undefined,
    firstHeard: heard,
    lastHeard: heard,
    skewMillis: 0,
    verdictSince: heard,
    verdictChanges: 0,
    saidGoodbye: false,
    beatMillis: undefined,
    restored: false,
    recent: [{ wallMillis: heardMillis, healthy: message.healthy }],
    ...entry
  }
}

/** What the rooms say; a test changes it while the API runs. */
export interface World {
  readonly entries: Map<PeerId, Known>
  readonly refusals: Map<PeerId, RefusalRecord>
  readonly evictions: Map<PeerId, EvictionRecord>
  connections: ReadonlyArray<Connection>
  addressBook: ReadonlyMap<PeerId, ReadonlyArray<string>>
  topicPeers: Readonly<Record<Topic, ReadonlyArray<PeerId>>>
  readiness: Effect.Effect<ReadinessReport>
  checks: ReadonlyArray<SelfCheckRecord>
  clock: ClockVerdict
  messages: ReadonlyArray<Count>
  database: WriteBehindStatus
  directory: DirectoryCounts
  connectivity: ConnectivityStatus
  readonly records: Set<Queue.Queue<SelfCheckRecord>>
  readonly readers: Set<Queue.Queue<Change, "too-slow">>
  lastId: number
  /** Changes an entry, or takes it away, and tells those who follow. */
  change(serverId: PeerId, entry: Known | undefined, cause: Change["cause"]): void
  /** Tells those who follow of a self-check. */
  check(record: SelfCheckRecord): void
  /** Fails those who follow, as a registry does to a reader that is too slow. */
  loseReaders(): void
}

export const ready: ReadinessReport = {
  ready: true,
  checks: { postgres: { ok: true } },
  failures: [],
  durationMillis: 1
}

export const world = (entries: ReadonlyArray<Known> = []): World => {
  const made: World = {
    entries: new Map(entries.map((entry) => [entry.serverId, entry])),
    refusals: new Map(),
    evictions: new Map(),
    connections: [],
    addressBook: new Map(),
    topicPeers: { "/sf-network/services/announce": [], "/sf-network/services/heartbeat": [] },
    readiness: Effect.succeed(ready),
    checks: [],
    clock: { state: "unknown", byMillis: 0, disagreeing: 0, heard: 0 },
    connectivity: { topicPeers: 0, aloneSinceMillis: 0, bootstrap: [] },
    messages: [],
    database: { writes: 0, failures: 0, pending: 0, dropped: 0, lagMillis: 0 },
    directory: { asked: 0, failed: 0, messages: 0, bytes: 0, accepted: 0, known: 0, refused: 0 },
    records: new Set(),
    readers: new Set(),
    lastId: 0,
    change: (serverId, entry, cause) => {
      made.lastId += 1
      if (entry === undefined) made.entries.delete(serverId)
      else made.entries.set(serverId, entry)
      for (const reader of made.readers) Queue.offerUnsafe(reader, { id: made.lastId, serverId, entry, cause })
    },
    check: (record) => {
      made.checks = [...made.checks, record]
      for (const reader of made.records) Queue.offerUnsafe(reader, record)
    },
    loseReaders: () => {
      for (const reader of made.readers) Queue.failCauseUnsafe(reader, Cause.fail("too-slow"))
      made.readers.clear()
    }
  }
  return made
}

const registryOf = (from: World) => {
  // The same list until something changes, as a registry has it.
  let listed = { id: -1, entries: [] as ReadonlyArray<Known> }
  return Layer.mock(Registry, {
    entries: Effect.sync(() => {
      if (listed.id !== from.lastId) listed = { id: from.lastId, entries: [...from.entries.values()] }
      return listed.entries
    }),
    find: (server) => Effect.sync(() => Option.fromUndefinedOr(from.entries.get(server))),
    refusalOf: (server) => Effect.sync(() => Option.fromUndefinedOr(from.refusals.get(server))),
    latestRefusals: (limit) =>
      Effect.sync(() => [...from.refusals].map(([signer, record]) => ({ signer, ...record })).slice(0, limit)),
    evictionOf: (server) => Effect.sync(() => Option.fromUndefinedOr(from.evictions.get(server))),
    subscribe: Effect.gen(function* () {
      const changes = yield* Queue.unbounded<Change, "too-slow">()
      from.readers.add(changes)
      yield* Effect.addFinalizer(() => Effect.sync(() => from.readers.delete(changes)))
      return { lastId: from.lastId, entries: [...from.entries.values()], changes }
    })
  })
}

const selfCheckOf = (from: World) =>
  Layer.mock(SelfCheck, {
    latest: Effect.sync((): Option.Option<SelfCheckReport> => {
      const record = from.checks.at(-1)
      return record === undefined ? Option.none() : Option.some({ healthy: record.ok, record, readiness: ready })
    }),
    score: Effect.sync(() => ({
      score: from.checks.length === 0 ? 0 : from.checks.filter(({ ok }) => ok).length / from.checks.length,
      checks: from.checks.length
    })),
    history: Effect.sync(() => from.checks),
    recorded: Effect.tap(Queue.unbounded<SelfCheckRecord>(), (reader) => Effect.sync(() => from.records.add(reader)))
  })

export const settings = (ops: Partial<SettingsShape["ops"]> = {}): SettingsShape => {
  const defaults = VirtualSettings.make({ region: "eu-west" })
  return { ...defaults, ops: { ...defaults.ops, enabled: true, port: 0, ...ops } }
}

/** All rooms that the API asks. */
export const layer = (from: World, configured: SettingsShape = settings()) =>
  Layer.mergeAll(
    registryOf(from),
    selfCheckOf(from),
    Layer.mock(Connectivity, { status: Effect.sync(() => from.connectivity) }),
    Layer.mock(Intake, { ownClock: Effect.sync(() => from.clock) }),
    Layer.mock(Readiness, { report: () => Effect.suspend(() => from.readiness) }),
    Layer.mock(Gossip, {
      self,
      addresses: Effect.succeed([`/ip4/127.0.0.1/tcp/55223/p2p/${self}`]),
      connections: Effect.sync(() => from.connections),
      addressBook: Effect.sync(() => from.addressBook),
      topicPeers: (topic) => Effect.sync(() => from.topicPeers[topic])
    }),
    Layer.mock(Tally, { read: Effect.sync(() => from.messages) }),
    Layer.mock(WriteBehind, { status: Effect.sync(() => from.database) }),
    Layer.mock(DirectorySync, { counts: Effect.sync(() => from.directory) }),
    Layer.mock(Database, { kind: "embedded", location: "memory" }),
    Layer.succeed(Settings, Settings.of(configured))
  )
