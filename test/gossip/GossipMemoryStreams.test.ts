import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gossip } from "../../src/gossip/Gossip.ts"
import * as GossipMemory from "../../src/gossip/GossipMemory.ts"
import { type ByteStream, StreamBroken, Streams } from "../../src/gossip/Streams.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

const protocol = "/test/echo/1.0.0"
const bytes = (text: string) => new TextEncoder().encode(text)

/** Everything the other side writes, as text, until it ends. */
const readAll = Effect.fnUntraced(function* (stream: ByteStream) {
  let text = ""
  for (let piece = yield* stream.read; piece !== undefined; piece = yield* stream.read) {
    text += new TextDecoder().decode(piece)
  }
  return text
})

const echo = (stream: ByteStream) => Effect.flatMap(readAll(stream), (text) => stream.write(bytes(`${text}, ${text}`)))

const pair = Effect.gen(function* () {
  const network = yield* GossipMemory.make()
  const build = (name: string) => Layer.build(network.node(peerIdOf(name)))
  const [a, b] = [yield* build("a"), yield* build("b")]
  yield* network.connect(peerIdOf("a"), peerIdOf("b"), { delay: "10 millis" })
  return { network, a: Context.get(a, Streams), b: Context.get(b, Streams), self: Context.get(a, Gossip).self }
})

/** Runs the effect while time passes. */
const inTime = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) {
  const fiber = yield* Effect.forkChild(Effect.exit(Effect.scoped(effect)))
  yield* TestClock.adjust("1 minute")
  return yield* Fiber.join(fiber)
})

const ask = Effect.fnUntraced(function* (streams: Streams["Service"], text: string) {
  const stream = yield* streams.open(peerIdOf("b"), protocol)
  assert.strictEqual(stream.peer, peerIdOf("b"))
  yield* stream.write(bytes(text))
  yield* stream.end
  return yield* readAll(stream)
})

const brokenBy = (reason: StreamBroken["reason"]) => Exit.fail(new StreamBroken({ reason, cause: undefined }))

describe("streams in memory", () => {
  it.effect("carry bytes both ways, and tell the handler who asks", () =>
    Effect.gen(function* () {
      const { a, b, self } = yield* pair
      yield* b.handle(protocol, (stream) => {
        assert.strictEqual(stream.peer, self)
        return echo(stream)
      })
      assert.deepStrictEqual(yield* inTime(ask(a, "hello")), Exit.succeed("hello, hello"))
    })
  )

  it.effect("are not opened to who is not connected or does not speak the protocol", () =>
    Effect.gen(function* () {
      const { network, a, b } = yield* pair
      assert.deepStrictEqual(yield* inTime(ask(a, "hello")), brokenBy("not-spoken"))
      const scope = yield* Scope.make()
      yield* Scope.provide(b.handle(protocol, echo), scope)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* inTime(ask(a, "hello")), brokenBy("not-spoken"))
      yield* network.disconnect(peerIdOf("a"), peerIdOf("b"))
      assert.deepStrictEqual(yield* inTime(ask(a, "hello")), brokenBy("not-connected"))
    })
  )

  it.effect("are reset by a handler that fails or dies, by a cut link, and by a scope that closes before the end", () =>
    Effect.gen(function* () {
      const { network, a, b } = yield* pair
      const seen: Array<Exit.Exit<string, StreamBroken>> = []
      for (const serve of [
        () => Effect.fail(new StreamBroken({ reason: "timeout", cause: undefined })),
        () => Effect.die("bug")
      ]) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* b.handle(protocol, serve)
            assert.deepStrictEqual(yield* inTime(ask(a, "hello")), brokenBy("reset"))
          })
        )
      }
      yield* b.handle(protocol, (stream) =>
        Effect.onExit(Effect.asVoid(readAll(stream)), () =>
          Effect.flatMap(Effect.exit(readAll(stream)), (exit) => Effect.sync(() => seen.push(exit)))
        )
      )
      const cut = Effect.gen(function* () {
        const stream = yield* a.open(peerIdOf("b"), protocol)
        yield* network.disconnect(peerIdOf("a"), peerIdOf("b"))
        yield* network.connect(peerIdOf("a"), peerIdOf("b"))
        return yield* readAll(stream)
      })
      assert.deepStrictEqual(yield* inTime(cut), brokenBy("reset"))
      yield* inTime(a.open(peerIdOf("b"), protocol))
      assert.deepStrictEqual(seen, [brokenBy("reset"), brokenBy("reset")])
    })
  )

  it.effect("hold a writer up whose reader does not read", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      yield* b.handle(protocol, () => Effect.never)
      let written = 0
      const flood = Effect.gen(function* () {
        const stream = yield* a.open(peerIdOf("b"), protocol)
        while (true) {
          yield* stream.write(bytes("x"))
          written++
        }
      })
      const fiber = yield* Effect.forkChild(Effect.scoped(flood))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(written, 16)
      yield* Fiber.interrupt(fiber)
    })
  )
})
