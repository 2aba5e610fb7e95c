/** Small programs for a process of their own: what a server may do while it runs and when it is to stop. */
import { Duration, Effect, Schema } from "effect"
import * as Process from "../../src/cli/Process.ts"
import * as Logging from "../../src/logging/Logging.ts"

class PortTaken extends Schema.TaggedError<PortTaken>()("PortTaken", { port: Schema.Int }) {
  readonly exitCode = 69
  override get message() {
    return `port ${this.port} is taken\u001b[2J`
  }
}

const say = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))

const running = (release: Effect.Effect<unknown>, body: Effect.Effect<unknown, unknown> = Effect.never) =>
  Effect.acquireUseRelease(
    say("ready"),
    () => body,
    () => release
  )

const programs: Readonly<Record<string, Effect.Effect<unknown, unknown>>> = {
  clean: running(say("released")),
  // A release cannot be interrupted, so this one hangs for good.
  hanging: running(Effect.andThen(say("hanging"), Effect.never)),
  taken: Effect.fail(new PortTaken({ port: 55_223 })),
  failing: running(say("released"), Effect.fail(new Error("the disk is full"))),
  bug: running(say("released"), Effect.die(new TypeError("undefined is not a function"))),
  rejection: running(
    say("released"),
    Effect.andThen(
      Effect.sync(() => void Promise.reject(new Error("nobody caught this"))),
      Effect.never
    )
  ),
  exception: running(
    say("released"),
    Effect.andThen(
      Effect.sync(() =>
        queueMicrotask(() => {
          throw new Error("thrown at nobody")
        })
      ),
      Effect.never
    )
  )
}

Process.run(
  (programs[process.argv[2] ?? ""] ?? Effect.die("no such program")).pipe(
    Process.supervised(Duration.millis(300)),
    Effect.provide(Logging.layer({ level: "info", format: "json" }))
  )
)
