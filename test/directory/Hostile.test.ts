import { assert, describe, it } from "@effect/vitest"
import { Cause, type Duration, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Bounds from "../../src/directory/Bounds.ts"
import { DirectorySync } from "../../src/directory/DirectorySync.ts"
import { StreamBroken } from "../../src/gossip/Streams.ts"
import { makeVirtualNetwork, peerIdOf, type VirtualNetwork, type VirtualServer } from "../../src/testing.ts"
import { announced, ask, beaten, everything, framed, type Neighbour, neighbour, readAll, saying } from "./Neighbours.ts"

const second = 1_000_000_000n
const minute = 60n * second

const countsOf = (server: VirtualServer) => server.run(Effect.flatMap(DirectorySync, ({ counts }) => counts))

/** What the server says of a directory that it did not get, oldest first. */
const failures = (server: VirtualServer) =>
  server
    .logged("directory not received")
    .map(({ annotations, atMillis, level }) => ({ atMillis, level, reason: annotations.reason }))

/** A server up for half an hour, on a network whose links are made by the test. */
const lonely = Effect.fnUntraced(function* (options?: Parameters<VirtualNetwork["start"]>[1]) {
  const network = yield* makeVirtualNetwork({ links: "none" })
  const server = yield* network.start("server", options)
  yield* TestClock.adjust("30 minutes")
  return { network, server, now: yield* network.wallNanos }
})

describe("a neighbour that is asked and", () => {
  for (const [manner, serve] of [
    ["says nothing", () => Effect.never],
    ["breaks off", () => Effect.fail(new StreamBroken({ reason: "reset", cause: undefined }))],
    ["dies", () => Effect.die("bug")],
    ["sends garbage", saying(new Uint8Array(100_000).fill(0xff))],
    ["does not speak the protocol", undefined]
  ] as const) {
    it.effect(`R12 ${manner} costs its own usefulness alone: the next one is asked within a second`, () =>
      Effect.gen(function* () {
        const network = yield* makeVirtualNetwork({ links: "none" })
        const a = yield* network.start("a")
        const b = yield* network.start("b")
        yield* network.connect(a, b)
        yield* TestClock.adjust("30 minutes")
        const server = yield* network.server("server")
        yield* neighbour(network, "bad", server, serve)
        yield* server.start
        yield* TestClock.adjust("2 millis")
        yield* network.connect(a, server)
        yield* TestClock.adjust("1100 millis")
        yield* network.expectLists({ server: ["a", "b"] })
      })
    )
  }

  it.effect("R12 says nothing is given up after 10 seconds, and tried again at growing pauses", () =>
    Effect.gen(function* () {
      const { network, server } = yield* lonely()
      yield* neighbour(network, "silent", server, () => Effect.never)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        failures(server).map(({ atMillis, level, reason }) => [
          Math.floor((atMillis - 1_800_000) / 1_000),
          level,
          reason
        ]),
        [
          [10, "Debug", "timeout"],
          [22, "Debug", "timeout"],
          [36, "Debug", "timeout"],
          [54, "Debug", "timeout"]
        ]
      )
    })
  )

  it.effect("R12 is slow is given up after a minute, and what it said till then counts", () =>
    Effect.gen(function* () {
      const { network, now, server } = yield* lonely()
      const words = Array.from({ length: 100 }, (_, index) => framed(announced(index, now)))
      yield* neighbour(network, "slow", server, (stream) =>
        Effect.gen(function* () {
          yield* readAll(stream)
          for (const bytes of words) yield* Effect.andThen(stream.write(bytes), Effect.sleep("9 seconds"))
        })
      )
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(failures(server), [])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(
        failures(server).map(({ reason }) => reason),
        ["timeout"]
      )
      assert.isAbove((yield* server.list).length, 0)
    })
  )

  it.effect(
    "R12 R19 never ends is left after twice as many messages as there is room for servers, with a warning",
    () =>
      Effect.gen(function* () {
        const { network, now, server } = yield* lonely({ maxServers: 1_000 })
        const piece = framed(...Array.from({ length: 100 }, () => announced("one and the same", now)))
        let written = 0
        yield* neighbour(network, "endless", server, (stream) =>
          Effect.gen(function* () {
            yield* readAll(stream)
            while (true) {
              yield* stream.write(piece)
              written += 100
            }
          })
        )
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(
          failures(server).map(({ level, reason }) => ({ level, reason })),
          [{ level: "Warn", reason: "more than 2000 messages in one answer" }]
        )
        // What is written ahead of the reader is bounded by the stream.
        assert.isAtMost(written, 2_000 + 100 * 40)
        yield* network.expectLists({ server: ["one and the same"].map(peerIdOf) })
      })
  )

  it.effect("R12 announces a frame that is too long is left before it arrives", () =>
    Effect.gen(function* () {
      const { network, server } = yield* lonely()
      yield* neighbour(network, "bad", server, saying(Uint8Array.of(0x81, 0x80, 0x01)))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        failures(server).map(({ level, reason }) => ({ level, reason })),
        [{ level: "Warn", reason: "a frame of 16385 bytes, at most 16384 are read" }]
      )
    })
  )

  it.effect("R12 S8 A01 forges or alters messages is believed in nothing, and left when it goes on", () =>
    Effect.gen(function* () {
      const { network, now, server } = yield* lonely()
      const forger = peerIdOf("forger")
      const forged = Array.from({ length: 5 }, (_, index) => announced(`forged ${index}`, now, {}, forger))
      const named = Array.from({ length: 5 }, () => announced("forger", now, { serverId: peerIdOf("victim") }))
      const altered = Array.from({ length: 5 }, (_, index) => {
        const bytes = announced(`altered ${index}`, now)
        bytes[bytes.length - 3] = (bytes[bytes.length - 3] ?? 0) ^ 1
        return bytes
      })
      const malformed = [framed(new Uint8Array()), framed(new TextEncoder().encode("garbage"))]
      const true1 = announced("true 1", now)
      const true2 = announced("true 2", now)
      const answer = (...more: ReadonlyArray<Uint8Array>) =>
        Buffer.concat([framed(true1, ...forged, ...named, ...altered, ...more), framed(true2)])

      yield* neighbour(network, "patient", server, saying(answer()))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(failures(server), [])
      assert.deepStrictEqual([...(yield* server.list)].sort(), ["true 1", "true 2"].map(peerIdOf).sort())
      assert.deepStrictEqual(yield* countsOf(server), {
        asked: 1,
        failed: 0,
        messages: 17,
        bytes: answer().length - 17 * 2,
        accepted: 2,
        known: 0,
        refused: 15
      })
      // No word of it in the name of those who never said it (S23 is for what a signer did say).
      assert.deepStrictEqual(server.logged("rejected message"), [])
      yield* network.disconnect("patient", server)

      yield* neighbour(network, "worse", server, saying(Buffer.concat([answer(), ...malformed])))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        failures(server).map(({ level, reason }) => ({ level, reason })),
        [{ level: "Warn", reason: "over 16 messages no honest server hands on" }]
      )
    })
  )

  it.effect("R12 R7 hands on old words refreshes nobody and revives nobody", () =>
    Effect.gen(function* () {
      const { network, now, server } = yield* lonely()
      const words = (ago: bigint, beatAgo: bigint) => framed(beaten("old", now - beatAgo), announced("old", now - ago))
      let answer = words(90n * minute, 80n * minute)
      yield* neighbour(network, "one", server, (stream) => saying(answer)(stream))
      yield* TestClock.adjust("1 second")
      yield* network.expectLists({ server: [peerIdOf("old")] })
      const entry = yield* server.entry({ peerId: peerIdOf("old") })
      const heard = Option.getOrThrow(entry).lastHeard.wallMillis
      assert.strictEqual(heard, Number((now - 80n * minute) / 1_000_000n))

      // Played again, older still, and dead.
      for (const [ago, beatAgo] of [
        [90n, 80n],
        [100n, 90n],
        [130n, 121n]
      ] as const) {
        answer = words(ago * minute, beatAgo * minute)
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual(yield* server.entry({ peerId: peerIdOf("old") }), entry)
      }
      yield* TestClock.adjust("10 minutes")
      yield* network.expectLists({ server: [] })
      assert.isAtLeast((yield* countsOf(server)).asked, 4)
      assert.strictEqual((yield* countsOf(server)).accepted, 2)
    })
  )

  it.effect("R7 hands on words of the future makes nobody be heard later than now", () =>
    Effect.gen(function* () {
      const { network, now, server } = yield* lonely()
      const answer = framed(announced("soon", now + 110n * second), announced("later", now + 200n * second))
      yield* neighbour(network, "one", server, saying(answer))
      yield* TestClock.adjust("1 second")
      yield* network.expectLists({ server: [peerIdOf("soon")] })
      const { lastHeard } = Option.getOrThrow(yield* server.entry({ peerId: peerIdOf("soon") }))
      assert.isAtMost(lastHeard.wallMillis, Number((now + second) / 1_000_000n))
    })
  )

  it.effect("R12 hands on the asker's own words is not believed about the asker", () =>
    Effect.gen(function* () {
      const { network, now, server } = yield* lonely()
      yield* neighbour(network, "one", server, saying(framed(announced("server", now), beaten("server", now, false))))
      yield* TestClock.adjust("1 second")
      yield* network.expectLists({ server: [] })
      assert.deepStrictEqual(server.logged("another server is publishing as this one"), [])
    })
  )
})

