import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Surroundings } from "../../src/ops/Surroundings.ts"
import { keptChanges, maxWatchers, Watch } from "../../src/ops/Watch.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import * as Doubles from "./Doubles.ts"
import { known } from "./Doubles.ts"

const [a, b] = [peerIdOf("a"), peerIdOf("b")]

interface Event {
  readonly id: string
  readonly event: string
  readonly data: unknown
}

/** The events of a stream as far as it was read, and its comments, by the rules of the standard for them. */
const parse = (text: string): ReadonlyArray<Event | string> =>
  text
    .split("\n\n")
    .slice(0, -1)
    .map((block) => {
      if (block.startsWith(":")) return block
      const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]))
      assert.deepStrictEqual([...fields.keys()], ["id", "event", "data"])
      return {
        id: fields.get("id") ?? "",
        event: fields.get("event") ?? "",
        data: JSON.parse(fields.get("data") ?? "")
      }
    })

const read = (lastEventId?: string) =>
  Effect.gen(function* () {
    const watch = yield* Watch
    const stream = yield* watch.open(lastEventId)
    let text = ""
    const decoder = new TextDecoder()
    const fiber = yield* stream.pipe(
      Stream.runForEach((piece) => Effect.sync(() => (text += decoder.decode(piece, { stream: true })))),
      Effect.forkScoped
    )
    yield* TestClock.adjust(0)
    return { events: () => parse(text), fiber }
  })

const withWatch = <A, E, R>(world: Doubles.World, test: Effect.Effect<A, E, R>) =>
  test.pipe(
    Effect.provide(Watch.layer.pipe(Layer.provide(Surroundings.layer), Layer.provide(Doubles.layer(world)))),
    Effect.scoped
  )

const brief = (events: ReadonlyArray<Event | string>) =>
  events.map((event) => {
    if (typeof event === "string") return event
    const data = event.data as { cause?: string; services?: ReadonlyArray<object>; service?: { state: string } | null }
    return [event.id, event.event, data.cause ?? data.services?.length, data.service?.state]
  })

