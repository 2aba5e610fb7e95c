/** What a server says of itself once an hour. A noun: how it is written is Wire's, whether it is believed is Judge's. */
import type { PeerId } from "../identity/PeerId.ts"

/** Source: specification, "Two topics"; wire.md, "Announcement". */
export interface Announcement {
  /** The server that says it: the peer ID in `server_id`, which must be the signer's (R1). */
  readonly serverId: PeerId
  /** What it offers, such as `mailbox`. */
  readonly capabilities: ReadonlyArray<string>
  /** Storage budget as its owner wrote it, such as `10GB`; shown, never computed with. */
  readonly maxStorage: string
  /** How long messages are kept, as Go prints a duration, such as `720h0m0s`; shown, never computed with. */
  readonly retentionPolicy: string
  /** The region it is in, free text. */
  readonly region: string
  /** The regions it serves. */
  readonly regions: ReadonlyArray<string>
  /** Share of the last 288 self-checks that passed, 0 to 1. */
  readonly uptimeScore: number
  /** Whether the last self-check passed. */
  readonly healthy: boolean
  /** When it was made by the sender's clock, in nanoseconds since the Unix epoch. */
  readonly timestamp: bigint
  /** The port it listens on, 0 to 65535. */
  readonly port: number
}
