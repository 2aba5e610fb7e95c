import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { type ByteStream, StreamBroken } from "../../src/gossip/Streams.ts"
import { dial, type LiveNode, liveNode, until } from "./LiveNodes.ts"

const protocol = "/test/echo/1.0.0"
const bytes = (text: string) => new TextEncoder().encode(text)

/** Everything the other side writes, until it ends. */
const readAll = Effect.fnUntraced(function* (stream: ByteStream) {
  const pieces: Array<Uint8Array> = []
  for (let piece = yield* stream.read; piece !== undefined; piece = yield* stream.read) pieces.push(piece)
  return Buffer.concat(pieces)
})

const pair = Effect.gen(function* () {
  const [a, b] = [yield* liveNode(), yield* liveNode()]
  yield* dial(a, b)
  yield* until(Effect.map(b.connections, (connections) => connections.length === 1))
  return { a, b }
})

const ask = Effect.fnUntraced(function* (from: LiveNode, to: LiveNode, request: Uint8Array) {
  const stream = yield* from.streams.open(to.self, protocol)
  yield* stream.write(request)
  yield* stream.end
  return yield* readAll(stream)
})

const reasonOf = <A>(effect: Effect.Effect<A, StreamBroken, Scope.Scope>) =>
  Effect.scoped(Effect.flip(effect)).pipe(
    Effect.map((error) => {
      assert.instanceOf(error, StreamBroken)
      return error.reason
    })
  )

describe("streams over libp2p", () => {
  it.live("carry bytes both ways, whole and in order, and tell the handler who asks", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      yield* b.streams.handle(protocol, (stream) => {
        assert.strictEqual(stream.peer, a.self)
        return Effect.flatMap(readAll(stream), (request) => stream.write(Buffer.concat([request, bytes("!")])))
      })
      assert.deepStrictEqual(yield* ask(a, b, bytes("hello")), Buffer.from("hello!"))
      const large = Buffer.alloc(3 * 1024 * 1024, "0123456789")
      assert.isTrue((yield* ask(a, b, large)).equals(Buffer.concat([large, bytes("!")])))
    })
  )

  it.live("are not opened to who is not connected or does not speak the protocol", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const stranger = yield* liveNode()
      assert.strictEqual(yield* reasonOf(ask(a, stranger, bytes("x"))), "not-connected")
      assert.strictEqual(yield* reasonOf(ask(a, b, bytes("x"))), "not-spoken")
      const scope = yield* Scope.make()
      yield* Scope.provide(
        b.streams.handle(protocol, () => Effect.void),
        scope
      )
      assert.deepStrictEqual(yield* Effect.scoped(ask(a, b, bytes("x"))), Buffer.alloc(0))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* reasonOf(ask(a, b, bytes("x"))), "not-spoken")
    })
  )

  it.live("are reset by a handler that fails or has a bug, and by a scope that closes before the end", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      for (const serve of [
        () => Effect.fail(new StreamBroken({ reason: "timeout", cause: undefined })),
        () => Effect.die(new Error("bug"))
      ]) {
        const scope = yield* Scope.make()
        yield* Scope.provide(b.streams.handle(protocol, serve), scope)
        assert.strictEqual(yield* reasonOf(Effect.flatMap(a.streams.open(b.self, protocol), readAll)), "reset")
        yield* Scope.close(scope, Exit.void)
      }
      let outcome: Exit.Exit<unknown, StreamBroken> | undefined
      yield* b.streams.handle(protocol, (stream) =>
        Effect.asVoid(
          Effect.onExit(readAll(stream), (exit) =>
            Effect.sync(() => {
              outcome = exit
            })
          )
        )
      )
      yield* Effect.scoped(Effect.flatMap(a.streams.open(b.self, protocol), (stream) => stream.write(bytes("half"))))
      yield* until(Effect.sync(() => outcome !== undefined))
      assert.isTrue(outcome !== undefined && Exit.isFailure(outcome))
    })
  )

  it.live("hold a writer up for as long as it takes, whatever it writes and however slowly it is read", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      // More than the node keeps of a stream that is not read: it resets one that goes on.
      const pieces = Array.from({ length: 256 }, () => Buffer.alloc(64 * 1024, "0123456789"))
      yield* b.streams.handle(protocol, (stream) => Effect.forEach(pieces, stream.write, { discard: true }))
      const stream = yield* a.streams.open(b.self, protocol)
      yield* stream.end
      let arrived = 0
      let pauses = 4
      for (let piece = yield* stream.read; piece !== undefined; piece = yield* stream.read) {
        arrived += piece.byteLength
        if (pauses-- > 0) yield* Effect.sleep("500 millis")
      }
      assert.strictEqual(arrived, 256 * 64 * 1024)
    })
  )

  it.live("hold a writer up until the other side reads", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      let isReading = false
      let arrived = 0
      yield* b.streams.handle(protocol, (stream) =>
        Effect.gen(function* () {
          yield* until(Effect.sync(() => isReading))
          arrived = (yield* readAll(stream)).byteLength
        })
      )
      const piece = new Uint8Array(256 * 1024)
      let written = 0
      const stream = yield* a.streams.open(b.self, protocol)
      const writing = yield* Effect.forkChild(
        Effect.andThen(
          Effect.forEach(Array.from({ length: 32 }), () =>
            Effect.tap(stream.write(piece), () =>
              Effect.sync(() => {
                written += piece.byteLength
              })
            )
          ),
          stream.end
        )
      )
      // It comes to a halt: nothing is written for a while.
      let before = -1
      yield* until(
        Effect.andThen(
          Effect.sleep("200 millis"),
          Effect.sync(() => {
            const stands = written === before
            before = written
            return stands
          })
        )
      )
      assert.isBelow(written, 4 * 1024 * 1024)
      isReading = true
      yield* until(Effect.sync(() => arrived === 32 * piece.byteLength))
      yield* Effect.sync(() => writing.pollUnsafe())
    })
  )
})
