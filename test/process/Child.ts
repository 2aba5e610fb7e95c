/**
 * A child process of a test: its lines as they come, what it is sent, and its end, which comes with the scope's at the
 * latest. It knows nothing of what runs in it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { Deferred, Duration, Effect, Schema, type Scope } from "effect"

/** What a test waited for did not come about in time. The message carries the last lines of the process. */
export class NotSeen extends Schema.TaggedError<NotSeen>()("NotSeen", {
  expected: Schema.String,
  outcome: Schema.String,
  output: Schema.Array(Schema.String)
}) {
  override get message() {
    return [`${this.expected}: ${this.outcome}`, ...this.output.slice(-40)].join("\n  | ")
  }
}

/** How a process ended: `code`, or the `signal` that ended it. */
export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Child {
  readonly pid: number
  readonly stdout: ReadonlyArray<string>
  readonly stderr: ReadonlyArray<string>
  /** Makes something of the first line that `pick` can, of stdout and stderr, past lines first. */
  readonly line: <A>(
    expected: string,
    pick: (line: string) => A | undefined,
    within?: Duration.Input
  ) => Effect.Effect<A, NotSeen>
  readonly write: (line: string) => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  readonly ending: Effect.Effect<Ending>
}

export interface ChildOptions {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** How long a test waits for something that takes a moment, when it does not say. */
export const patience = Duration.seconds(20)

/** The test process itself may be told to end before its scopes close; then its children go first. */
const alive = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL")
})

export const start = (options: ChildOptions): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(open(options), ({ process: child, ended }) =>
      Effect.andThen(
        Effect.sync(() => child.kill("SIGKILL")),
        Deferred.await(ended)
      )
    ),
    ({ child }) => child
  )

const open = Effect.fnUntraced(function* ({ args, command, cwd, env }: ChildOptions) {
  const ended = yield* Deferred.make<Ending>()
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] })
  alive.add(child)
  const stdout: Array<string> = []
  const stderr: Array<string> = []
  const everything: Array<string> = []
  const watchers = new Set<() => void>()
  for (const [stream, lines] of [
    [child.stdout, stdout],
    [child.stderr, stderr]
  ] as const) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line)
      everything.push(line)
      for (const watcher of watchers) watcher()
    })
  }
  const end = (ending: Ending, problem?: string) => {
    if (problem !== undefined) everything.push(problem)
    alive.delete(child)
    Deferred.doneUnsafe(ended, Effect.succeed(ending))
    for (const watcher of watchers) watcher()
  }
  child.on("close", (code, signal) => end({ code, signal }))
  child.on("error", (error) => end({ code: null, signal: null }, String(error)))
  // A process that ended does not read its stdin; that is seen by its ending.
  child.stdin.on("error", () => {})

  const line = <A>(expected: string, pick: (line: string) => A | undefined, within: Duration.Input = patience) => {
    const notSeen = (outcome: string) => Effect.fail(new NotSeen({ expected, outcome, output: everything }))
    return Effect.callback<A, NotSeen>((resume) => {
      let read = 0
      const look = () => {
        for (; read < everything.length; read++) {
          const found = pick(everything[read] ?? "")
          if (found === undefined) continue
          watchers.delete(look)
          return resume(Effect.succeed(found))
        }
        if (!alive.has(child)) resume(notSeen("the process ended before"))
      }
      watchers.add(look)
      look()
      return Effect.sync(() => watchers.delete(look))
    }).pipe(
      Effect.timeoutOrElse({
        duration: within,
        orElse: () => notSeen(`not within ${Duration.format(Duration.fromInputUnsafe(within))}`)
      })
    )
  }

  const handle: Child = {
    pid: child.pid ?? 0,
    stdout,
    stderr,
    line,
    write: (text) => Effect.sync(() => void child.stdin.write(`${text}\n`)),
    signal: (signal) => Effect.sync(() => void child.kill(signal)),
    ending: Deferred.await(ended)
  }
  return { child: handle, process: child, ended }
})
