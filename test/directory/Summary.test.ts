import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Result } from "effect"
import { BadFrame } from "../../src/directory/Frames.ts"
import * as Knowledge from "../../src/directory/Knowledge.ts"
import * as Summary from "../../src/directory/Summary.ts"
import type { PeerId } from "../../src/identity/PeerId.ts"
import type { Newest } from "../../src/registry/Known.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import { alice, announcement, bob, carol, heartbeat, hour, minute, wall } from "../registry/Sample.ts"

const salt = Uint8Array.from({ length: 16 }, (_, index) => index)
const atMillis = 10 * hour
const wallNanos = wall(atMillis)

/** A server that announced and sent its last heartbeat so many milliseconds ago. */
const words = (serverId: PeerId, announcedAgo: number | undefined, beatAgo?: number): Summary.Words => {
  const of = (topic: string, ago: number | undefined) =>
    ago === undefined
      ? undefined
      : { timestamp: wall(atMillis - ago), signed: Buffer.from(`${topic} ${serverId} ${ago}`) }
  const [said, beat] = [of("announce", announcedAgo), of("heartbeat", beatAgo)]
  return {
    serverId,
    announcement: said && { message: announcement({ serverId, timestamp: said.timestamp }), signed: said.signed },
    heartbeat: beat && { message: heartbeat({ serverId, timestamp: beat.timestamp }), signed: beat.signed }
  }
}

/** The same words, made at another time. */
const at = <A extends { readonly timestamp: bigint }>(newest: Newest<A> | undefined, timestamp: bigint) =>
  newest && { ...newest, message: { ...newest.message, timestamp } }

const textsOf = (server: Summary.Words) => Summary.signedOf(server, wallNanos).map((signed) => String(signed))

/** The question of who knows these, and what one who knows those would send. */
const exchange = Effect.fnUntraced(function* (
  asking: ReadonlyArray<Summary.Words>,
  answering: ReadonlyArray<Summary.Words>,
  buckets = Summary.bucketsFor(asking.length)
) {
  const asked = yield* Knowledge.digest(salt, asking, buckets, wallNanos)
  if (buckets === 0) return { sent: answering, bucketOf: new Map<PeerId, number>() }
  const ours = yield* Knowledge.digest(salt, answering, buckets, wallNanos)
  const sent = answering.filter((_, index) => {
    const bucket = ours.bucketOf[index] ?? 0
    return ours.digests[bucket] !== asked.digests[bucket]
  })
  return { sent, bucketOf: new Map(answering.map(({ serverId }, index) => [serverId, ours.bucketOf[index] ?? 0])) }
})

describe("what is handed on of a server", () => {
  it("R12 is the newest heartbeat, then the newest announcement, each while it is less than 2 hours old", () => {
    assert.deepStrictEqual(textsOf(words(alice, hour, minute)), [
      `heartbeat ${alice} ${minute}`,
      `announce ${alice} ${hour}`
    ])
    assert.deepStrictEqual(textsOf(words(alice, 2 * hour - 1, 2 * hour)), [`announce ${alice} ${2 * hour - 1}`])
    assert.deepStrictEqual(textsOf(words(alice, minute)), [`announce ${alice} ${minute}`])
  })

  it("R12 S16 is nothing where no announcement is known, or only one that nobody would believe any more", () => {
    const isKnown = (server: Summary.Words) => Summary.isKnown(server, wallNanos)
    assert.isTrue(isKnown(words(alice, 2 * hour - 1)))
    assert.isFalse(isKnown(words(alice, 2 * hour, minute)))
    assert.isFalse(isKnown(words(alice, undefined, minute)))
  })
})

