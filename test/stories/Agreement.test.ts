import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option, Random } from "effect"
import { TestClock } from "effect/testing"
import {
  announceTopic,
  heartbeatTopic,
  makeVirtualNetwork,
  type Topic,
  type VirtualServer,
  VirtualWords
} from "../../src/testing.ts"

/** A message of a made-up server, and what it says. */
interface Said {
  readonly sender: string
  readonly topic: Topic
  readonly timestamp: bigint
  readonly healthy: boolean
  readonly uptimeScore: number
  readonly signed: Uint8Array
}

const newest = (said: ReadonlyArray<Said>): Said | undefined =>
  said.reduce<Said | undefined>(
    (last, one) => (last === undefined || one.timestamp > last.timestamp ? one : last),
    undefined
  )

/**
 * The list that follows from a set of messages, by the sentences of the specification alone: the newest of each topic
 * counts, the newer of the two gives the verdict, and of two at the same moment the unhealthy one, then the lower score.
 */
const listOf = (heard: ReadonlyArray<Said>): ReadonlyArray<string> =>
  [...new Set(heard.map(({ sender }) => sender))]
    .flatMap((sender) => {
      const of = (topic: Topic) => newest(heard.filter((one) => one.sender === sender && one.topic === topic))
      const [announced, beaten] = [of(announceTopic), of(heartbeatTopic)]
      if (announced === undefined) return []
      const inForce = [announced, ...(beaten === undefined ? [] : [beaten])].sort(
        (left, right) =>
          Number(right.timestamp - left.timestamp) ||
          Number(left.healthy) - Number(right.healthy) ||
          left.uptimeScore - right.uptimeScore
      )[0]
      return inForce?.healthy === true ? [{ sender, score: inForce.uptimeScore }] : []
    })
    .sort((left, right) => right.score - left.score || (left.sender < right.sender ? -1 : 1))
    .map(({ sender }) => sender)

const seeds = Array.from({ length: 40 }, (_, index) => index)

describe("servers that heard the same", () => {
  it.effect.each(seeds)(
    "F01 R8 R20 list the same in the same order, whatever came first, twice or late (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork({ seed, links: "none" })
        const observers = yield* Effect.forEach(["p", "q", "r", "s"], (name) => network.start(name))
        const start = yield* network.wallNanos
        yield* TestClock.adjust("10 minutes")

        const senders = Array.from({ length: 6 }, (_, index) => network.attacker(`x${index}`))
        const said: Array<Said> = []
        for (const { name, peerId: serverId, sign } of senders) {
          for (const topic of [announceTopic, heartbeatTopic] as const) {
            // Few moments, so that announcements and heartbeats often share one; on a topic each is used once.
            const moments = yield* Random.shuffle([0, 1, 2, 3, 4, 5, 6, 7])
            for (const moment of moments.slice(0, 4)) {
              const words = {
                serverId,
                timestamp: start + BigInt(moment),
                healthy: yield* Random.nextBoolean,
                uptimeScore: (yield* Random.nextIntBetween(0, 4)) / 4
              }
              const data = topic === announceTopic ? VirtualWords.announcement(words) : VirtualWords.heartbeat(words)
              said.push({ sender: name, topic, ...words, signed: sign(topic, data) })
            }
          }
        }

        // Two observers get all of it, two get what is left of it after losses; each in an order and at a pace of its own.
        const heard = new Map<string, Set<Said>>()
        const deliver = Effect.fnUntraced(function* (observer: VirtualServer, loss: number) {
          const arriving: Array<Said> = []
          for (const one of said) {
            if ((yield* Random.next) < loss) continue
            arriving.push(one)
            if ((yield* Random.next) < 0.3) arriving.push(one)
          }
          heard.set(observer.name, new Set(arriving))
          const [neighbour] = senders
          for (const one of yield* Random.shuffle(arriving)) {
            yield* Effect.sleep(Duration.millis(yield* Random.nextIntBetween(0, 10_000)))
            if (neighbour !== undefined) yield* neighbour.hand(observer, one.signed)
          }
        })
        for (const [index, observer] of observers.entries()) {
          yield* Effect.forkScoped(deliver(observer, index < 2 ? 0 : 0.4))
        }
        yield* TestClock.adjust("30 minutes")

        const [p, q] = observers
        assert(p !== undefined && q !== undefined)
        assert.deepStrictEqual(yield* p.list, yield* q.list)
        for (const sender of senders) {
          const believed = (server: VirtualServer) =>
            Effect.map(
              server.entry(sender),
              Option.map(({ announcement, heartbeat }) => [announcement?.message, heartbeat?.message])
            )
          assert.deepStrictEqual(yield* believed(p), yield* believed(q))
        }
        for (const observer of observers) {
          const expected = listOf([...(heard.get(observer.name) ?? [])])
          yield* network.expectLists({ [observer.name]: expected })
        }
      }).pipe(Random.withSeed(seed))
  )
})

describe("servers on a bad network", () => {
  it.effect.each(seeds.slice(0, 6))(
    "R11 R12 agree once the weather is fine, after hours of late, lost and doubled words and failing checks (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const storm = { delay: "200 millis", jitter: "20 seconds", loss: 0.3, duplication: 0.3 } as const
        const network = yield* makeVirtualNetwork({ seed, links: "none", weather: storm })
        const names = ["a", "b", "c", "d", "e"]
        const servers = yield* Effect.forEach(names, (name) => network.server(name))
        // A ring with a chord: every message has more than one way to take.
        const links = [
          ...names.map((name, index) => [name, names[(index + 1) % 5] ?? "a"] as const),
          ["a", "c"] as const
        ]
        for (const [one, other] of links) yield* network.connect(one, other)
        for (const server of servers) {
          yield* server.start
          yield* TestClock.adjust(Duration.millis(yield* Random.nextIntBetween(0, 60_000)))
        }
        for (let round = 0; round < 8; round++) {
          for (const server of servers) {
            yield* server.check((yield* Random.next) < 0.3 ? Effect.fail("refused") : Effect.void)
          }
          yield* TestClock.adjust("13 minutes")
        }
        for (const [one, other] of links) yield* network.connect(one, other, {})
        const ill = new Set((yield* Random.shuffle(names)).slice(0, 2))
        for (const server of servers) yield* server.check(ill.has(server.name) ? Effect.fail("refused") : Effect.void)
        yield* TestClock.adjust("61 minutes")
        const scores = new Map<string, unknown>()
        for (const name of names) scores.set(name, network.spokenBy(name, heartbeatTopic).at(-1)?.words.uptime_score)
        const inOrder = names
          .filter((name) => !ill.has(name))
          .sort((left, right) => Number(scores.get(right)) - Number(scores.get(left)) || (left < right ? -1 : 1))
        yield* network.expectLists(
          Object.fromEntries(names.map((name) => [name, inOrder.filter((other) => other !== name)]))
        )
      }).pipe(Random.withSeed(seed))
  )
})
