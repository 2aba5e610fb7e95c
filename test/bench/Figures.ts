/** Figures of a benchmark: of several runs the median and the range, and on what they were made. */
import { cpus } from "node:os"
import { Clock, Effect } from "effect"

export const print = (line = ""): void => void process.stdout.write(`${line}\n`)

const sorted = (figures: ReadonlyArray<number>) => figures.toSorted((a, b) => a - b)

export const median = (figures: ReadonlyArray<number>): number => {
  const inOrder = sorted(figures)
  const middle = Math.floor(inOrder.length / 2)
  const [upper = Number.NaN, lower = upper] = [inOrder[middle], inOrder[middle - 1]]
  return inOrder.length % 2 === 0 ? (lower + upper) / 2 : upper
}

const shown = (figure: number) =>
  figure >= 100 ? Math.round(figure).toLocaleString("en-US") : figure.toPrecision(3).toString()

/** `12,345 msg/s (11,000 to 13,000)` */
export const summary = (figures: ReadonlyArray<number>, unit: string): string => {
  const inOrder = sorted(figures)
  return `${shown(median(figures))} ${unit} (${shown(inOrder[0] ?? Number.NaN)} to ${shown(inOrder.at(-1) ?? Number.NaN)})`
}

export const machine = (): string =>
  `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}`

const processorTimes = () => {
  let [idle, all] = [0, 0]
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { idle, all }
}

/** Waits until the processors have idled for most of half a second, so that one measurement is not the aftermath of another; 5 seconds at most. */
export const quiet: Effect.Effect<void> = Effect.gen(function* () {
  const start = yield* Clock.currentTimeMillis
  let before = processorTimes()
  do {
    yield* Effect.sleep("500 millis")
    const now = processorTimes()
    if ((now.idle - before.idle) / (now.all - before.all) > 0.7) return
    before = now
  } while ((yield* Clock.currentTimeMillis) - start < 5_000)
})
