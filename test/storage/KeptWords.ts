/**
 * Servers as they are kept, with words that verify, and what believes them: the registry and all that it takes, on a
 * network of which nothing but the signatures and the address book is there.
 */
import { Effect, Layer } from "effect"
import { Settings } from "../../src/config/Settings.ts"
import { AddressBook } from "../../src/gossip/AddressBook.ts"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { open, sign } from "../../src/gossip/GossipMemorySignature.ts"
import { announceTopic, heartbeatTopic, type Topic } from "../../src/gossip/Topic.ts"
import { Readiness } from "../../src/health/Readiness.ts"
import { SelfCheck } from "../../src/health/SelfCheck.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import { Intake } from "../../src/registry/Intake.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../../src/registry/Wire.ts"
import type { KeptMessage, KeptServer } from "../../src/storage/KeptServers.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import { announcement, heartbeat, startMillis } from "../registry/Sample.ts"

export const verified = (signed: Uint8Array) =>
  Effect.map(Effect.fromResult(open(signed)), ({ from, topic, data }) => ({
    topic,
    data,
    signer: from,
    signed: () => signed
  }))

const signed = (topic: Topic, data: Uint8Array, from: PeerId) => sign({ topic, data, from, sequence: 0n })

export const announced = (said: Partial<Announcement> = {}): KeptMessage => {
  const words = announcement(said)
  return { signed: signed(announceTopic, encodeAnnouncement(words), words.serverId), timestamp: words.timestamp }
}

export const beaten = (said: Partial<Heartbeat> = {}): KeptMessage => {
  const words = heartbeat(said)
  return { signed: signed(heartbeatTopic, encodeHeartbeat(words), words.serverId), timestamp: words.timestamp }
}

/** A server kept with an announcement at the start of all tests, heard then and there unless a test says otherwise. */
export const kept = (serverId: PeerId, more: Partial<KeptServer> = {}): KeptServer => ({
  serverId,
  announcement: announced({ serverId }),
  heartbeat: undefined,
  firstHeardMillis: startMillis,
  lastHeardMillis: startMillis,
  addresses: [],
  ...more
})

/** A network that has signatures and an address book, and nothing else. */
const network = (self: PeerId) =>
  Layer.suspend(() => {
    const book = new AddressBook()
    return Layer.mock(Gossip, {
      self,
      verify: verified,
      addressBook: Effect.sync(() => book.nodes),
      remember: (earlier) => Effect.sync(() => book.remember(earlier))
    })
  })

/** What is believed and measured by a server whose checks pass. */
export const believing = (self: PeerId) =>
  Intake.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(RegistryMemory.layer, OwnWords.layer, Tally.layer, SelfCheck.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        network(self),
        Layer.mock(Readiness, {
          report: () => Effect.succeed({ ready: true, checks: {}, failures: [], durationMillis: 1 })
        }),
        Layer.succeed(Settings, VirtualSettings.make({ maxServers: 1_000 }))
      )
    )
  )
