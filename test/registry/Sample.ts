/** Servers, messages and moments that the registry's tests speak of. */
import { Result } from "effect"
import { fromCanonical, type PeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import { type Given, judgeAnnouncement, judgeHeartbeat, type Origin } from "../../src/registry/Judge.ts"
import type { Known } from "../../src/registry/Known.ts"
import type { Decide } from "../../src/registry/Registry.ts"
import type { Now } from "../../src/time/Now.ts"

/** Peer IDs of the Ed25519 keys whose seeds are 32 bytes of 1, 2, … */
export const alice = fromCanonical("12D3KooWK99VoVxNE7XzyBwXEzW7xhK7Gpv85r9F3V3fyKSUKPH5")
export const bob = fromCanonical("12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq")
export const carol = fromCanonical("12D3KooWRndVhVZPCiQwHBBBdg769GyrPUW13zxwqQyf9r3ANaba")
export const dave = fromCanonical("12D3KooWPT98FXMfDQYavZm66EeVjTqP9Nnehn1gyaydqV8L8BQw")
export const self = fromCanonical("12D3KooWHFd1gyNYFqxt7ke9FY2VoVVWY2XSPhvL9vg2pB6wQGfa")
/** Alice's peer ID as a CIDv1. */
export const aliceAsCid = "bafzaajaiaejcbcui4poxicprsx6vfwznhs5f24wkm4e36hmucin7g5eiag2a6324"

export const second = 1_000
export const minute = 60_000
export const hour = 3_600_000

const startNanos = 1_796_066_043_000_000_000n
/** 2026-11-30T19:14:03Z. */
export const startMillis = 1_796_066_043_000

/** So many milliseconds after the start, on the wall, in nanoseconds. */
export const wall = (millis: number): bigint => startNanos + BigInt(Math.round(millis * 1e6))

/** The moment so many milliseconds after the start, on clocks that agree; the steady one started elsewhere. */
export const at = (millis: number): Now => ({ wallNanos: wall(millis), steadyMillis: 5_000_000 + millis })

export const announcement = (said: Partial<Announcement> = {}): Announcement => ({
  serverId: alice,
  capabilities: ["store-and-forward", "mailbox", "document-sync"],
  maxStorage: "10GB",
  retentionPolicy: "720h0m0s",
  region: "eu-west",
  regions: ["eu-west"],
  uptimeScore: 1,
  healthy: true,
  timestamp: wall(0),
  port: 55_223,
  ...said
})

export const heartbeat = (said: Partial<Heartbeat> = {}): Heartbeat => ({
  serverId: alice,
  healthy: true,
  uptimeScore: 1,
  timestamp: wall(0),
  ...said
})

export const noBytes = new Uint8Array()
export const topic: Origin = { kind: "topic" }

type Circumstances = Partial<Omit<Given<never>, "message">>

const given = (message: Announcement | Heartbeat, circumstances: Circumstances) => ({
  signed: () => noBytes,
  signer: message.serverId,
  self,
  now: { ...at(0), wallNanos: message.timestamp },
  origin: topic,
  ...circumstances
})

export const hearAnnouncement = (said: Partial<Announcement>, circumstances: Circumstances = {}): Decide => {
  const message = announcement(said)
  return judgeAnnouncement({ ...given(message, circumstances), message })
}

export const hearHeartbeat = (said: Partial<Heartbeat>, circumstances: Circumstances = {}): Decide => {
  const message = heartbeat(said)
  return judgeHeartbeat({ ...given(message, circumstances), message })
}

/** What is known after all of these, each of which has to count. */
export const known = (first: Decide, ...more: ReadonlyArray<Decide>): Known =>
  more.reduce<Known>(
    (entry, decide) => Result.getOrThrow(decide(entry, undefined)),
    Result.getOrThrow(first(undefined, undefined))
  )

/** A server that announced itself at the start, and whatever else a test makes of it. */
export const server = (serverId: PeerId, said: Partial<Announcement> = {}, millis = 0): Known =>
  known(hearAnnouncement({ serverId, timestamp: wall(millis), ...said }, { now: at(millis) }))
