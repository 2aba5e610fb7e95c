/** KeptChecks in a table of the database. */
import { PgTypes } from "@effect/sql-pg"
import { Effect, Layer, Option, Schema } from "effect"
import { Gossip } from "../gossip/Gossip.ts"
import type { SelfCheckRecord } from "../health/SelfCheck.ts"
import { windowLength } from "../health/UptimeScore.ts"
import { KeptChecks } from "./KeptChecks.ts"
import { Tables } from "./Migrations.ts"

const Row = Schema.Struct({
  started_millis: Schema.Finite,
  duration_millis: Schema.Finite,
  ok: Schema.Boolean,
  error_class: Schema.NullOr(Schema.String)
})

const decodeRow = Schema.decodeUnknownOption(Row)

const checkOf = (row: typeof Row.Type): SelfCheckRecord => ({
  startedWallMillis: row.started_millis,
  durationMillis: row.duration_millis,
  ok: row.ok,
  errorClass: row.error_class ?? undefined
})

/** An application's own check may say anything of its failure; PostgreSQL's text holds no NUL (I08). */
const textOf = (errorClass: string | undefined) => errorClass?.replaceAll("\0", "\uFFFD") ?? null

export const layer: Layer.Layer<KeptChecks, never, Tables | Gossip> = Layer.effect(
  KeptChecks,
  Effect.gen(function* () {
    const tables = yield* Tables
    const { self: owner } = yield* Gossip

    const load = Effect.gen(function* () {
      const sql = yield* tables.sql
      const rows = yield* sql`
        SELECT started_millis, duration_millis, ok, error_class FROM discovery_checks
        WHERE owner = ${owner} ORDER BY started_millis DESC LIMIT ${windowLength}`
      return rows.flatMap((row) => Option.toArray(Option.map(decodeRow(row), checkOf))).reverse()
    }).pipe(Effect.withSpan("KeptChecks.load"))

    const write = Effect.fn("KeptChecks.write")(
      function* (checks: ReadonlyArray<SelfCheckRecord>) {
        const rows = checks.map((check) => ({
          owner,
          started_millis: PgTypes.float8(check.startedWallMillis),
          duration_millis: PgTypes.float8(check.durationMillis),
          ok: check.ok,
          error_class: textOf(check.errorClass)
        }))
        const [first, ...others] = rows
        if (first === undefined) return
        const sql = yield* tables.sql
        yield* sql`INSERT INTO discovery_checks ${sql.insert([first, ...others])} ON CONFLICT DO NOTHING`
        yield* sql`
        DELETE FROM discovery_checks WHERE owner = ${owner} AND started_millis < (
          SELECT min(started_millis) FROM (
            SELECT started_millis FROM discovery_checks
            WHERE owner = ${owner} ORDER BY started_millis DESC LIMIT ${windowLength}
          ) AS last_checks
        )`
      },
      Effect.tapError(() => tables.doubt)
    )

    return { load, write }
  })
)
