/**
 * The program as a process: signals, the bound on a stop, what nobody caught, and exit codes (R13, R23). It knows
 * nothing of servers.
 *
 * Exit codes: 0 clean stop, 1 failure while running, 2 bad usage, 3 an answer that is no (not listed, not ready, not
 * well), 69 a port or the data directory is unavailable, 78 bad configuration or identity, 130 and 143 forced by a
 * second signal.
 */
import { Cause, Duration, Effect, Exit, Fiber, Option, Schema } from "effect"
import { CliError } from "effect/cli"
import { causeText, textOf } from "../logging/FactText.ts"
import { inert } from "../logging/InertText.ts"
import { orAbandon } from "../time/Bounded.ts"

/** Something was thrown where nobody catches: a bug. */
export class UnhandledFailure extends Schema.TaggedError<UnhandledFailure>()("UnhandledFailure", {
  cause: Schema.Defect()
}) {
  readonly exitCode = 1
  override get message() {
    return `stopped after an unhandled failure: ${causeText(Cause.die(this.cause))}`
  }
}

const unhandled: Effect.Effect<never, UnhandledFailure> = Effect.callback((resume) => {
  const fail = (cause: unknown) => resume(Effect.fail(new UnhandledFailure({ cause })))
  process.on("uncaughtException", fail).on("unhandledRejection", fail)
  return Effect.sync(() => process.off("uncaughtException", fail).off("unhandledRejection", fail))
})

/**
 * Runs a program whose stop may take no longer than `bound`: when that has passed, the process ends with exit code 1,
 * whatever still hangs. A failure that nobody caught stops it too.
 */
export const supervised =
  (bound: Duration.Duration) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E | UnhandledFailure, R> =>
    Effect.acquireUseRelease(
      Effect.forkDetach(program),
      (fiber) => Effect.raceFirst(Fiber.join(fiber), unhandled),
      (fiber, exit) =>
        Effect.gen(function* () {
          // A failure that says what to do about it is told once, at the end; of a bug the log has to know too.
          if (Exit.isFailure(exit) && isBug(exit.cause)) yield* Effect.logFatal("server failed", exit.cause)
          if (fiber.pollUnsafe() !== undefined) return
          const end = yield* orAbandon(Fiber.interrupt(fiber), bound)
          if (Option.isSome(end)) return yield* Effect.logInfo("server stopped")
          yield* Effect.logError("stop took too long and was cut off").pipe(
            Effect.annotateLogs({ shutdown_timeout: Duration.format(bound) })
          )
          process.exit(1)
        })
    )

const isBug = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some(Cause.isDieReason) || Cause.squash(cause) instanceof UnhandledFailure

/** The answer was printed, and it is no: not listed, not ready, not well. Nothing more is said. Exit code 3. */
export class AnswerIsNo extends Schema.TaggedError<AnswerIsNo>()("AnswerIsNo", {}) {
  readonly exitCode = 3
}

/** What the process says and returns at its end. */
const conclude = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return 0
  const error = Cause.squash(exit.cause)
  // The command line has told its own errors already, where they happened.
  if (CliError.isCliError(error)) return 2
  if (error instanceof AnswerIsNo) return error.exitCode
  const text = exit.cause.reasons.some(Cause.isDieReason) ? causeText(exit.cause) : textOf(error)
  process.stderr.write(
    `ricochet: ${text
      .split("\n")
      .map((line) => inert(line, 1_000))
      .join("\n")}\n`
  )
  const code = typeof error === "object" && error !== null && "exitCode" in error ? error.exitCode : undefined
  return typeof code === "number" ? code : 1
}

/** Ends when whoever read standard output has gone. For a program that does nothing but write to it. */
export const outputClosed: Effect.Effect<void> = Effect.callback((resume) => {
  const close = (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") resume(Effect.void)
  }
  process.stdout.on("error", close)
  return Effect.sync(() => process.stdout.off("error", close))
})

/** A terminal sends Ctrl-C to all its processes, and npm hands it on once more: both are one. */
const isEcho = (sinceFirstMillis: number) => process.stdin.isTTY === true && sinceFirstMillis < 100

/** The exit codes of a process that a second signal ends at once. */
const forced = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/**
 * Runs the program as what this process is for. The first SIGINT or SIGTERM interrupts it, and so does the SIGHUP of a
 * terminal that is closed; the second ends it at once.
 */
export const run = (program: Effect.Effect<unknown, unknown>): void => {
  const fiber = Effect.runFork(program)
  // Node ends when nothing is left to wait for, but a program that hangs must not look like one that is done.
  Effect.runFork(Effect.forever(Effect.sleep(Duration.hours(1))))
  fiber.addObserver((exit) => process.exit(conclude(exit)))

  let firstAt: number | undefined
  const onSignal = (signal: keyof typeof forced) => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      fiber.interruptUnsafe()
    } else if (!isEcho(performance.now() - firstAt)) process.exit(forced[signal])
  }
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal).on("SIGHUP", onSignal)

  // Whoever read the output has gone; what is left to do does not depend on that.
  for (const output of [process.stdout, process.stderr]) {
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
    })
  }
}
