/**
 * The literals of one message, read field by field into what Announcement and Heartbeat are made of (R3). A missing key
 * reads as the empty value of its type. The first problem is kept, and names its field.
 */
import { Result } from "effect"
import { type PeerId, parse as parsePeerId } from "../identity/PeerId.ts"
import * as Timestamp from "../time/Timestamp.ts"
import { type Keys, type Literals, shown } from "./Payload.ts"
import { type Refusal, refuse } from "./Refusal.ts"

/** Control characters of either set. With halves of surrogate pairs they are what no text may hold (R5, case I08). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f]/

export class Fields {
  problem: Refusal | undefined
  readonly #literals: Literals
  readonly #keys: Keys

  constructor(literals: Literals, keys: Keys) {
    this.#literals = literals
    this.#keys = keys
  }

  peerId(key: string, signer: PeerId | undefined): PeerId {
    const text = this.text(key)
    if (text === signer) return signer
    return Result.getOrElse(parsePeerId(text), (invalid) => this.#refused(key, invalid.problem, "" as PeerId))
  }

  text(key: string): string {
    const literal = this.#literal(key)
    if (literal === undefined) return ""
    if (!literal.startsWith('"')) return this.#refused(key, `expected a string, found ${kindOf(literal)}`, "")
    return this.#printable(key, stringOf(literal))
  }

  /** A list may be null, as Go writes one that was never made (case J03). */
  texts(key: string): ReadonlyArray<string> {
    const literal = this.#literal(key)
    if (literal === undefined || literal === "null") return []
    if (!literal.startsWith("[")) {
      return this.#refused(key, `expected a list of strings, found ${kindOf(literal)}`, [])
    }
    const items = JSON.parse(literal) as ReadonlyArray<unknown>
    return items.map((item) =>
      typeof item === "string"
        ? this.#printable(key, item)
        : this.#refused(key, `expected a string, found ${kindOf(JSON.stringify(item))}`, "")
    )
  }

  /** A missing claim is true: the servers that sent none had no self-check. Source: wire.md. */
  claim(key: string): boolean {
    const literal = this.#literal(key)
    if (literal === undefined || literal === "true") return true
    return literal !== "false" && this.#refused(key, `expected true or false, found ${kindOf(literal)}`, false)
  }

  /** A finite number from 0 to 1; minus zero is zero. */
  share(key: string): number {
    const literal = this.#literal(key)
    const value = literal === undefined ? 0 : numberOf(literal)
    if (value >= 0 && value <= 1) return Math.abs(value)
    return this.#refused(key, `expected a number from 0 to 1, found ${kindOf(literal)}`, 0)
  }

  /** A whole number from 0 to 65535, written as one: Go reads neither 55223.0 nor 5e4 into an integer (case I03). */
  port(key: string): number {
    const literal = this.#literal(key)
    const value = literal === undefined ? 0 : /^-?[0-9]+$/.test(literal) ? Number(literal) : Number.NaN
    if (value >= 0 && value <= 65_535) return Math.abs(value)
    return this.#refused(key, `expected a whole number from 0 to 65535, found ${kindOf(literal)}`, 0)
  }

  /** Missing, it reads as Go's zero time, which is too old to count (case J05). */
  timestamp(key: string): bigint {
    const literal = this.#literal(key)
    if (literal === undefined) return Timestamp.zero
    if (!literal.startsWith('"')) return this.#refused(key, `${Timestamp.notATimestamp}: ${kindOf(literal)}`, 0n)
    // As it stands between its quotes: servers written in Go read no escapes in a time.
    const text = literal.slice(1, -1)
    return Result.getOrElse(Timestamp.parse(text), (problem) => this.#refused(key, `${problem}: ${shown(text)}`, 0n))
  }

  #literal(key: string): string | undefined {
    const place = this.#keys.places.get(key)
    return place === undefined ? undefined : this.#literals[place]
  }

  #printable(key: string, text: string): string {
    if (!control.test(text) && text.isWellFormed()) return text
    return this.#refused(key, `a control character or half a surrogate pair in ${shown(text)}`, "")
  }

  #refused<A>(key: string, what: string, instead: A): A {
    this.problem ??= refuse("malformed", `${key}: ${what}`)
    return instead
  }
}

const stringOf = (literal: string): string =>
  literal.includes("\\") ? (JSON.parse(literal) as string) : literal.slice(1, -1)

const numberOf = (literal: string): number => (/^[-0-9]/.test(literal) ? Number(literal) : Number.NaN)

/** What a literal is, as a detail may say it. */
const kindOf = (literal: string | undefined): string => {
  if (literal === undefined) return "nothing"
  if (literal.startsWith('"')) return shown(stringOf(literal))
  if (literal.startsWith("[")) return "a list"
  if (literal.startsWith("{")) return "an object"
  return literal.slice(0, 40)
}
