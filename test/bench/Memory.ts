/**
 * What a server's knowledge of others weighs: announcement, heartbeat and the last 60 verdicts of each, as they are held
 * by the registry and by all that judges, in virtual time and with messages signed in form only.
 */
import { randomBytes } from "node:crypto"
import type { SignedMessage } from "@libp2p/gossipsub"
import { peerIdFromString } from "@libp2p/peer-id"
import { Effect, Layer, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import { Gossip, type Received } from "../../src/gossip/Gossip.ts"
import { seal } from "../../src/gossip/GossipLibp2pMessages.ts"
import { announceTopic, heartbeatTopic, type Topic } from "../../src/gossip/Topic.ts"
import { fromCanonical } from "../../src/identity/PeerId.ts"
import { Intake } from "../../src/registry/Intake.ts"
import { recentVerdicts } from "../../src/registry/Limits.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import { refuse } from "../../src/registry/Refusal.ts"
import { Registry } from "../../src/registry/Registry.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { VirtualWords } from "../../src/testing.ts"
import { now } from "../../src/time/Now.ts"
import { print } from "./Figures.ts"
import { megabytes, settled } from "./Heap.ts"

const servers = 50_000
const beatMillis = 300_000
const self = peerIdOf("the server measured")
let sequenceNumber = 0n

/** A message as GossipSub hands it over: no text in it is shared with another. */
const received = (topic: Topic, index: number, timestamp: bigint): Received => {
  const peer = peerIdFromString(peerIdOf(index))
  const signer = fromCanonical(peer.toString())
  const words = { serverId: signer, timestamp, region: "eu-west", regions: ["eu-west"] }
  const data = topic === announceTopic ? VirtualWords.announcement(words) : VirtualWords.heartbeat(words)
  const key = peer.publicKey as SignedMessage["key"]
  const signature = randomBytes(64)
  const message = { type: "signed", from: peer, topic, data, sequenceNumber: ++sequenceNumber, signature, key } as const
  return { topic, data, signer, neighbour: signer, signed: () => seal(message) }
}

const layer = Intake.layer.pipe(
  Layer.provide(Layer.mock(Gossip, { self })),
  Layer.provide([OwnWords.layer, Tally.layer]),
  Layer.provideMerge(RegistryMemory.layerBounded(servers))
)

const measured = Effect.gen(function* () {
  const [intake, registry] = [yield* Intake, yield* Registry]
  const hear = Effect.fnUntraced(function* (topic: Topic) {
    const { wallNanos } = yield* now
    for (let index = 0; index < servers; index++) {
      const outcome = yield* intake.consider(received(topic, index, wallNanos), { kind: "topic" })
      if (Result.isFailure(outcome)) return yield* Effect.die(new Error(outcome.failure.message))
    }
  })
  /** What Judge leaves of a server's last checks, made at once: judging three million of them takes minutes. */
  const remember = Effect.gen(function* () {
    const { wallNanos } = yield* now
    const latest = Number(wallNanos / 1_000_000n)
    const checks = (server: number) =>
      Array.from({ length: recentVerdicts }, (_, beat) => ({
        wallMillis: latest - (recentVerdicts - beat) * beatMillis + server,
        healthy: (server + beat) % 100 !== 0
      }))
    for (let index = 0; index < servers; index++) {
      yield* registry.admit(peerIdOf(index), (known) =>
        known === undefined
          ? Result.fail(refuse("defect", "not known"))
          : Result.succeed({ ...known, recent: checks(index), beatMillis })
      )
    }
  })

  const empty = settled()
  const tell = (what: string, bytes: number) =>
    print(`  ${what.padEnd(42)} ${megabytes(bytes).padStart(10)}, ${Math.round(bytes / servers)} bytes a server`)
  const held = Effect.sync(() => settled() - empty)
  print(
    `memory at ${servers.toLocaleString("en-US")} servers: the heap and the buffers that it holds, less those of none`
  )
  yield* hear(announceTopic)
  tell("an announcement of each", yield* held)
  yield* hear(heartbeatTopic)
  tell("and a heartbeat", yield* held)
  yield* remember
  tell(`and ${recentVerdicts} verdicts`, yield* held)
  yield* TestClock.adjust("25 hours")
  tell(`${(yield* registry.entries).length} known, a day after the last word`, yield* held)
})

export const memory = measured.pipe(
  Effect.provide(layer),
  Effect.provide(TestClock.layer()),
  Effect.provide(Logger.layer([])),
  Effect.scoped
)
