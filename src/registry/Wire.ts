/**
 * Bytes ⇄ message, as servers in the field write and read them. Strict on every known key, open to unknown ones (R3),
 * bounded before it reads (R4). It decides only what the words are: whether they count is Judge's.
 */
import { Result } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import * as Timestamp from "../time/Timestamp.ts"
import type { Announcement } from "./Announcement.ts"
import { Fields } from "./Fields.ts"
import type { Heartbeat } from "./Heartbeat.ts"
import { maxPayloadBytes } from "./Limits.ts"
import * as Payload from "./Payload.ts"
import { type Refusal, refuse } from "./Refusal.ts"

/** What a server that sets no region is in. Source: specification, "Two topics"; R3. */
export const defaultRegion = "default"

/**
 * Reads an announcement. Fails as `oversize` or `malformed`, naming the field. With `signer`, a `server_id` that is
 * the signer's own text is not parsed again: a peer ID costs more than all the rest.
 */
export const decodeAnnouncement = (bytes: Uint8Array, signer?: PeerId): Result.Result<Announcement, Refusal> =>
  decode(bytes, announcementKeys, (fields) => ({
    serverId: fields.peerId("server_id", signer),
    capabilities: fields.texts("capabilities"),
    maxStorage: fields.text("max_storage"),
    retentionPolicy: fields.text("retention_policy"),
    region: fields.text("region") || defaultRegion,
    regions: fields.texts("regions"),
    uptimeScore: fields.share("uptime_score"),
    healthy: fields.claim("healthy"),
    timestamp: fields.timestamp("timestamp"),
    port: fields.port("port")
  }))

/** Reads a heartbeat; otherwise as `decodeAnnouncement`. */
export const decodeHeartbeat = (bytes: Uint8Array, signer?: PeerId): Result.Result<Heartbeat, Refusal> =>
  decode(bytes, heartbeatKeys, (fields) => ({
    serverId: fields.peerId("server_id", signer),
    healthy: fields.claim("healthy"),
    uptimeScore: fields.share("uptime_score"),
    timestamp: fields.timestamp("timestamp")
  }))

/** Writes an announcement: keys in the order of wire.md, the region always there, the time in UTC. */
export const encodeAnnouncement = (announcement: Announcement): Uint8Array =>
  encode({
    server_id: announcement.serverId,
    capabilities: announcement.capabilities,
    max_storage: announcement.maxStorage,
    retention_policy: announcement.retentionPolicy,
    region: announcement.region,
    regions: announcement.regions,
    uptime_score: announcement.uptimeScore,
    healthy: announcement.healthy,
    timestamp: Timestamp.format(announcement.timestamp),
    port: announcement.port
  })

/** Writes a heartbeat. */
export const encodeHeartbeat = (heartbeat: Heartbeat): Uint8Array =>
  encode({
    server_id: heartbeat.serverId,
    healthy: heartbeat.healthy,
    uptime_score: heartbeat.uptimeScore,
    timestamp: Timestamp.format(heartbeat.timestamp)
  })

/**
 * What others would refuse in this server's own announcement, if anything. To be asked at startup, so that a region
 * that is too long is a configuration error and not a server that nobody lists. Source: R4; case I13.
 */
export const ownBounds = (announcement: Announcement): Refusal | undefined =>
  Result.match(decodeAnnouncement(encodeAnnouncement(announcement)), {
    onFailure: (refusal) => refusal,
    onSuccess: () => undefined
  })

const announcementKeys = Payload.keys(
  "server_id",
  "capabilities",
  "max_storage",
  "retention_policy",
  "region",
  "regions",
  "uptime_score",
  "healthy",
  "timestamp",
  "port"
)
const heartbeatKeys = Payload.keys("server_id", "healthy", "uptime_score", "timestamp")

const encoder = new TextEncoder()
const encode = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value))

// A byte order mark is not JSON: it is left in the text, for the parser to refuse, as Go does.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const decode = <A>(bytes: Uint8Array, keys: Payload.Keys, read: (fields: Fields) => A): Result.Result<A, Refusal> => {
  if (bytes.length > maxPayloadBytes) {
    return Result.fail(refuse("oversize", `a payload of ${bytes.length} bytes, at most ${maxPayloadBytes} are read`))
  }
  const text = textOf(bytes)
  if (text === undefined) return Result.fail(refuse("malformed", "not UTF-8"))
  const literals = Payload.literalsOf(text, keys)
  if (Result.isFailure(literals)) return Result.fail(literals.failure)
  const fields = new Fields(literals.success, keys)
  const message = read(fields)
  return fields.problem === undefined ? Result.succeed(message) : Result.fail(fields.problem)
}
