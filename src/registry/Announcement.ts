/** What a server says of itself once an hour. A noun: how it is written is Wire's, whether it is believed is Judge's. */
import type { PeerId } from "../identity/PeerId.ts"

/** Source: specification, "Two topics"; wire.md, "Announcement". */
export interface Announcement {
  readonly serverId: PeerId
  readonly capabilities: ReadonlyArray<string>
  /** Storage budget as its owner wrote it, such as `10GB`; shown, never computed with. */
  readonly maxStorage: string
  /** How long messages are kept, as Go prints a duration, such as `720h0m0s`; shown, never computed with. */
  readonly retentionPolicy: string
  readonly region: string
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
