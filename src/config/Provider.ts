/**
 * Settings from the `ConfigProvider` of an application: each read at its path in the configuration file, such as
 * `["server", "port"]`, and held to the same rules. What else the provider holds is not for us to judge.
 */
import { homedir } from "node:os"
import { ConfigProvider, Effect } from "effect"
import { type ConfigurationProblems, Problem } from "./ConfigurationProblems.ts"
import { bare, type Entry } from "./Entry.ts"
import { type Path, paths } from "./Keys.ts"
import type { Raw } from "./Kind.ts"
import { type Preset, resolve } from "./Resolve.ts"
import type { SettingsShape } from "./Settings.ts"

const where = { from: "program", source: "configuration provider" } as const

const textOf = (node: ConfigProvider.Node | undefined): string => node?.value ?? ""

/** What stands at a path. A list is an array of texts, or one text with commas. */
const rawAt = Effect.fnUntraced(function* (provider: ConfigProvider.ConfigProvider, path: Path) {
  const place = path.split(".")
  const node = yield* provider.load(place)
  if (node === undefined) return undefined
  if (node.value !== undefined) return bare(path, [node.value])
  if (node._tag !== "Array") return { type: "map" } satisfies Raw
  const texts = yield* Effect.forEach(Array(node.length).keys(), (index) =>
    Effect.map(provider.load([...place, index]), textOf)
  )
  return { type: "list", items: texts.map((text) => ({ type: "scalar", text, quoted: true })) } satisfies Raw
})

/**
 * The settings of a preset with what the provider says over it. Fails with everything that is wrong at once. A key that
 * is misspelt goes unnoticed, for a provider may hold more than discovery's.
 */
export const fromProvider = Effect.fn("Configuration.fromProvider")(function* (options: {
  readonly preset: Preset | undefined
  /** What the application says beneath the provider. */
  readonly beneath: ReadonlyArray<Entry>
}): Effect.fn.Return<SettingsShape, ConfigurationProblems> {
  const provider = yield* ConfigProvider.ConfigProvider
  const entries: Array<Entry> = [...options.beneath]
  const problems: Array<Problem> = []
  for (const path of paths) {
    yield* rawAt(provider, path).pipe(
      Effect.match({
        onFailure: ({ message }) => void problems.push(new Problem({ ...where, path, found: message.slice(0, 200) })),
        onSuccess: (raw) => void (raw === undefined || entries.push({ path, raw, ...where }))
      })
    )
  }
  const { preset } = options
  const resolved = resolve({ preset, entries, seedHex: undefined, home: homedir(), problems })
  return (yield* Effect.fromResult(resolved)).settings
})
