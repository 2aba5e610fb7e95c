import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { BadFrame, Cutter, prefixOf, reader } from "../../src/directory/Frames.ts"

const framed = (...frames: ReadonlyArray<Uint8Array>): Uint8Array =>
  Uint8Array.from(frames.flatMap((frame) => [...prefixOf(frame), ...frame]))

const piecesOf = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.slice(index * size, (index + 1) * size))

/** Reads what arrives in these pieces to its end. */
const read = (pieces: ReadonlyArray<Uint8Array>, maxFrameBytes: number) =>
  Effect.gen(function* () {
    const rest = [...pieces]
    const next = reader(
      Effect.sync(() => rest.shift()),
      maxFrameBytes
    )
    const frames: Array<Uint8Array> = []
    for (let some = yield* next; some !== undefined; some = yield* next) frames.push(...some)
    return frames
  })

const problemOf = (pieces: ReadonlyArray<Uint8Array>, maxFrameBytes = 300) =>
  Effect.map(Effect.flip(read(pieces, maxFrameBytes)), (bad) => {
    assert.instanceOf(bad, BadFrame)
    return bad.problem
  })

describe("frames", () => {
  const frames = [0, 1, 127, 128, 300, 2].map((length, index) => new Uint8Array(length).fill(index + 1))

  it.effect("R12 come out whole and in order, in whatever pieces they arrive", () =>
    Effect.gen(function* () {
      const bytes = framed(...frames)
      for (let size = 1; size <= bytes.length; size++) {
        assert.deepStrictEqual(yield* read(piecesOf(bytes, size), 300), frames, `in pieces of ${size} bytes`)
      }
    })
  )

  it.effect("R12 of no bytes are frames, and an empty stream has none", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read([new Uint8Array(3)], 0), [
        new Uint8Array(),
        new Uint8Array(),
        new Uint8Array()
      ])
      assert.deepStrictEqual(yield* read([], 300), [])
    })
  )

  it("R12 that are too long are refused at their length, before they arrive", () => {
    assert.deepStrictEqual(
      new Cutter(300).push(Uint8Array.of(0xad, 0x02)),
      Result.fail(new BadFrame({ problem: "a frame of 301 bytes, at most 300 are read" }))
    )
    assert.deepStrictEqual(new Cutter(300).push(Uint8Array.of(0xac, 0x02)), Result.succeed([]))
    assert.deepStrictEqual(
      new Cutter(300).push(Uint8Array.of(0x80, 0x80, 0x80)),
      Result.fail(new BadFrame({ problem: "a length prefix of more than 3 bytes" }))
    )
  })

  it.effect("R12 do not end in the middle", () =>
    Effect.gen(function* () {
      const bytes = framed(new Uint8Array(300))
      const cut = "the stream ended within a frame"
      assert.deepStrictEqual(yield* problemOf([bytes.slice(0, -1)]), cut)
      assert.deepStrictEqual(yield* problemOf([bytes.slice(0, 1)]), cut)
    })
  )

  it("R12 share no memory with what they arrived in, so that keeping one does not keep its neighbours", () => {
    const piece = Buffer.from(framed(Uint8Array.of(1, 2), Uint8Array.of(3)))
    const [first, second] = Result.getOrThrow(new Cutter(300).push(piece))
    piece.fill(0)
    assert.deepStrictEqual([first, second], [Uint8Array.of(1, 2), Uint8Array.of(3)])
    assert.strictEqual(first?.buffer.byteLength, 2)
  })

  it("R12 cost their length, also where each byte arrives alone", { timeout: 5_000 }, () => {
    // Joining what is there at every byte would copy 137 GB.
    const long = new Uint8Array(512 * 1024).fill(7)
    const cutter = new Cutter(long.length)
    let found: ReadonlyArray<Uint8Array> = []
    for (const byte of framed(long)) found = Result.getOrThrow(cutter.push(Uint8Array.of(byte)))
    assert.isTrue(found.length === 1 && Buffer.from(found[0] ?? []).equals(long))
  })
})
