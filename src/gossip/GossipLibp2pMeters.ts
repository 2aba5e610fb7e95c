/**
 * Takes what GossipSub and libp2p measure of themselves into the metrics of this server. Which of it, is
 * GossipLibp2pFamilies' to say; the rest goes nowhere.
 */
import type { MetricsRegister, TopicStrToLabel } from "@libp2p/gossipsub/metrics"
import type { Metrics as Libp2pMetrics } from "@libp2p/interface"
import { type Context, Effect, Metric, Schedule } from "effect"
import { Settings } from "../config/Settings.ts"
import { type Family, gossipSubFamilies, libp2pFamilies } from "./GossipLibp2pFamilies.ts"
import { topics } from "./Topic.ts"

export interface Meters {
  readonly gossipSub: { readonly metricsRegister: MetricsRegister; readonly metricsTopicStrToLabel: TopicStrToLabel }
  readonly libp2p: { readonly metrics: () => Libp2pMetrics }
}

/** How old what has to be asked for may be. */
const collectEvery = "5 seconds"

interface Cell {
  value: number
}

/** The series of a family, by what the library calls them; without a label there is one. */
interface Cells {
  readonly at: (said: string | undefined) => Cell | undefined
  readonly all: ReadonlyArray<Cell>
}

const nothing: Cells = { at: () => undefined, all: [] }

const registerSeries = (name: string, description: string, attributes: Readonly<Record<string, string>>) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => {
          const cell: Cell = { value: 0 }
          const unwritten = { update: () => {}, modify: () => {} }
          const registration = name.endsWith("_total")
            ? Metric.registerUnsafe(Metric.counter(name, { description, attributes, incremental: true }), context, {
                ...unwritten,
                get: () => ({ count: cell.value, incremental: true })
              })
            : Metric.registerUnsafe(Metric.gauge(name, { description, attributes }), context, {
                ...unwritten,
                get: () => ({ value: cell.value })
              })
          return { cell, registration }
        }),
        ({ registration }) => Effect.sync(registration.remove)
      ),
      ({ cell }) => cell
    )
  )

const registerFamily = Effect.fnUntraced(function* ({ help, label, name }: Family) {
  if (label === undefined) {
    const cell = yield* registerSeries(name, help, {})
    return { at: () => cell, all: [cell] } satisfies Cells
  }
  const cells = new Map<string, Cell>()
  for (const [said, shown] of Object.entries(label.values)) {
    cells.set(said, yield* registerSeries(name, help, { [label.name]: shown }))
  }
  return { at: (said) => cells.get(said ?? "") ?? cells.get("other"), all: [...cells.values()] } satisfies Cells
})

const registerFamilies = (families: Readonly<Record<string, Family>>) =>
  Effect.map(
    Effect.forEach(Object.entries(families), ([name, family]) =>
      Effect.map(registerFamily(family), (cells) => [name, cells] as const)
    ),
    (registered) => {
      const byName = new Map<string, Cells>(registered)
      return (name: string) => byName.get(name) ?? nothing
    }
  )

type CellsOf = (name: string) => Cells
/** What has to be asked for its value is asked on a beat. */
type Collect = (ask: () => void | Promise<void>) => void

const add = (cell: Cell | undefined, amount: number) => {
  if (cell !== undefined) cell.value += amount
}
const put = (cell: Cell | undefined, value: number) => {
  if (cell !== undefined) cell.value = value
}

type Labels = Readonly<Record<string, string | number>>

