/** The directory protocol on real streams: our nodes with each other, and with a client written from PROTOCOL.md alone. */
import { createHash, randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { RPC } from "@libp2p/gossipsub/message"
import type { Stream } from "@libp2p/interface"
import { Clock, Effect } from "effect"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import { acquaint, type LiveDirectory, liveDirectory } from "../directory/LiveDirectory.ts"
import * as SignedServers from "../directory/SignedServers.ts"
import { dial, until } from "./LiveNodes.ts"
import { type RawGossip, rawGossip } from "./RawGossip.ts"

const protocol = "/sf-network/services/directory/1.0.0"
const servers = 300

const knows = ({ registry }: LiveDirectory, count: number) =>
  until(
    Effect.map(
      registry.entries,
      (entries) => entries.filter((known) => known.announcement && known.heartbeat).length === count
    )
  )

// What follows knows nothing but PROTOCOL.md: no module of ours, and libp2p's streams as they are.

const frame = (bytes: Uint8Array): Uint8Array => {
  const prefix: Array<number> = []
  for (let rest = bytes.length; ; rest = rest >> 7) {
    prefix.push(rest < 128 ? rest : (rest & 127) | 128)
    if (rest < 128) return Buffer.concat([Uint8Array.from(prefix), bytes])
  }
}

const framesOf = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
  const frames: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; ) {
    let length = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0
      length |= (byte & 127) << shift
      if (byte < 128) break
    }
    frames.push(bytes.subarray(at, at + length))
    at += length
  }
  return frames
}

const bytesOf = async (stream: Stream): Promise<Buffer> => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of stream) pieces.push(piece.subarray())
  return Buffer.concat(pieces)
}

interface Times {
  readonly announcement: bigint
  readonly heartbeat: bigint
}

const digestsOf = (salt: Uint8Array, k: number, known: ReadonlyMap<string, Times>): ReadonlyArray<bigint> => {
  const eight = (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(value)
    return bytes
  }
  const sha256 = (...parts: ReadonlyArray<Uint8Array | string>) => {
    const hash = createHash("sha256")
    for (const part of parts) hash.update(part)
    return hash.digest()
  }
  const digests = Array.from({ length: k }, () => 0n)
  for (const [id, { announcement, heartbeat }] of known) {
    const bucket = sha256(salt, id).readUInt32BE() % k
    const digest = sha256(salt, id, Uint8Array.of(0), eight(announcement), eight(heartbeat)).readBigUInt64BE()
    digests[bucket] = (digests[bucket] ?? 0n) ^ digest
  }
  return digests
}

const question = (k: number, known: ReadonlyMap<string, Times>): Uint8Array => {
  const salt = randomBytes(16)
  const bytes = Buffer.alloc(16 + 8 * k)
  bytes.set(salt)
  digestsOf(salt, k, known).forEach((digest, index) => {
    bytes.writeBigUInt64BE(digest, 16 + 8 * index)
  })
  return bytes
}

/** Asks the one that the raw node is connected to. */
const rawAsk = (raw: RawGossip, asked: Uint8Array) =>
  Effect.promise(async () => {
    const [connection] = raw.libp2p.getConnections()
    const stream = await connection?.newStream(protocol)
    if (stream === undefined) throw new Error("not connected")
    const answer = bytesOf(stream)
    stream.send(frame(asked))
    await stream.close()
    return framesOf(await answer).map((bytes) => RPC.Message.decode(bytes))
  })

/** Who is spoken of, on which topic, in order. */
const gist = (messages: ReadonlyArray<RPC.Message>) =>
  messages
    .map(({ data, topic }) => ({ topic, ...JSON.parse(new TextDecoder().decode(data)) }))
    .map((words) => `${words.topic} ${words.server_id}`)

