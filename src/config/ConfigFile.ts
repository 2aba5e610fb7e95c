/**
 * The text of a configuration file as entries of known settings, each with its place, and everything that is wrong
 * with its form. YAML 1.2; a scalar is the text it was written as. It knows nothing of what a setting may hold.
 */
import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, parseDocument } from "yaml"
import { inert } from "../logging/InertText.ts"
import { nearestPath, Problem } from "./ConfigurationProblems.ts"
import type { Entry } from "./Entry.ts"
import { isPath, isWithoutEffect, keyAt, paths, sections } from "./Keys.ts"
import { describe, type Raw } from "./Kind.ts"
import { nearest } from "./Nearest.ts"

export interface ConfigFile {
  readonly entries: ReadonlyArray<Entry>
  /** Settings that are known and have no effect here, as `section.key`. */
  readonly withoutEffect: ReadonlyArray<string>
  readonly problems: ReadonlyArray<Problem>
}

/** One flaw in the form of a file brings others that are not there; the first few say enough. */
const mostFlaws = 5

const flawTexts: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: "a second document; a configuration file is one",
  RESOURCE_EXHAUSTION: "nested too deeply to be read"
}

type Yaml = Document.Parsed
type Value = Pair["value"] | Alias

/** Reads the text of the file that messages call `name`. */
export const parse = (name: string, text: string): ConfigFile => {
  const lines = new LineCounter()
  const entries: Array<Entry> = []
  const withoutEffect: Array<string> = []
  const problems: Array<Problem> = []

  const placeOf = (offset: number | undefined): string => {
    const { line, col } = lines.linePos(offset ?? 0)
    return `${name}:${Math.max(line, 1)}:${Math.max(col, 1)}`
  }
  const complain = (source: string, about: Omit<Problem, "from" | "source" | "text">) =>
    problems.push(new Problem({ from: "file", source, ...about }))

  // A level of "silent" would also keep the second document of a file silent.
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    lineCounter: lines,
    prettyErrors: false,
    logLevel: "error"
  })
  for (const flaw of [...document.errors, ...document.warnings].slice(0, mostFlaws)) {
    complain(placeOf(flaw.pos[0]), { found: flawTexts[flaw.code] ?? inert(flaw.message, 200) })
  }
  if (problems.length > 0) return { entries, withoutEffect, problems }

  const section = (sectionName: string, value: Value, source: string) => {
    const content = resolved(document, value)
    if (isNull(content)) return
    if (!isMap(content)) {
      complain(source, { path: sectionName, found: describe(rawOf(document, content)), allowed: "a section of keys" })
      return
    }
    for (const pair of content.items) setting(`${sectionName}.${keyText(pair)}`, pair)
  }

  const setting = (path: string, pair: Pair) => {
    const source = placeOf(offsetOf(pair.key))
    if (!isPath(path)) {
      if (isWithoutEffect(path)) withoutEffect.push(inert(path, 100))
      else complain(source, { path: inert(path, 100), found: "unknown key", nearest: nearestPath(path, paths) })
      return
    }
    const content = resolved(document, pair.value)
    // `port: null` says that nothing is set; `region: null` is a region of that name (R22).
    const isText = keyAt(path).kind.shape === "text" && isScalar(content) && content.source !== ""
    if (isNull(content) && !isText) return
    entries.push({
      path,
      raw: rawOf(document, content),
      from: "file",
      source: placeOf(offsetOf(pair.value)),
      ...(isSeq(content) && { itemSources: content.items.map((item) => placeOf(offsetOf(item))) })
    })
  }

  const root = document.contents
  if (isNull(root)) return { entries, withoutEffect, problems }
  if (!isMap(root)) {
    complain(placeOf(offsetOf(root)), { found: describe(rawOf(document, root)), allowed: "sections of keys" })
    return { entries, withoutEffect, problems }
  }
  for (const pair of root.items as ReadonlyArray<Pair>) {
    const sectionName = keyText(pair)
    const source = placeOf(offsetOf(pair.key))
    if (sections.has(sectionName) || isWithoutEffect(sectionName)) section(sectionName, pair.value, source)
    else {
      complain(source, {
        path: inert(sectionName, 100),
        found: "unknown section",
        nearest: nearest(sectionName, sections) ?? nearestPath(sectionName, paths)
      })
    }
  }
  return { entries, withoutEffect, problems }
}

/** Follows an alias. What is read is two levels deep and no list of lists, so aliases cannot multiply. */
const resolved = (document: Yaml, value: Value): unknown => (isAlias(value) ? value.resolve(document) : value)

/** Nothing, or a word that says nothing. An explicit `""` is a text. */
const isNull = (value: unknown): boolean => value === null || (isScalar(value) && value.value === null)

const keyText = (pair: Pair): string => (isScalar(pair.key) ? (pair.key.source ?? String(pair.key.value)) : "?")

const offsetOf = (value: unknown): number | undefined =>
  isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value.range?.[0] : undefined

const rawOf = (document: Yaml, value: unknown, depth = 0): Raw => {
  if (isScalar(value)) {
    return { type: "scalar", text: value.source ?? String(value.value), quoted: value.type !== "PLAIN" }
  }
  if (!isSeq(value)) return { type: "map" }
  // A list inside a list is refused whatever it holds.
  const items = depth > 0 ? [] : value.items
  return { type: "list", items: items.map((item) => rawOf(document, resolved(document, item as Value), depth + 1)) }
}
