/**
 * What a payload says by R3, R4 and R5, or which of them refuses it, worked out a second time by other means: tokens by
 * one regular expression, recursion, JavaScript's own parser and calendar. It shares nothing with Wire but the peer ID.
 */
import { Result } from "effect"
import { parse as parsePeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import { spellings } from "./Mutation.ts"

/**
 * Why a payload is refused. `no JSON object` and `kind` are what a reader in any language refuses; the others are rulings
 * of this project, which readers in the field do not know.
 */
export type Breach =
  | "no JSON object"
  | "kind"
  | "R3 a key given twice"
  | "R3 a known key in another case"
  | "R3 null"
  | "R3 range"
  | "R3 RFC 3339"
  | "R3 more than 9 fraction digits"
  | "R4 bytes"
  | "R4 depth"
  | "R4 characters"
  | "R4 items"
  | "R4 peer ID"
  | "R5 text"
  | "wire.md UTF-8"

class Refused extends Error {
  readonly breach: Breach
  constructor(breach: Breach) {
    super(breach)
    this.breach = breach
  }
}

const refuseUnless: (claim: boolean, breach: Breach) => asserts claim = (claim, breach) => {
  if (!claim) throw new Refused(breach)
}

interface Item {
  readonly source: string
  readonly value: unknown
}

const token =
  /[ \t\n\r]*([{}[\],:]|"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)/uy

/** The top-level members of the one object that the text is. */
const membersOf = (text: string): ReadonlyArray<readonly [string, Item]> => {
  let at = 0
  const peek = () => {
    token.lastIndex = at
    return token.exec(text)?.[1]
  }
  const take = (): string => {
    const found = peek()
    refuseUnless(found !== undefined, "no JSON object")
    at = token.lastIndex
    return found
  }
  const string = (source: string): string => {
    const value: unknown = source.startsWith('"') ? JSON.parse(source) : undefined
    refuseUnless(typeof value === "string", "no JSON object")
    refuseUnless([...value].length <= 256, "R4 characters")
    return value
  }
  const object = (depth: number): ReadonlyArray<readonly [string, Item]> => {
    const members: Array<readonly [string, Item]> = []
    if (peek() === "}") take()
    else
      do {
        const key = string(take())
        refuseUnless(take() === ":", "no JSON object")
        members.push([key, item(depth)])
      } while (continues("}"))
    refuseUnless(new Set(members.map(([key]) => key)).size === members.length, "R3 a key given twice")
    return members
  }
  const list = (depth: number): ReadonlyArray<unknown> => {
    const items: Array<unknown> = []
    if (peek() === "]") take()
    else
      do items.push(item(depth).value)
      while (continues("]"))
    refuseUnless(items.length <= 64, "R4 items")
    return items
  }
  const continues = (end: string): boolean => {
    const next = take()
    refuseUnless(next === "," || next === end, "no JSON object")
    return next === ","
  }
  const item = (depth: number): Item => {
    const source = take()
    refuseUnless(!/^[}\],:]/.test(source), "no JSON object")
    refuseUnless(depth < 8 || !/^[{[]/.test(source), "R4 depth")
    if (source === "{") return { source, value: Object.fromEntries(object(depth + 1)) }
    if (source === "[") return { source, value: list(depth + 1) }
    return { source, value: source.startsWith('"') ? string(source) : JSON.parse(source) }
  }
  refuseUnless(take() === "{", "no JSON object")
  const members = object(1)
  refuseUnless(/^[ \t\n\r]*$/.test(text.slice(at)), "no JSON object")
  return members
}

const printable = (value: unknown): string => {
  refuseUnless(value !== null, "R3 null")
  refuseUnless(typeof value === "string", "kind")
  refuseUnless(!/[\p{Cc}\p{Cs}]/u.test(value), "R5 text")
  return value
}

const nanosOf = (item: Item | undefined): bigint => {
  if (item === undefined) return -62_135_596_800_000_000_000n
  refuseUnless(item.value !== null, "R3 null")
  // Go reads a time between its quotes as it is written: one that is spelt with escapes is none.
  refuseUnless(typeof item.value === "string" && item.source === JSON.stringify(item.value), "kind")
  // What Go takes for a time, and then what one is.
  const loose = /^\d{4}-\d\d-\d\dT\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-](\d\d):(\d\d))$/.exec(item.value)
  refuseUnless(loose !== null && Number(loose[1] ?? 0) <= 24 && Number(loose[2] ?? 0) <= 60, "kind")
  const found = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-](\d\d):(\d\d))$/.exec(item.value)
  refuseUnless(found !== null && Number(found[9] ?? 0) <= 23 && Number(found[10] ?? 0) <= 59, "R3 RFC 3339")
  const [, year, month, day, hour, minute, second, fraction = "", zone = "Z", zoneHour = "0", zoneMinute = "0"] = found
  const parts = [year, month, day, hour, minute, second].map(Number)
  const date = new Date(0)
  date.setUTCFullYear(parts[0] ?? 0, (parts[1] ?? 0) - 1, parts[2])
  date.setUTCHours(parts[3] ?? 0, parts[4], parts[5])
  const back = [
    date.getUTCFullYear(),
    date.getUTCMonth() + 1,
    date.getUTCDate(),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds()
  ]
  refuseUnless(back.join() === parts.join(), "kind")
  refuseUnless(fraction.length <= 9, "R3 more than 9 fraction digits")
  const zoneMinutes = (zone.startsWith("-") ? -1 : 1) * (Number(zoneHour) * 60 + Number(zoneMinute))
  return BigInt(date.getTime() - zoneMinutes * 60_000) * 1_000_000n + BigInt(fraction.padEnd(9, "0"))
}