describe("a neighbour that asks and", () => {
  const knowing = Effect.gen(function* () {
    const { network, now, server } = yield* lonely()
    // 2.8 MB, which is more than a stream takes ahead of its reader.
    const capabilities = Array.from({ length: 26 }, (_, index) => `${index}`.padEnd(256, "x"))
    const words = Array.from({ length: 400 }, (_, index) => announced(index, now, { capabilities }))
    yield* neighbour(network, "source", server, saying(framed(...words)))
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* server.list).length, 400)
    return { network, server }
  })

  /** Everything that runs while the network's clock goes on by a second. */
  const inTime = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>, time: Duration.Input = "1 second") {
    const fiber = yield* Effect.forkChild(Effect.exit(effect))
    yield* TestClock.adjust(time)
    const exit = fiber.pollUnsafe()
    return exit !== undefined && Exit.isSuccess(exit)
      ? exit.value
      : yield* Effect.die(new Error("it did not end in time"))
  })
  const reasonOf = <A>(exit: Exit.Exit<A, StreamBroken>) =>
    Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause))?.reason : "answered"

  it.effect("R12 asks a thousand times is answered twelve times a minute, and costs nobody else", () =>
    Effect.gen(function* () {
      const { network, server } = yield* knowing
      const [eager, other] = [yield* neighbour(network, "eager", server), yield* neighbour(network, "other", server)]
      yield* TestClock.adjust("1 second")
      const outcomes: Array<string | undefined> = []
      for (let round = 0; round < 1_000; round++)
        outcomes.push(reasonOf(yield* inTime(ask(eager, server), "55 millis")))
      assert.deepStrictEqual(outcomes.slice(0, 12), Array(12).fill("answered"))
      assert.deepStrictEqual(outcomes.slice(12), Array(988).fill("reset"))
      assert.strictEqual(reasonOf(yield* inTime(ask(other, server))), "answered")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(reasonOf(yield* inTime(ask(eager, server))), "answered")
    })
  )

  it.effect("R12 asks twice at once is answered once", () =>
    Effect.gen(function* () {
      const { network, server } = yield* knowing
      const asker = yield* neighbour(network, "asker", server)
      const both = yield* inTime(
        Effect.all([Effect.exit(ask(asker, server)), Effect.exit(ask(asker, server))], { concurrency: 2 })
      )
      const exits = Exit.isSuccess(both) ? both.value : []
      assert.deepStrictEqual(exits.map(reasonOf).sort(), ["answered", "reset"])
      assert.strictEqual(reasonOf(yield* inTime(ask(asker, server))), "answered")
    })
  )

  it.effect("R12 does not read is left after 10 seconds, and one that reads a little after a minute", () =>
    Effect.gen(function* () {
      const { network, server } = yield* knowing
      const readEvery = (asker: Neighbour, pause: Duration.Input) =>
        Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* asker.streams.open(server.peerId, Bounds.protocol)
            yield* Effect.andThen(stream.write(everything), stream.end)
            yield* Effect.sleep(pause)
            while ((yield* stream.read) !== undefined) yield* Effect.sleep(pause)
          })
        )
      for (const [name, pause, left] of [
        ["still", "1 hour", 10],
        ["slow", "9 seconds", 60]
      ] as const) {
        const asker = yield* neighbour(network, name, server)
        const reading = yield* Effect.forkChild(Effect.exit(readEvery(asker, pause)))
        yield* TestClock.adjust(`${left - 2} seconds`)
        assert.strictEqual(reasonOf(yield* inTime(ask(asker, server))), "reset", `${name}: one at a time`)
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(reasonOf(yield* inTime(ask(asker, server))), "answered", `${name} is left`)
        yield* Fiber.interrupt(reading)
      }
    })
  )

  for (const [manner, question] of [
    ["sends a question that is none", framed(new Uint8Array(17))],
    ["sends a question that is too long", Uint8Array.of(0x91, 0x80, 0x02)],
    ["sends garbage", new Uint8Array(50).fill(0xff)],
    ["breaks off within its question", framed(new Uint8Array(16)).subarray(0, 9)]
  ] as const) {
    it.effect(`R12 ${manner} is not answered`, () =>
      Effect.gen(function* () {
        const { network, server } = yield* knowing
        const asker = yield* neighbour(network, "asker", server)
        assert.strictEqual(reasonOf(yield* inTime(ask(asker, server, question))), "reset")
        assert.strictEqual(reasonOf(yield* inTime(ask(asker, server))), "answered")
      })
    )
  }

  it.effect("R12 sends nothing is left after 10 seconds", () =>
    Effect.gen(function* () {
      const { network, server } = yield* knowing
      const asker = yield* neighbour(network, "asker", server)
      const mute = Effect.scoped(
        Effect.gen(function* () {
          const stream = yield* asker.streams.open(server.peerId, Bounds.protocol)
          return yield* readAll(stream)
        })
      )
      const fiber = yield* Effect.forkChild(Effect.exit(mute))
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(reasonOf(yield* Fiber.join(fiber)), "reset")
    })
  )

  it.effect("R12 lies about what it knows gets no more than is known", () =>
    Effect.gen(function* () {
      const { network, server } = yield* knowing
      const asker = yield* neighbour(network, "asker", server)
      const lengthOf = (exit: Exit.Exit<Buffer, StreamBroken>) => (Exit.isSuccess(exit) ? exit.value.length : -1)
      const all = lengthOf(yield* inTime(ask(asker, server)))
      const nonsense = lengthOf(yield* inTime(ask(asker, server, framed(new Uint8Array(16 + 8 * 4_096).fill(0xab)))))
      assert.strictEqual(nonsense, all)
    })
  )

  it.effect("R12 comes with forty others is answered once there is a place: 32 at a time", () =>
    Effect.gen(function* () {
      const { network, server } = yield* knowing
      const askers: Array<Neighbour> = []
      for (let index = 0; index < 33; index++) askers.push(yield* neighbour(network, `asker ${index}`, server))
      const opened = askers.slice(0, 32).map(({ streams }) =>
        Effect.scoped(
          Effect.andThen(
            Effect.flatMap(streams.open(server.peerId, Bounds.protocol), (stream) => stream.write(Uint8Array.of(16))),
            Effect.never
          )
        )
      )
      const holding = yield* Effect.forkChild(Effect.all(opened, { concurrency: "unbounded" }))
      yield* TestClock.adjust("1 second")
      const [last] = askers.slice(-1)
      if (last === undefined) return yield* Effect.die("no asker")
      assert.strictEqual(reasonOf(yield* inTime(ask(last, server))), "reset")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(reasonOf(yield* inTime(ask(last, server))), "answered")
      yield* Fiber.interrupt(holding)
    })
  )
})
