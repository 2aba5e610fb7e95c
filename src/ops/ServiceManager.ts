/**
 * Tells the service manager that started this process (systemd, with `Type=notify`) when the server is up, how it is,
 * and when it stops. Where none asked for it, by `NOTIFY_SOCKET`, nothing is done. Whatever goes wrong here is told in
 * one line of the log and is no failure of the server.
 *
 * Node has no Unix datagram sockets, so systemd's own `systemd-notify` says it, which every machine with systemd has.
 */
import { execFile } from "node:child_process"
import { Config, Effect, Layer, Option, Queue, Schema } from "effect"
import { Gossip } from "../gossip/Gossip.ts"
import { SelfCheck } from "../health/SelfCheck.ts"
import { inert } from "../logging/InertText.ts"
import { OpsServer } from "./OpsServer.ts"

/** What systemd-notify said of why it could not. */
class Untold extends Schema.TaggedError<Untold>()("Untold", { cause: Schema.Defect() }) {}

/** An empty variable is unset. */
const notifySocket = Config.String("NOTIFY_SOCKET").pipe(
  Config.option,
  Config.map(Option.filter((text) => text !== ""))
)

/** systemd-notify waits until its words have been read. */
const longestTellingMillis = 5_000

const longestStatusText = 200

/** Variables to be told, such as `READY=1`. An unbroken line each, or one could pass for two. */
const tell = (socket: string, ...variables: ReadonlyArray<string>) =>
  Effect.callback<void, Untold>((resume) => {
    const words = variables.map((variable) => inert(variable, longestStatusText))
    const options = { env: { ...process.env, NOTIFY_SOCKET: socket }, timeout: longestTellingMillis }
    execFile("systemd-notify", words, options, (cause) =>
      resume(cause === null ? Effect.void : new Untold({ cause }))
    ).unref()
  })

const telling = Effect.fnUntraced(function* (socket: string) {
  const { self } = yield* Gossip
  const { url } = yield* OpsServer
  const selfCheck = yield* SelfCheck
  const up = `announced as ${self}${url === undefined ? "" : `, ops at ${url}`}`
  const statusOf = (failure: string | undefined) =>
    `STATUS=${failure === undefined ? up : `self-check failed (${failure}); ${up}`}`

  // Stays behind when the process ends: nobody waits for it at the stop.
  yield* Effect.addFinalizer(() =>
    Effect.forkDetach(tell(socket, "STOPPING=1", "STATUS=stopping"), { startImmediately: true })
  )

  const recorded = yield* selfCheck.recorded
  yield* Effect.gen(function* () {
    let told = Option.getOrUndefined(yield* selfCheck.latest)?.record.errorClass
    yield* tell(socket, "READY=1", statusOf(told))
    while (true) {
      const { errorClass } = yield* Queue.take(recorded)
      if (errorClass === told) continue
      told = errorClass
      yield* tell(socket, statusOf(told))
    }
  }).pipe(
    Effect.catchTag("Untold", ({ cause }) =>
      Effect.logWarning("the service manager cannot be told how this server is").pipe(
        Effect.annotateLogs({ error: cause instanceof Error ? cause.message : String(cause) })
      )
    ),
    Effect.forkScoped
  )
})

/** On top of a server that is up: telling so is its first act, and telling that it stops is the first of the stop. */
export const layer: Layer.Layer<never, never, Gossip | OpsServer | SelfCheck> = Layer.effectDiscard(
  Effect.flatMap(Effect.orDie(notifySocket), (socket) => (Option.isNone(socket) ? Effect.void : telling(socket.value)))
)
