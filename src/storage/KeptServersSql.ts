/** KeptServers in a table of the database, a batch a statement. */
import { PgTypes } from "@effect/sql-pg"
import { Effect, Layer, Option, Result, Schema } from "effect"
import { Gossip } from "../gossip/Gossip.ts"
import { type PeerId, PeerIdSchema } from "../identity/PeerId.ts"
import { rememberedTimestamps } from "../registry/Limits.ts"
import { type KeptMessage, type KeptServer, KeptServers, type KeptTimestamps } from "./KeptServers.ts"
import { Tables } from "./Migrations.ts"

const Bytes = Schema.NullOr(Schema.Uint8Array)
/** `numeric` comes as text: nanoseconds fit no number of JavaScript's. */
const Nanos = Schema.NullOr(Schema.BigIntFromString)

const Row = Schema.Struct({
  server_id: PeerIdSchema,
  announcement: Bytes,
  announcement_nanos: Nanos,
  heartbeat: Bytes,
  heartbeat_nanos: Nanos,
  first_heard_millis: Schema.Finite,
  last_heard_millis: Schema.Finite,
  addresses: Schema.NullOr(Schema.String)
})

const EvictedRow = Schema.Struct({
  server_id: PeerIdSchema,
  announcement_nanos: Nanos,
  heartbeat_nanos: Nanos
})

const decodeEvicted = Schema.decodeUnknownOption(EvictedRow)

const decodeRow = Schema.decodeUnknownOption(Row)

/** The bytes are a view of all that the database answered, which would stay in memory with them: so they are copied. */
const messageOf = (signed: Uint8Array | null, timestamp: bigint | null): KeptMessage | undefined =>
  signed === null || timestamp === null ? undefined : { signed: signed.slice(), timestamp }

const serverOf = (row: typeof Row.Type): KeptServer => ({
  serverId: row.server_id,
  announcement: messageOf(row.announcement, row.announcement_nanos),
  heartbeat: messageOf(row.heartbeat, row.heartbeat_nanos),
  firstHeardMillis: row.first_heard_millis,
  lastHeardMillis: row.last_heard_millis,
  addresses: row.addresses?.split("\n") ?? []
})

const timestampsOf = (row: typeof EvictedRow.Type): KeptTimestamps => ({
  serverId: row.server_id,
  announcementTimestamp: row.announcement_nanos ?? undefined,
  heartbeatTimestamp: row.heartbeat_nanos ?? undefined
})

/** A column of a batch. Its type is said, for a column of nothing but nulls has none of its own. */
const column = (values: ReadonlyArray<unknown>, elementOid: number) =>
  Result.getOrThrow(PgTypes.array(values, elementOid))

const { bytea, float8, text } = PgTypes.OID

