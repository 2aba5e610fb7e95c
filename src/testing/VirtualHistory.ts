/** What happened on a virtual network, in order, for the moment an assertion fails and somebody asks why. */
import { Schema } from "effect"

/** Something that happened on a virtual network. */
export interface Happening {
  /** Milliseconds since the network was made. */
  readonly atMillis: number
  /** The server it happened at; absent where it happened to the network. */
  readonly server: string | undefined
  /** Made when it is printed: most are not. */
  readonly text: () => string
}

/** What a story expected of the network did not hold. The message ends with what had happened. */
export class Unexpected extends Schema.TaggedError<Unexpected>()("Unexpected", {
  what: Schema.String,
  expected: Schema.Unknown,
  actual: Schema.Unknown,
  history: Schema.String
}) {
  override get message() {
    const text = (value: unknown) => String(JSON.stringify(value)).slice(0, longestText)
    return `${this.what}\nexpected: ${text(this.expected)}\nactual: ${text(this.actual)}\n${this.history}`
  }
}

/** Of one value in a message, in characters. */
const longestText = 1_000

/** Happenings kept; of a longer story the oldest are gone. */
const longest = 10_000

const pad = (value: number, width = 2) => String(value).padStart(width, "0")

/** As `26:03:07.250`: hours, minutes, seconds since the network was made. */
const clockText = (atMillis: number): string => {
  const seconds = Math.floor(atMillis / 1_000)
  return `${pad(Math.floor(seconds / 3_600))}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}.${pad(Math.floor(atMillis) % 1_000, 3)}`
}

/** What happened, in order: the last 10 000 happenings. */
export class VirtualHistory {
  readonly #happenings: Array<Happening> = []
  readonly #nowMillis: () => number
  readonly #named: (text: string) => string

  /** `named` puts names where a text has peer IDs. */
  constructor(nowMillis: () => number, named: (text: string) => string) {
    this.#nowMillis = nowMillis
    this.#named = named
  }

  /** Adds a happening of this moment: of a server, or of the network where none is named. */
  note(server: string | undefined, text: () => string): void {
    this.#happenings.push({ atMillis: this.#nowMillis(), server, text })
    if (this.#happenings.length > longest) this.#happenings.splice(0, longest / 2)
  }

  /** The last happenings, one a line, the latest last. */
  print(lines = 60): string {
    const last = this.#happenings.slice(-lines)
    const earlier = this.#happenings.length - last.length
    return [
      `history at ${clockText(this.#nowMillis())}${earlier > 0 ? `, ${earlier} earlier left out` : ""}:`,
      ...last.map(
        ({ atMillis, server, text }) => `  ${clockText(atMillis)} ${server ?? "network"}: ${this.#named(text())}`
      )
    ].join("\n")
  }
}
