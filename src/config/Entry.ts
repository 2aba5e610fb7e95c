/** What a source of settings yields: entries of known settings, and remarks worth a line in the log. */
import type { Problem } from "./ConfigurationProblems.ts"
import { keyAt, type Path } from "./Keys.ts"
import type { Raw } from "./Kind.ts"

/** One setting as one source gives it. */
export interface Entry {
  readonly path: Path
  readonly raw: Raw
  readonly from: Problem["from"]
  /** Where it stands: `config.yaml:3:5`, `RICOCHET_SERVER_PORT`, `--port`. */
  readonly source: string
  /** Where each item of a list stands, where that is told apart. */
  readonly itemSources?: ReadonlyArray<string>
}

/** What is not wrong and yet worth a WARN line: the line, and the facts beside it. */
export interface Warning {
  readonly message: string
  readonly facts: Readonly<Record<string, string>>
}

const scalar = (text: string): Raw => ({ type: "scalar", text, quoted: false })

/**
 * What variables and flags hold is bare text; commas separate the items of a list. A flag that is given twice and
 * holds one value is a list where none is allowed.
 */
export const bare = (path: Path, texts: ReadonlyArray<string>): Raw => {
  const [first, ...others] = texts
  if (keyAt(path).kind.shape !== "list" && first !== undefined && others.length === 0) return scalar(first)
  const items = keyAt(path).kind.shape === "list" ? texts.flatMap((text) => text.split(",")) : texts
  return { type: "list", items: items.map((text) => scalar(text.trim())) }
}
