/**
 * From bytes to verdict: decode, judge and admit, on one core, without signatures and without a network. Beside it, what
 * `JSON.parse` alone takes for the same bytes.
 */
import { Clock, Effect, Layer, Logger, Result } from "effect"
import { Gossip, type Received } from "../../src/gossip/Gossip.ts"
import { announceTopic, type Topic, topics } from "../../src/gossip/Topic.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import { Intake } from "../../src/registry/Intake.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { encodeAnnouncement, encodeHeartbeat } from "../../src/registry/Wire.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { median, print, summary } from "./Figures.ts"

const sizes = [100, 1_000, 10_000]
const messagesARound = 20_000
const rounds = 9
const warmUpRounds = 3
/** Between two messages of one server: it says each thing once an hour, as servers do. */
const hourNanos = 3_600_000_000_000n

/** A clock that the benchmark moves: all servers speak at once, and then an hour has passed. */
const movedClock = () => {
  let nanos = 1_800_000_000_000_000_000n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => Number(nanos / 1_000_000n),
    currentTimeMillis: Effect.sync(() => Number(nanos / 1_000_000n)),
    currentTimeNanosUnsafe: () => nanos,
    currentTimeNanos: Effect.sync(() => nanos),
    monotonicTimeNanosUnsafe: () => nanos,
    monotonicTimeNanos: Effect.sync(() => nanos),
    sleep: () => Effect.never
  }
  return {
    clock,
    nowNanos: () => nanos,
    anHourPasses: () => {
      nanos += hourNanos
    }
  }
}

const messagesOf = (topic: Topic, servers: number, timestamp: bigint): ReadonlyArray<Received> =>
  Array.from({ length: servers }, (_, index) => {
    const serverId = peerIdOf(index)
    const announcement: Announcement = {
      serverId,
      capabilities: ["store-and-forward", "mailbox", "document-sync"],
      maxStorage: "10GB",
      retentionPolicy: "720h0m0s",
      region: "eu-west",
      regions: ["eu-west"],
      uptimeScore: (288 - (index % 7)) / 288,
      healthy: true,
      timestamp: timestamp + BigInt(index),
      port: 55_223
    }
    const data = topic === announceTopic ? encodeAnnouncement(announcement) : encodeHeartbeat(announcement)
    return { topic, data, signer: serverId, neighbour: serverId, signed: () => data }
  })

const layer = Intake.layer.pipe(
  Layer.provide(Layer.mock(Gossip, { self: peerIdOf("the server measured") })),
  Layer.provide([RegistryMemory.layerBounded(50_000), OwnWords.layer, Tally.layer]),
  Layer.provide(Logger.layer([]))
)

const measure = Effect.fnUntraced(function* (topic: Topic, servers: number) {
  const time = movedClock()
  const measured = Effect.gen(function* () {
    const intake = yield* Intake
    const context = yield* Effect.context<never>()
    const runSync = Effect.runSyncWith(context)
    const verdicts: Array<number> = []
    const parses: Array<number> = []
    const decoder = new TextDecoder()
    let bytes = 0
    for (const message of messagesOf(announceTopic, servers, time.nowNanos())) {
      runSync(intake.consider(message, { kind: "topic" }))
    }
    for (let round = -warmUpRounds; round < rounds; round++) {
      const batches: Array<ReadonlyArray<Received>> = []
      for (let count = 0; count < messagesARound; count += servers) {
        batches.push(messagesOf(topic, servers, time.nowNanos() + hourNanos * BigInt(batches.length + 1)))
      }
      let parseMillis = 0
      let judgeMillis = 0
      for (const batch of batches) {
        time.anHourPasses()
        const start = performance.now()
        for (const { data } of batch) JSON.parse(decoder.decode(data))
        const parsed = performance.now()
        for (const message of batch) {
          const outcome = runSync(intake.consider(message, { kind: "topic" }))
          if (Result.isFailure(outcome)) throw new Error(`refused: ${outcome.failure.message}`)
        }
        judgeMillis += performance.now() - parsed
        parseMillis += parsed - start
        bytes = batch[0]?.data.byteLength ?? 0
      }
      if (round < 0) continue
      const count = batches.length * servers
      verdicts.push((count * 1_000) / judgeMillis)
      parses.push((count * 1_000) / parseMillis)
    }
    return { verdicts, parses, bytes }
  })
  return yield* measured.pipe(Effect.provide(layer), Effect.provideService(Clock.Clock, time.clock))
})

export const verdicts = Effect.gen(function* () {
  print(`bytes to verdict: decode, judge, admit; ${rounds} rounds of ${messagesARound} messages, one core`)
  for (const topic of topics) {
    for (const servers of sizes) {
      const { bytes, parses, verdicts } = yield* measure(topic, servers)
      print(`  ${topic}, ${bytes} bytes, ${servers} servers known`)
      print(`    to the verdict     ${summary(verdicts, "msg/s")}`)
      print(`    JSON.parse alone   ${summary(parses, "msg/s")}`)
      print(`    verdict / parse    ${(median(parses) / median(verdicts)).toFixed(1)} times the time`)
    }
  }
})