describe("the watch", () => {
  it.effect("starts with a snapshot, then tells every change, each under an id", () => {
    const world = Doubles.world([known(a, 0), known(b, 0, {}, { announcement: undefined })])
    return withWatch(
      world,
      Effect.gen(function* () {
        const { events } = yield* read()
        world.change(a, known(a, 0, { healthy: false }), "heartbeat")
        world.change(b, known(b, 0), "announced")
        yield* TestClock.adjust("1 millis")
        world.change(a, undefined, "evicted")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(brief(events()), [
          ["0-0", "snapshot", 1, undefined],
          ["0-1", "change", "heartbeat", "unhealthy"],
          ["0-2", "change", "announced", "available"],
          ["0-3", "change", "evicted", undefined]
        ])
        assert.deepStrictEqual(events()[3], {
          id: "0-3",
          event: "change",
          data: { server_id: a, cause: "evicted", service: null }
        })
      })
    )
  })

  it.effect("tells a server that fell silent", () => {
    const world = Doubles.world([known(a, 0)])
    return withWatch(
      world,
      Effect.gen(function* () {
        const { events } = yield* read()
        yield* TestClock.adjust("2 hours")
        yield* TestClock.adjust("1 millis")
        world.change(a, known(a, 0), "silent")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(brief(events()).at(-1), ["0-1", "change", "silent", "silent"])
      })
    )
  })

  it.effect("sends a comment every 15 seconds while there is nothing to tell", () =>
    withWatch(
      Doubles.world(),
      Effect.gen(function* () {
        const { events } = yield* read()
        yield* TestClock.adjust("14999 millis")
        assert.strictEqual(events().length, 1)
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(events().slice(1), [": beat"])
        yield* TestClock.adjust("15 seconds")
        assert.deepStrictEqual(events().slice(1), [": beat", ": beat"])
      })
    )
  )

  it.effect("goes on after the last event that a reader saw", () => {
    const world = Doubles.world([known(a, 0)])
    return withWatch(
      world,
      Effect.gen(function* () {
        yield* read()
        for (let n = 0; n < 3; n++) world.change(a, known(a, n), "heartbeat")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(brief((yield* read("0-1")).events()), [
          ": changes follow",
          ["0-2", "change", "heartbeat", "available"],
          ["0-3", "change", "heartbeat", "available"]
        ])
        assert.deepStrictEqual(brief((yield* read("0-3")).events()), [": changes follow"])
      })
    )
  })

  it.effect.each([`0-${keptChanges + 4}`, "0-0", "1-3", "0-", "x", "0-99999999999999999999", ""])(
    "gives a fresh snapshot where %s cannot be gone on from",
    (lastEventId) => {
      const world = Doubles.world([known(a, 0)])
      return withWatch(
        world,
        Effect.gen(function* () {
          yield* TestClock.adjust(0)
          for (let n = 0; n < keptChanges + 3; n++) world.change(a, known(a, n), "heartbeat")
          yield* TestClock.adjust("1 millis")
          const { events } = yield* read(lastEventId)
          assert.deepStrictEqual(brief(events()), [[`0-${keptChanges + 3}`, "snapshot", 1, undefined]])
        })
      )
    }
  )

  it.effect("sends a long snapshot in pieces, as one event", () =>
    withWatch(
      Doubles.world(Array.from({ length: 1_000 }, (_, n) => known(peerIdOf(n), 0))),
      Effect.gen(function* () {
        const { events } = yield* read()
        assert.deepStrictEqual(brief(events()), [["0-0", "snapshot", 1_000, undefined]])
      })
    )
  )

  it.effect("queues nothing for a reader that stalls: it is cut off when what it missed is gone", () => {
    const world = Doubles.world([known(a, 0)])
    return withWatch(
      world,
      Effect.gen(function* () {
        const watch = yield* Watch
        const pull = yield* Stream.toPull(yield* watch.open(undefined))
        yield* pull
        for (let n = 0; n < keptChanges; n++) world.change(a, known(a, n), "heartbeat")
        yield* TestClock.adjust("1 millis")
        const kept = new TextDecoder().decode((yield* pull)[0])
        assert.include(kept, "id: 0-1\n")
        for (let n = 0; n < keptChanges; n++) world.change(a, known(a, n), "heartbeat")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual((yield* Effect.exit(pull))._tag, "Failure")
      })
    )
  })

  it.effect("serves 256 readers and refuses the next until one has gone", () =>
    withWatch(
      Doubles.world(),
      Effect.gen(function* () {
        const watch = yield* Watch
        const first = yield* Scope.make()
        yield* watch.open(undefined).pipe(Scope.provide(first))
        for (let n = 1; n < maxWatchers; n++) yield* watch.open(undefined)
        assert.strictEqual(yield* watch.watchers, 256)
        const refused = yield* Effect.flip(watch.open(undefined))
        assert.deepStrictEqual([refused._tag, refused.status], ["TooManyWatchers", 503])
        assert.strictEqual(yield* watch.watchers, 256)
        yield* Scope.close(first, Exit.void)
        assert.strictEqual(yield* watch.watchers, 255)
        yield* watch.open(undefined)
      })
    )
  )

  it.effect("N01 ends every stream when the server leaves, and those opened later", () =>
    withWatch(
      Doubles.world(),
      Effect.gen(function* () {
        const { fiber } = yield* read()
        yield* (yield* Watch).end
        yield* Fiber.join(fiber)
        const late = yield* read()
        yield* Fiber.join(late.fiber)
        assert.deepStrictEqual(late.events(), [])
      })
    )
  )

  it.effect("I10 cannot be made to send an event by text that looks like one", () => {
    const hostile = "x\n\nevent: change\ndata: {}\n\n\r\r: \u2028"
    const world = Doubles.world([known(a, 0, { region: hostile })])
    return withWatch(
      world,
      Effect.gen(function* () {
        const { events } = yield* read()
        world.change(a, known(a, 0, { region: hostile }), "announced")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(events().length, 2)
        const [, change] = events()
        const { service } = (change as Event).data as { service: { region: string } }
        assert.strictEqual(service.region, hostile)
      })
    )
  })

  it.effect("starts anew when it loses its place in the registry, and its readers with it", () => {
    const world = Doubles.world([known(a, 0)])
    const log = CapturedLog.make()
    return withWatch(
      world,
      Effect.gen(function* () {
        const { events, fiber } = yield* read()
        for (let n = 0; n < 2; n++) world.change(a, known(a, n), "heartbeat")
        yield* TestClock.adjust("1 millis")
        world.loseReaders()
        for (let n = 0; n < 3; n++) world.change(a, known(a, n), "heartbeat")
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
        assert.strictEqual(events().length, 3)
        assert.deepStrictEqual(brief((yield* read("0-1")).events()), [["0-5", "snapshot", 1, undefined]])
        assert.deepStrictEqual(log.of("watch lost its place in the registry, starts anew").length, 1)
      })
    ).pipe(Effect.provide(log.layer))
  })
})
