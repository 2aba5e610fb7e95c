/** The verdict of a server's last self-check, said every few minutes. A noun, like Announcement. */
import type { PeerId } from "../identity/PeerId.ts"

/** Source: specification, "Two topics"; wire.md, "Heartbeat". */
export interface Heartbeat {
  /** The server that says it: the peer ID in `server_id`, which must be the signer's (R1). */
  readonly serverId: PeerId
  /** Whether its last self-check passed. */
  readonly healthy: boolean
  /** Share of the last 288 self-checks that passed, 0 to 1. */
  readonly uptimeScore: number
  /** When it was made by the sender's clock, in nanoseconds since the Unix epoch. */
  readonly timestamp: bigint
}