/** GossipSub gives the labels first, where there are any, and these families have one at most. */
const gossipSubRegister = (cellsOf: CellsOf, collect: Collect) => {
  const saidIn = (labels: Labels | number | undefined) =>
    typeof labels === "object" ? String(Object.values(labels)[0]) : undefined
  const amountIn = (labels: Labels | number | undefined, amount: number | undefined) =>
    amount ?? (typeof labels === "number" ? labels : 1)

  const gauge = ({ name }: { readonly name: string }) => {
    const cells = cellsOf(name)
    const self = {
      inc: (labels?: Labels | number, amount?: number) => add(cells.at(saidIn(labels)), amountIn(labels, amount)),
      set: (labels: Labels | number, value?: number) => put(cells.at(saidIn(labels)), amountIn(labels, value)),
      addCollect: (ask: (metric: unknown) => void) => collect(() => ask(self))
    }
    return self
  }
  const histogram = () => ({ startTimer: () => () => {}, observe: () => {}, reset: () => {} })
  const avgMinMax = ({ name }: { readonly name: string }) => {
    const cells = cellsOf(name)
    return {
      set: (values: ReadonlyArray<number> | Labels) => {
        if (!Array.isArray(values)) return
        const sum = values.reduce((total: number, value: number) => total + value, 0)
        put(cells.at("min"), values.length === 0 ? 0 : Math.min(...values))
        put(cells.at("avg"), values.length === 0 ? 0 : sum / values.length)
        put(cells.at("max"), values.length === 0 ? 0 : Math.max(...values))
      }
    }
  }
  // Its types are conditional on labels that are known per metric there, and only there.
  return { gauge, histogram, avgMinMax } as unknown as MetricsRegister
}

const libp2pMetrics = (cellsOf: CellsOf, collect: Collect) => {
  const registerOne = (name: string, options?: { readonly calculate?: () => number | Promise<number> }) => {
    const cell = cellsOf(name).at(undefined)
    const calculate = options?.calculate
    if (calculate !== undefined && cell !== undefined) collect(async () => put(cell, await calculate()))
    return {
      update: (value: number) => put(cell, value),
      increment: (amount = 1) => add(cell, amount),
      decrement: (amount = 1) => add(cell, -amount),
      reset: () => put(cell, 0),
      timer: () => () => {}
    }
  }

  type Values = Readonly<Record<string, number | true>>
  const registerGroup = (name: string, options?: { readonly calculate?: () => Values | Promise<Values> }) => {
    const cells = cellsOf(name)
    const each = (values: Values, act: (cell: Cell | undefined, value: number) => void) => {
      for (const [said, value] of Object.entries(values)) act(cells.at(said), value === true ? 1 : value)
    }
    const reset = () => {
      for (const cell of cells.all) cell.value = 0
    }
    const calculate = options?.calculate
    if (calculate !== undefined && cells.all.length > 0) {
      collect(async () => {
        const values = await calculate()
        reset()
        each(values, add)
      })
    }
    return {
      update: (values: Values) => each(values, put),
      increment: (values: Values) => each(values, add),
      decrement: (values: Values) => each(values, (cell, value) => add(cell, -value)),
      reset,
      timer: () => () => {}
    }
  }

  const observing = () => ({ observe: () => {}, reset: () => {}, timer: () => () => {} })
  const metrics = {
    registerMetric: registerOne,
    registerCounter: registerOne,
    registerMetricGroup: registerGroup,
    registerCounterGroup: registerGroup,
    registerHistogram: observing,
    registerHistogramGroup: observing,
    registerSummary: observing,
    registerSummaryGroup: observing,
    trackMultiaddrConnection: () => {},
    trackProtocolStream: () => {},
    traceFunction: (_name: string, traced: unknown) => traced,
    createTrace: () => undefined
  }
  // It is overloaded by whether a value is calculated.
  return metrics as unknown as Libp2pMetrics
}

/** What the node is to be made with, until the scope closes. Nothing where `features.enable_metrics` is false. */
export const make = Effect.gen(function* () {
  const { features } = yield* Settings
  if (!features.enableMetrics) return undefined
  const asked: Array<() => void | Promise<void>> = []
  const collect: Collect = (ask) => void asked.push(ask)
  const gossipSub = gossipSubRegister(yield* registerFamilies(gossipSubFamilies), collect)
  const libp2p = libp2pMetrics(yield* registerFamilies(libp2pFamilies), collect)

  const askOne = (ask: () => void | Promise<void>) =>
    Effect.tryPromise(async () => ask()).pipe(
      Effect.catchCause((cause) => Effect.logDebug("libp2p could not tell of itself", cause))
    )
  yield* Effect.suspend(() => Effect.forEach(asked, askOne, { discard: true })).pipe(
    Effect.repeat(Schedule.spaced(collectEvery)),
    Effect.forkScoped
  )
  const meters: Meters = {
    gossipSub: { metricsRegister: gossipSub, metricsTopicStrToLabel: new Map(topics.map((topic) => [topic, topic])) },
    libp2p: { metrics: () => libp2p }
  }
  return meters
})
