/** A real scrape, and whether a PromQL expression speaks only of what is in it. */
import { Effect, Schema } from "effect"

/** Each metric with its labels, and the values that each label has. */
export type Scrape = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>

export class Unscraped extends Schema.TaggedError<Unscraped>()("Unscraped", { cause: Schema.Defect() }) {}

export const textOf = (url: string): Effect.Effect<string, Unscraped> =>
  Effect.tryPromise({
    try: async (signal) => (await fetch(`${url}/metrics`, { signal })).text(),
    catch: (cause) => new Unscraped({ cause })
  })

const sampleOf = (line: string) => /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line)

export const parse = (text: string): Scrape => {
  const scrape = new Map<string, Map<string, Set<string>>>()
  for (const line of text.split("\n")) {
    const [, name, labels = ""] = sampleOf(line) ?? []
    if (name === undefined) continue
    const known = scrape.get(name) ?? new Map<string, Set<string>>()
    scrape.set(name, known)
    for (const [, label = "", value = ""] of labels.matchAll(/([a-z_]+)="([^"]*)"/g)) {
      known.set(label, (known.get(label) ?? new Set()).add(value))
    }
  }
  return scrape
}

/** The value of a series, written as in the scrape. */
export const readingOf = (text: string, series: string): number => {
  const line = text.split("\n").find((line) => line.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1))
}

/** What Prometheus adds to each series. */
const targetLabels = ["job", "instance"]

const words = new Set(["by", "without", "on", "ignoring", "and", "or", "unless", "offset", "bool"])

/** What is wrong with an expression: metrics, labels and values that the scrape does not have. */
export const strangersIn = (expression: string, scrape: Scrape): ReadonlyArray<string> => {
  const strangers: Array<string> = []
  const labels = new Set([...targetLabels, "le"])
  // What is in quotes, and what is said of labels, is looked at apart.
  let rest = expression.replaceAll(/\b([a-z_][a-z0-9_]*)\{([^}]*)\}/g, (_, name: string, selector: string) => {
    for (const [, label = "", operator, value = ""] of selector.matchAll(/([a-z_]+)(=~|!=|=)"([^"]*)"/g)) {
      const values = scrape.get(name)?.get(label)
      const isTarget = targetLabels.includes(label)
      if (!isTarget && values === undefined) strangers.push(`${name}{${label}}`)
      if (!isTarget && operator !== "=~" && values?.has(value) === false) strangers.push(`${name}{${label}="${value}"}`)
    }
    return name
  })
  const grouped: Array<string> = []
  rest = rest.replaceAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g, (_, list: string) => {
    grouped.push(...list.split(",").map((label) => label.trim()))
    return ""
  })
  rest = rest.replaceAll(/\[[^\]]*\]|\boffset \w+/g, "")
  for (const [, name = "", call] of rest.matchAll(/\b([a-z_][a-z0-9_]*)(\s*\()?/g)) {
    if (call !== undefined || words.has(name) || name === "up") continue
    const found = scrape.get(name)
    if (found === undefined) strangers.push(name)
    for (const label of found?.keys() ?? []) labels.add(label)
  }
  return [...strangers, ...grouped.filter((label) => !labels.has(label)).map((label) => `by (${label})`)]
}