describe("a question", () => {
  it("R12 has a digest for about two servers, and 4096 at most", () => {
    const buckets = [0, 1, 2, 3, 4, 5, 8, 9, 25, 1_000, 8_192, 50_000].map(Summary.bucketsFor)
    assert.deepStrictEqual(buckets, [0, 1, 1, 2, 2, 4, 4, 8, 16, 512, 4_096, 4_096])
  })

  it.effect("R12 is written as PROTOCOL.md says, by a hand that knows no more than it", () =>
    Effect.gen(function* () {
      const servers = [words(alice, hour, minute), words(bob, minute), words(carol, minute, 2 * hour)]
      const sha256 = (...parts: ReadonlyArray<Uint8Array | string>) =>
        parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest()
      const eight = (value: bigint) => Buffer.from(value.toString(16).padStart(16, "0"), "hex")
      const expected = [0n, 0n]
      for (const [id, announced, beaten] of [
        [alice, wall(atMillis - hour), wall(atMillis - minute)],
        [bob, wall(atMillis - minute), 0n],
        [carol, wall(atMillis - minute), 0n]
      ] as const) {
        const bucket = sha256(salt, id).readUInt32BE() % 2
        const digest = sha256(salt, id, Uint8Array.of(0), eight(announced), eight(beaten)).readBigUInt64BE()
        expected[bucket] = (expected[bucket] ?? 0n) ^ digest
      }
      const { digests } = yield* Knowledge.digest(salt, servers, 2, wallNanos)
      assert.deepStrictEqual(digests, expected)
      const bytes = Summary.encode({ salt, digests })
      assert.strictEqual(
        Buffer.from(bytes).toString("hex"),
        `${Buffer.from(salt).toString("hex")}${expected.map((digest) => eight(digest).toString("hex")).join("")}`
      )
      assert.deepStrictEqual(Summary.decode(bytes), Result.succeed({ salt, digests: expected }))
    })
  )

  it.effect("R12 is the one that PROTOCOL.md shows", () =>
    Effect.gen(function* () {
      const now = 1_796_102_103_000_000_000n
      const [first, second] = [words(alice, 0, 0), words(bob, 0)]
      const shown = [
        {
          ...first,
          announcement: at(first.announcement, 1_796_098_443_000_000_000n),
          heartbeat: at(first.heartbeat, 1_796_102_043_123_456_789n)
        },
        { ...second, announcement: at(second.announcement, 1_796_101_983_000_000_000n) }
      ]
      const salt = Uint8Array.from({ length: 16 }, (_, index) => 0x10 + index)
      const { digests } = yield* Knowledge.digest(salt, shown, 2, now)
      const bytes = Buffer.from(Summary.encode({ salt, digests }))
      assert.strictEqual(bytes.length, 0x20)
      const document = yield* Effect.promise(() =>
        readFile(new URL("../../src/directory/PROTOCOL.md", import.meta.url), "utf8")
      )
      assert.deepStrictEqual(/^[0-9a-f]{64}$/m.exec(document)?.[0], bytes.toString("hex"))
    })
  )

  it("R12 of another length is none", () => {
    const problemOf = (length: number) =>
      Result.match(Summary.decode(new Uint8Array(length)), {
        onSuccess: ({ digests }) => digests.length,
        onFailure: (bad) => {
          assert.instanceOf(bad, BadFrame)
          return bad.problem
        }
      })
    assert.deepStrictEqual([16, 24, 32, 48, 16 + 8 * 4_096].map(problemOf), [0, 1, 2, 4, 4_096], "these are questions")
    for (const length of [0, 15, 17, 23, 25, 40, 16 + 8 * 3, 16 + 8 * 4_095, 16 + 8 * 8_192]) {
      assert.strictEqual(problemOf(length), `a question of ${length} bytes is none`)
    }
  })

  it.effect("R12 says nothing to who does not know the servers: another salt, other digests and other buckets", () =>
    Effect.gen(function* () {
      const servers = Array.from({ length: 64 }, (_, index) => words(peerIdOf(index), minute))
      const one = yield* Knowledge.digest(salt, servers, 32, wallNanos)
      const again = yield* Knowledge.digest(salt, [...servers].reverse(), 32, wallNanos)
      const other = yield* Knowledge.digest(new Uint8Array(16), servers, 32, wallNanos)
      assert.deepStrictEqual(again.digests, one.digests)
      assert.notDeepEqual(other.bucketOf, one.bucketOf)
      assert.deepStrictEqual(
        other.digests.filter((digest) => digest !== 0n && one.digests.includes(digest)),
        []
      )
    })
  )
})

describe("an answer", () => {
  it.effect("R12 is everything to who knows nothing, and nothing to who knows the same", () =>
    Effect.gen(function* () {
      const servers = Array.from({ length: 1_500 }, (_, index) => words(peerIdOf(index), minute, index % 3 && minute))
      assert.deepStrictEqual((yield* exchange([], servers)).sent, servers)
      assert.deepStrictEqual((yield* exchange(servers, servers)).sent, [])
      assert.deepStrictEqual((yield* exchange(servers, [])).sent, [])
    })
  )

  it.effect("R12 has all that the asker lacks, and of what it knows only what shares a bucket with that", () =>
    Effect.gen(function* () {
      for (let seed = 0; seed < 200; seed++) {
        const random = yield* Random.withSeed(Random.Random, seed)
        const below = (most: number) => Math.floor(random.nextDoubleUnsafe() * most)
        const size = 1 + below(120)
        const answering = Array.from({ length: size }, (_, index) =>
          words(peerIdOf(index), minute * (1 + below(100)), below(4) === 0 ? undefined : minute * below(100))
        )
        // The asker knows some as they are, some by older words, and some that the answerer does not know.
        const asking: Array<Summary.Words> = Array.from({ length: below(5) }, (_, index) =>
          words(peerIdOf(1_000 + index), 1)
        )
        const lacking = new Set<PeerId>()
        for (const server of answering) {
          const kind = below(3)
          if (kind === 0) asking.push(server)
          else lacking.add(server.serverId)
          if (kind === 1) asking.push({ ...server, announcement: words(server.serverId, 101 * minute).announcement })
        }
        const { sent, bucketOf } = yield* exchange(asking, answering)
        const buckets = new Set([...lacking].map((server) => bucketOf.get(server)))
        const strangers = yield* Knowledge.digest(salt, asking, Summary.bucketsFor(asking.length) || 1, wallNanos)
        asking.forEach(({ serverId }, index) => {
          if (!bucketOf.has(serverId)) buckets.add(strangers.bucketOf[index])
        })
        const ids = sent.map(({ serverId }) => serverId)
        assert.deepStrictEqual(
          ids,
          answering
            .map(({ serverId }) => serverId)
            .filter((server) => asking.length === 0 || buckets.has(bucketOf.get(server))),
          `seed ${seed}`
        )
        assert.isTrue(
          [...lacking].every((server) => ids.includes(server)),
          `seed ${seed}`
        )
      }
    })
  )

  it.effect("R12 tells a newer heartbeat by its nanoseconds", () =>
    Effect.gen(function* () {
      const [old] = [words(alice, hour, minute)]
      const beat = old.heartbeat
      const newer =
        beat === undefined
          ? old
          : { ...old, heartbeat: { ...beat, message: { ...beat.message, timestamp: beat.message.timestamp + 1n } } }
      assert.deepStrictEqual((yield* exchange([old], [newer])).sent, [newer])
    })
  )
})
