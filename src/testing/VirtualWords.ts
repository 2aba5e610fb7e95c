/** Messages as a server would send them, for tests that speak for one: right in all that a test does not set. */
import type { PeerId } from "../identity/PeerId.ts"
import type { Announcement } from "../registry/Announcement.ts"
import type { Heartbeat } from "../registry/Heartbeat.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../registry/Wire.ts"

/** Whose words they are and when they were made, in nanoseconds since the Unix epoch. */
interface Said {
  readonly serverId: PeerId
  readonly timestamp: bigint
}

/** The bytes of an announcement. */
export const announcement = (words: Said & Partial<Announcement>): Uint8Array =>
  encodeAnnouncement({
    capabilities: ["store-and-forward", "mailbox", "document-sync"],
    maxStorage: "10GB",
    retentionPolicy: "720h0m0s",
    region: "default",
    regions: ["default"],
    uptimeScore: 1,
    healthy: true,
    port: 55_223,
    ...words
  })

/** The bytes of a heartbeat. */
export const heartbeat = (words: Said & Partial<Heartbeat>): Uint8Array =>
  encodeHeartbeat({ healthy: true, uptimeScore: 1, ...words })
