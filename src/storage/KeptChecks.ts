/** The last 288 self-checks, as they are kept across restarts (R14). What they score is not computed here. */
import { Context, type Effect } from "effect"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlError } from "effect/sql/SqlError"
import type { SelfCheckRecord } from "../health/SelfCheck.ts"

/** Where this server's last self-checks are kept across restarts (R14). */
export class KeptChecks extends Context.Service<
  KeptChecks,
  {
    /** The last 288, oldest first. Rows that cannot be read are left out. */
    readonly load: Effect.Effect<ReadonlyArray<SelfCheckRecord>, SqlError | MigrationError>
    /** Keeps these beside the others, and forgets all but the last 288. */
    write(checks: ReadonlyArray<SelfCheckRecord>): Effect.Effect<void, SqlError | MigrationError>
  }
>()("ricochet-discovery/storage/KeptChecks") {}
