/** What this server says of itself, made of its settings and its state at that moment. Pure. */
import { Duration } from "effect"
import type { ServerSettings, SettingsShape } from "../config/Settings.ts"
import type { PeerId } from "../identity/PeerId.ts"
import type { Announcement } from "../registry/Announcement.ts"
import * as GoDuration from "./GoDuration.ts"

const megabytesPerGigabyte = 1024

/** A storage budget in whole GB from 1 GB up, in whole MB below, rounded down: 1 GB is 1024³ bytes. Source: wire.md. */
export const maxStorageText = (gigabytes: number): string =>
  gigabytes >= 1 ? `${Math.floor(gigabytes)}GB` : `${Math.floor(gigabytes * megabytesPerGigabyte)}MB`

/** Days as Go prints them: 30 is `720h0m0s`. Fractions of a day are kept to the millisecond. Source: wire.md. */
export const retentionText = (days: number): string =>
  GoDuration.fromDuration(Duration.millis(Math.round(days * 86_400_000)))

/** The TCP port of the addresses a node is reached at: a plain one's if there is one, else any; 0 where none has one. */
export const portOf = (addresses: ReadonlyArray<string>): number => {
  const port = (address: string) => Number(/\/tcp\/(\d+)/.exec(address)?.[1] ?? 0)
  const plain = addresses.find((address) => /\/tcp\/\d+(\/p2p\/|$)/.test(address))
  return port(plain ?? addresses.find((address) => port(address) !== 0) ?? "")
}

/**
 * The port to announce: the configured one, unless it is 0 or the configured listen addresses are on others; then
 * theirs, or the one that was bound.
 */
export const listenPort = (server: ServerSettings, addresses: ReadonlyArray<string>): number => {
  const listening = server.listenAddresses.map((address) => portOf([address]))
  const isListenedOn = listening.length === 0 || listening.includes(server.port)
  if (server.port !== 0 && isListenedOn) return server.port
  return portOf(server.listenAddresses) || portOf(addresses)
}

/** What an announcement says beside the settings. */
export interface Moment {
  readonly serverId: PeerId
  readonly capabilities: ReadonlyArray<string>
  readonly addresses: ReadonlyArray<string>
  readonly healthy: boolean
  readonly uptimeScore: number
  readonly timestamp: bigint
}

export const compose = (settings: SettingsShape, moment: Moment): Announcement => ({
  serverId: moment.serverId,
  capabilities: moment.capabilities,
  maxStorage: maxStorageText(settings.storage.maxStorageGb),
  retentionPolicy: retentionText(settings.storage.retentionDays),
  region: settings.server.region,
  regions: [settings.server.region],
  uptimeScore: moment.uptimeScore,
  healthy: moment.healthy,
  timestamp: moment.timestamp,
  port: listenPort(settings.server, moment.addresses)
})