/** Text that begins as a CID does, which readers in the field take in more spellings than one. */
const isLooseCid = (text: string): boolean => /^[0fFbBcCvVtTkKzZmMuU🚀]/u.test(text) && !spellings.has(text)

const heartbeatKeys = ["server_id", "healthy", "uptime_score", "timestamp"]
const announcementKeys = [
  ...heartbeatKeys,
  "capabilities",
  "max_storage",
  "retention_policy",
  "region",
  "regions",
  "port"
]

/** The message that these bytes are, or why they are none. */
export const read = (bytes: Uint8Array, kind: "announcement" | "heartbeat"): Announcement | Heartbeat | Breach => {
  try {
    return message(bytes, kind)
  } catch (error) {
    if (error instanceof Refused) return error.breach
    throw error
  }
}

const utf8 = (bytes: Uint8Array): string => {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  // What is no UTF-8 comes back as other bytes.
  refuseUnless(Buffer.from(text).equals(bytes), "wire.md UTF-8")
  return text
}

const message = (bytes: Uint8Array, kind: "announcement" | "heartbeat"): Announcement | Heartbeat => {
  refuseUnless(bytes.length <= 8_192, "R4 bytes")
  const members = membersOf(utf8(bytes))
  const known = kind === "announcement" ? announcementKeys : heartbeatKeys
  for (const [key] of members) {
    const folded = known.find((name) => new RegExp(`^${name}$`, "iu").test(key))
    refuseUnless(folded === undefined || folded === key, "R3 a known key in another case")
  }
  const found = new Map(members)
  const value = (key: string, instead: unknown) => (found.has(key) ? found.get(key)?.value : instead)
  const list = (key: string) => {
    const items = value(key, null) ?? []
    refuseUnless(Array.isArray(items), "kind")
    return items.map(printable)
  }
  const text = printable(value("server_id", ""))
  const id = parsePeerId(text)
  refuseUnless(Result.isSuccess(id) || !isLooseCid(text), "R4 peer ID")
  refuseUnless(Result.isSuccess(id), "kind")
  const healthy = value("healthy", true)
  refuseUnless(healthy !== null, "R3 null")
  refuseUnless(typeof healthy === "boolean", "kind")
  const score = value("uptime_score", 0)
  refuseUnless(score !== null, "R3 null")
  refuseUnless(typeof score === "number", "kind")
  refuseUnless(score >= 0 && score <= 1, "R3 range")
  const timestamp = nanosOf(found.get("timestamp"))
  const heartbeat = { serverId: id.success, healthy, uptimeScore: score + 0, timestamp }
  if (kind === "heartbeat") return heartbeat
  const port = found.get("port")?.source ?? "0"
  refuseUnless(port !== "null", "R3 null")
  refuseUnless(/^-?\d+$/.test(port), "kind")
  refuseUnless(Number(port) >= 0 && Number(port) <= 65_535, "R3 range")
  return {
    ...heartbeat,
    capabilities: list("capabilities"),
    maxStorage: printable(value("max_storage", "")),
    retentionPolicy: printable(value("retention_policy", "")),
    region: printable(value("region", "")) || "default",
    regions: list("regions"),
    port: Number(port) + 0
  }
}