export const layer: Layer.Layer<KeptServers, never, Tables | Gossip> = Layer.effect(
  KeptServers,
  Effect.gen(function* () {
    const tables = yield* Tables
    const { self: owner } = yield* Gossip

    const load = Effect.fn("KeptServers.load")(function* (sinceMillis: number, most: number) {
      const sql = yield* tables.sql
      const rows = yield* sql`
        SELECT server_id, announcement, announcement_nanos, heartbeat, heartbeat_nanos,
               first_heard_millis, last_heard_millis, addresses
        FROM discovery_servers
        WHERE owner = ${owner} AND last_heard_millis >= ${PgTypes.float8(sinceMillis)} AND NOT evicted
        ORDER BY last_heard_millis DESC LIMIT ${most}`
      // An effect a row, so that 50 000 of them do not hold up the process.
      const servers = yield* Effect.forEach(rows, (row) => Effect.sync(() => decodeRow(row)))
      return servers.flatMap((row) => Option.toArray(Option.map(row, serverOf)))
    })

    const write = Effect.fn("KeptServers.write")(
      function* (servers: ReadonlyArray<KeptServer>) {
        if (servers.length === 0) return
        const sql = yield* tables.sql
        const of = <A>(pick: (server: KeptServer) => A | undefined) => servers.map((server) => pick(server) ?? null)
        yield* sql`
        INSERT INTO discovery_servers AS kept
        SELECT ${owner}::text, server_id, announcement, announcement_nanos::numeric,
               heartbeat, heartbeat_nanos::numeric, first_heard_millis, last_heard_millis, addresses
        FROM unnest(
          ${column(
            of((server) => server.serverId),
            text
          )},
          ${column(
            of((server) => server.announcement?.signed),
            bytea
          )},
          ${column(
            of((server) => server.announcement?.timestamp.toString()),
            text
          )},
          ${column(
            of((server) => server.heartbeat?.signed),
            bytea
          )},
          ${column(
            of((server) => server.heartbeat?.timestamp.toString()),
            text
          )},
          ${column(
            of((server) => server.firstHeardMillis),
            float8
          )},
          ${column(
            of((server) => server.lastHeardMillis),
            float8
          )},
          ${column(
            of(({ addresses }) => (addresses.length === 0 ? undefined : addresses.join("\n"))),
            text
          )}
        ) AS heard (server_id, announcement, announcement_nanos, heartbeat, heartbeat_nanos,
                    first_heard_millis, last_heard_millis, addresses)
        ON CONFLICT (owner, server_id) DO UPDATE SET
          announcement = CASE WHEN kept.announcement_nanos > excluded.announcement_nanos
            THEN kept.announcement ELSE coalesce(excluded.announcement, kept.announcement) END,
          announcement_nanos = greatest(kept.announcement_nanos, excluded.announcement_nanos),
          heartbeat = CASE WHEN kept.heartbeat_nanos > excluded.heartbeat_nanos
            THEN kept.heartbeat ELSE coalesce(excluded.heartbeat, kept.heartbeat) END,
          heartbeat_nanos = greatest(kept.heartbeat_nanos, excluded.heartbeat_nanos),
          first_heard_millis = CASE WHEN kept.evicted THEN excluded.first_heard_millis
            ELSE least(kept.first_heard_millis, excluded.first_heard_millis) END,
          last_heard_millis = excluded.last_heard_millis,
          addresses = coalesce(excluded.addresses, kept.addresses),
          evicted = false
        WHERE excluded.announcement_nanos > kept.announcement_nanos
          OR excluded.heartbeat_nanos > kept.heartbeat_nanos
          OR (excluded.announcement_nanos = kept.announcement_nanos AND excluded.announcement <> kept.announcement)
          OR (excluded.heartbeat_nanos = kept.heartbeat_nanos AND excluded.heartbeat <> kept.heartbeat)
          OR (kept.announcement IS NULL AND excluded.announcement IS NOT NULL)
          OR (kept.heartbeat IS NULL AND excluded.heartbeat IS NOT NULL)`
      },
      Effect.tapError(() => tables.doubt)
    )

    const evict = Effect.fn("KeptServers.evict")(function* (servers: ReadonlyArray<PeerId>) {
      if (servers.length === 0) return
      const sql = yield* tables.sql
      yield* sql`
        UPDATE discovery_servers SET evicted = true
        WHERE owner = ${owner} AND server_id = ANY(${column(servers, text)})`
      yield* sql`
        DELETE FROM discovery_servers
        WHERE owner = ${owner} AND server_id IN (
          SELECT server_id FROM discovery_servers WHERE owner = ${owner} AND evicted
          ORDER BY last_heard_millis DESC OFFSET ${rememberedTimestamps})`
    })

    const loadEvicted = Effect.fn("KeptServers.loadEvicted")(function* (sinceMillis: number) {
      const sql = yield* tables.sql
      const rows = yield* sql`
        SELECT server_id, announcement_nanos, heartbeat_nanos
        FROM discovery_servers
        WHERE owner = ${owner} AND last_heard_millis >= ${PgTypes.float8(sinceMillis)} AND evicted
        ORDER BY last_heard_millis DESC`
      const servers = yield* Effect.forEach(rows, (row) => Effect.sync(() => decodeEvicted(row)))
      return servers.flatMap((row) => Option.toArray(Option.map(row, timestampsOf)))
    })

    const forget = Effect.fn("KeptServers.forget")(function* (servers: ReadonlyArray<PeerId>) {
      if (servers.length === 0) return
      const sql = yield* tables.sql
      yield* sql`
        DELETE FROM discovery_servers
        WHERE owner = ${owner} AND server_id = ANY(${column(servers, text)})`
    })

    const forgetBefore = Effect.fn("KeptServers.forgetBefore")(function* (millis: number) {
      const sql = yield* tables.sql
      yield* sql`
        DELETE FROM discovery_servers
        WHERE owner = ${owner} AND last_heard_millis < ${PgTypes.float8(millis)}`
    })

    return { load, write, evict, loadEvicted, forget, forgetBefore }
  })
)
