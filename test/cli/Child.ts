/** A process of ours, started to be watched. */
import { spawn } from "node:child_process"
import { once } from "node:events"

export interface Ended {
  /** The exit code, or the name of the signal that ended it. */
  readonly code: number | string | null
  readonly stdout: string
  readonly stderr: string
}

/** For a test that starts processes: they take their time on a busy machine. */
export const slow = { timeout: 60_000 }

const here = (path: string) => new URL(path, import.meta.url).pathname

export const program = here("./Program.ts")

/** Only what the process needs, so that no variable of the machine counts. */
const environment = (extra: Readonly<Record<string, string>>) => ({
  PATH: process.env.PATH ?? "",
  RICOCHET_DEFAULT_CONFIG: "/nonexistent/config.yaml",
  ...extra
})

/** Runs a script to its end; `onOutput` may act when it sees what it waited for. */
export const run = async (
  script: string,
  args: ReadonlyArray<string>,
  options: {
    readonly environment?: Readonly<Record<string, string>>
    readonly onOutput?: (stdout: string, kill: (signal: NodeJS.Signals) => void) => void
  } = {}
): Promise<Ended> => {
  const child = spawn(process.execPath, [script, ...args], {
    env: environment(options.environment ?? {}),
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    options.onOutput?.(stdout, (signal) => child.kill(signal))
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const [code, signal] = await once(child, "close")
  return { code: code ?? signal, stdout, stderr }
}