describe("directories over libp2p", () => {
  it.live("R12 a newcomer knows 300 servers from the one that it is connected to, and asks again for nothing", () =>
    Effect.gen(function* () {
      const [old, newcomer] = [yield* liveDirectory, yield* liveDirectory]
      yield* acquaint(old, servers)
      yield* dial(newcomer.node, old.node)
      yield* knows(newcomer, servers)
      const first = yield* newcomer.sync.counts
      assert.deepStrictEqual(
        { ...first, bytes: 0 },
        { asked: 1, failed: 0, messages: 600, bytes: 0, accepted: 600, known: 0, refused: 0 }
      )
      assert.isTrue(yield* newcomer.sync.ask(old.node.self))
      assert.isTrue(yield* old.sync.ask(newcomer.node.self))
      assert.deepStrictEqual(yield* newcomer.sync.counts, { ...first, asked: 2 })
      const { accepted, failed, messages } = yield* old.sync.counts
      assert.deepStrictEqual({ accepted, failed, messages }, { accepted: 0, failed: 0, messages: 0 })
      // Word for word what was signed.
      const words = yield* Effect.forEach([old, newcomer], ({ registry }) =>
        Effect.map(registry.entries, (entries) =>
          entries.map((known) => [known.serverId, known.announcement?.signed, known.heartbeat?.signed] as const).sort()
        )
      )
      assert.deepStrictEqual(
        words[1]?.map((row) => row.map(String)),
        words[0]?.map((row) => row.map(String))
      )
    })
  )

  it.live("R12 a client written from PROTOCOL.md is answered", () =>
    Effect.gen(function* () {
      const old = yield* liveDirectory
      const known = yield* acquaint(old, servers)
      const wallNanos = yield* Clock.currentTimeNanos
      const raw = yield* rawGossip
      yield* raw.connect(old.node.address)

      const all = yield* rawAsk(raw, question(0, new Map()))
      assert.deepStrictEqual(
        gist(all),
        known.flatMap(({ peerId }) => [`${heartbeatTopic} ${peerId}`, `${announceTopic} ${peerId}`])
      )

      const times = new Map(
        (yield* old.registry.entries).map((entry) => [
          String(entry.serverId),
          {
            announcement: entry.announcement?.message.timestamp ?? 0n,
            heartbeat: entry.heartbeat?.message.timestamp ?? 0n
          }
        ])
      )
      assert.deepStrictEqual(gist(yield* rawAsk(raw, question(256, times))), [])
      const [newest] = known
      if (newest === undefined) return yield* Effect.die("no server")
      yield* old.intake.consider(newest.heartbeat(wallNanos), { kind: "topic" })
      const changed = gist(yield* rawAsk(raw, question(256, times)))
      assert.isTrue(changed.includes(`${heartbeatTopic} ${newest.peerId}`))
      assert.isAtMost(changed.length, 16)
    })
  )

  it.live(
    "R12 a server written from PROTOCOL.md is asked, and what it hands on is believed as far as it is signed",
    () =>
      Effect.gen(function* () {
        const wallNanos = yield* Clock.currentTimeNanos
        const raw = yield* rawGossip
        const known = Array.from({ length: servers }, SignedServers.make)
        const ago = (seconds: bigint) => wallNanos - seconds * 1_000_000_000n
        const words = known.flatMap((server) => [server.heartbeat(ago(60n)), server.announcement(ago(1_800n))])
        const [victim] = known
        const forged = RPC.Message.decode(words.at(-1)?.signed() ?? new Uint8Array())
        const forgery = RPC.Message.encode({ ...forged, data: victim?.announcement(wallNanos).data ?? Buffer.of() })
        const asked: Array<Uint8Array> = []
        yield* Effect.promise(() =>
          raw.libp2p.handle(protocol, async (stream) => {
            asked.push(...framesOf(await bytesOf(stream)))
            for (const bytes of [...words.map(({ signed }) => signed()), forgery]) {
              if (!stream.send(frame(bytes))) await stream.onDrain()
            }
            await stream.close()
          })
        )
        const newcomer = yield* liveDirectory
        yield* raw.connect(newcomer.node.address)
        yield* raw.join(announceTopic)
        yield* knows(newcomer, servers)
        const counts = yield* newcomer.sync.counts
        assert.deepStrictEqual(
          { ...counts, bytes: 0 },
          { asked: 1, failed: 0, messages: 601, bytes: 0, accepted: 600, known: 0, refused: 1 }
        )
        assert.deepStrictEqual(
          asked.map((bytes) => bytes.length),
          [16]
        )
        // Asked again, it is told what the asker knows.
        assert.isTrue(yield* newcomer.sync.ask(raw.libp2p.peerId.toString() as typeof newcomer.node.self))
        const again = Buffer.from(asked[1] ?? [])
        assert.strictEqual(again.length, 16 + 8 * 256)
        const times = new Map(known.map(({ peerId }) => [peerId, { announcement: ago(1_800n), heartbeat: ago(60n) }]))
        assert.deepStrictEqual(
          Array.from({ length: 256 }, (_, index) => again.readBigUInt64BE(16 + 8 * index)),
          digestsOf(again.subarray(0, 16), 256, times)
        )
        assert.strictEqual((yield* newcomer.sync.counts).accepted, 600)
      })
  )

  it.live("R12 a long answer waits for a slow reader and is read to its end; one who never reads is left", () =>
    Effect.gen(function* () {
      const old = yield* liveDirectory
      yield* acquaint(old, 3_000)
      const raw = yield* rawGossip
      yield* raw.connect(old.node.address)
      const open = Effect.promise(async () => {
        const [connection] = raw.libp2p.getConnections()
        const stream = await connection?.newStream(protocol)
        if (stream === undefined) throw new Error("not connected")
        stream.pause()
        stream.send(frame(question(0, new Map())))
        await stream.close()
        return stream
      })
      const slow = yield* open
      yield* Effect.sleep("500 millis")
      const answer = bytesOf(slow)
      slow.resume()
      assert.strictEqual(framesOf(yield* Effect.promise(() => answer)).length, 6_000)

      const never = yield* open
      yield* until(
        Effect.sync(() => never.status !== "open"),
        15_000
      )
      assert.strictEqual(never.status, "reset")
      assert.strictEqual((yield* rawAsk(raw, question(0, new Map()))).length, 6_000)
    })
  )
})
