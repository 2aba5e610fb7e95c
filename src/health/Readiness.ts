/**
 * The checks that say whether this server can do its work, and their outcome. The self-check and `/readyz` run the
 * same ones (S9, R16). It knows nothing of beats or scores.
 */
import { Context, type Duration, type Effect, Schema, type Scope } from "effect"
import { textOf } from "../logging/FactText.ts"

/** One check did not pass. `message` is for the log; `outside` is what strangers may read (no host, user or SQL). */
export class CheckFailed extends Schema.TaggedError<CheckFailed>()("CheckFailed", {
  check: Schema.String,
  outside: Schema.String,
  cause: Schema.Defect()
}) {
  override get message() {
    const told = `${this.check}: ${this.outside}`
    return this.cause === undefined ? told : `${told}: ${textOf(this.cause)}`
  }
}

/** How one check went. */
export interface CheckOutcome {
  /** Whether it passed. */
  readonly ok: boolean
  /** What strangers may read of a failure. */
  readonly error?: string
}

/** How all the checks went. */
export interface ReadinessReport {
  /** Whether the server can do its work: every check passed, and it is not leaving. */
  readonly ready: boolean
  /** Why a server whose checks may all pass is not ready. */
  readonly reason?: "draining"
  /** How each check went, by its name. */
  readonly checks: Readonly<Record<string, CheckOutcome>>
  /** The failures with all that the log may say of them. */
  readonly failures: ReadonlyArray<CheckFailed>
  /** How long they took together, in milliseconds. */
  readonly durationMillis: number
}

/** The checks of a server: its own, and those that an application registers. */
export class Readiness extends Context.Service<
  Readiness,
  {
    /** Adds a check until the scope closes. Its name is a key of `checks` in `/readyz`. */
    register(name: string, check: Effect.Effect<void, unknown>): Effect.Effect<void, never, Scope.Scope>
    /**
     * Runs every check once, all at the same time, and answers within `within` whatever they do. A failure, a defect,
     * an interruption and a timeout are failed checks; it never fails itself. Callers at the same time share one run
     * of a check, which is cancelled when it has taken as long as the most patient of them allows.
     */
    report(within: Duration.Duration): Effect.Effect<ReadinessReport>
    /** From now on the report is not ready, whatever the checks say: the server is leaving (R13). */
    readonly drain: Effect.Effect<void>
  }
>()("ricochet-discovery/health/Readiness") {}
