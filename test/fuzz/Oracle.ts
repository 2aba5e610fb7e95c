/**
 * What a payload says by R3 and R4, worked out a second time by other means: tokens by one regular expression, recursion,
 * JavaScript's own parser and calendar. It shares nothing with Wire but the peer ID.
 */
import { Result } from "effect"
import { parse as parsePeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"

class Refused extends Error {}
const refuseUnless: (claim: boolean) => asserts claim = (claim) => {
  if (!claim) throw new Refused()
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
    refuseUnless(found !== undefined)
    at = token.lastIndex
    return found
  }
  const string = (source: string): string => {
    const value: unknown = source.startsWith('"') ? JSON.parse(source) : undefined
    refuseUnless(typeof value === "string" && [...value].length <= 256)
    return value
  }
  const object = (depth: number): ReadonlyArray<readonly [string, Item]> => {
    const members: Array<readonly [string, Item]> = []
    if (peek() === "}") take()
    else
      do {
        const key = string(take())
        refuseUnless(take() === ":")
        members.push([key, item(depth)])
      } while (continues("}"))
    refuseUnless(new Set(members.map(([key]) => key)).size === members.length)
    return members
  }
  const list = (depth: number): ReadonlyArray<unknown> => {
    const items: Array<unknown> = []
    if (peek() === "]") take()
    else
      do items.push(item(depth).value)
      while (continues("]"))
    refuseUnless(items.length <= 64)
    return items
  }
  const continues = (end: string): boolean => {
    const next = take()
    refuseUnless(next === "," || next === end)
    return next === ","
  }
  const item = (depth: number): Item => {
    const source = take()
    refuseUnless(!/^[}\],:]/.test(source) && (depth < 8 || !/^[{[]/.test(source)))
    if (source === "{") return { source, value: Object.fromEntries(object(depth + 1)) }
    if (source === "[") return { source, value: list(depth + 1) }
    return { source, value: source.startsWith('"') ? string(source) : JSON.parse(source) }
  }
  refuseUnless(take() === "{")
  const members = object(1)
  refuseUnless(/^[ \t\n\r]*$/.test(text.slice(at)))
  return members
}

const printable = (value: unknown): string => {
  refuseUnless(typeof value === "string" && !/[\p{Cc}\p{Cs}]/u.test(value))
  return value
}

const nanosOf = (value: unknown): bigint => {
  refuseUnless(typeof value === "string")
  const found = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-](\d\d):(\d\d))$/.exec(value)
  refuseUnless(found !== null)
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
  refuseUnless(back.join() === parts.join() && Number(zoneHour) <= 23 && Number(zoneMinute) <= 59)
  const zoneMinutes = (zone.startsWith("-") ? -1 : 1) * (Number(zoneHour) * 60 + Number(zoneMinute))
  return BigInt(date.getTime() - zoneMinutes * 60_000) * 1_000_000n + BigInt(fraction.padEnd(9, "0"))
}

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

/** The message that these bytes are, or nothing where R3 or R4 refuse them. */
export const read = (bytes: Uint8Array, kind: "announcement" | "heartbeat"): Announcement | Heartbeat | undefined => {
  try {
    return message(bytes, kind)
  } catch (error) {
    if (error instanceof Refused || error instanceof TypeError) return undefined
    throw error
  }
}

const message = (bytes: Uint8Array, kind: "announcement" | "heartbeat"): Announcement | Heartbeat => {
  refuseUnless(bytes.length <= 8_192)
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  const members = membersOf(text)
  const known = kind === "announcement" ? announcementKeys : heartbeatKeys
  for (const [key] of members) {
    const folded = known.find((name) => new RegExp(`^${name}$`, "iu").test(key))
    refuseUnless(folded === undefined || folded === key)
  }
  const found = new Map(members)
  const value = (key: string, instead: unknown) => (found.has(key) ? found.get(key)?.value : instead)
  const list = (key: string) => {
    const items = value(key, null) ?? []
    refuseUnless(Array.isArray(items))
    return items.map(printable)
  }
  const id = parsePeerId(printable(value("server_id", "")))
  const healthy = value("healthy", true)
  const score = value("uptime_score", 0)
  refuseUnless(Result.isSuccess(id) && typeof healthy === "boolean")
  refuseUnless(typeof score === "number" && score >= 0 && score <= 1)
  const timestamp = nanosOf(value("timestamp", "0001-01-01T00:00:00Z"))
  const heartbeat = { serverId: id.success, healthy, uptimeScore: score + 0, timestamp }
  if (kind === "heartbeat") return heartbeat
  const port = found.get("port")
  refuseUnless(port === undefined || (/^-?\d+$/.test(port.source) && Number(port.source) >= 0))
  refuseUnless(Number(port?.source ?? 0) <= 65_535)
  return {
    ...heartbeat,
    capabilities: list("capabilities"),
    maxStorage: printable(value("max_storage", "")),
    retentionPolicy: printable(value("retention_policy", "")),
    region: printable(value("region", "")) || "default",
    regions: list("regions"),
    port: Number(port?.source ?? 0) + 0
  }
}
