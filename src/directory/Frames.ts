/** Length-prefixed frames over a byte stream, bounded. What is in them is not read here. */
import { Effect, Result, Schema } from "effect"
import * as varint from "uint8-varint"

/** The other side sent what is no frame, a longer one than it may, or something in a frame that has no business there. */
export class BadFrame extends Schema.TaggedError<BadFrame>()("BadFrame", { problem: Schema.String }) {
  override get message() {
    return this.problem
  }
}

const bad = (problem: string) => Result.fail(new BadFrame({ problem }))

/** Bytes of the longest length prefix: enough for frames up to 2 MiB. */
const longestPrefix = 3

/** The length prefix that these bytes are sent behind. */
export const prefixOf = (bytes: Uint8Array): Uint8Array => varint.encode(bytes.length)

/** Where the next frame is in `buffer` at `at`, as far as can be told: its end is unknown while its prefix is not whole. */
const locate = (buffer: Uint8Array, at: number): { start: number; end: number } | "bad" | undefined => {
  for (let prefix = 1; prefix <= longestPrefix; prefix++) {
    const byte = buffer[at + prefix - 1]
    if (byte === undefined) return undefined
    if (byte < 0x80) return { start: at + prefix, end: at + prefix + varint.decode(buffer, at) }
  }
  return "bad"
}

/** Cuts what arrives, in pieces of any size, into frames. Each byte is copied a bounded number of times. */
export class Cutter {
  readonly #maxFrameBytes: number
  #pieces: Array<Uint8Array> = []
  #bytes = 0
  /** So many bytes must be there before it is worth a look. */
  #awaitedBytes = 1

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** The frames that are whole with this piece, none of them sharing memory with it. */
  push(piece: Uint8Array): Result.Result<ReadonlyArray<Uint8Array>, BadFrame> {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes < this.#awaitedBytes) return Result.succeed([])
    const buffer = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    const frames: Array<Uint8Array> = []
    let at = 0
    let frame = locate(buffer, at)
    for (; frame !== undefined; frame = locate(buffer, at)) {
      if (frame === "bad") return bad(`a length prefix of more than ${longestPrefix} bytes`)
      const length = frame.end - frame.start
      if (length > this.#maxFrameBytes) {
        return bad(`a frame of ${length} bytes, at most ${this.#maxFrameBytes} are read`)
      }
      if (frame.end > buffer.length) break
      frames.push(new Uint8Array(buffer.subarray(frame.start, frame.end)))
      at = frame.end
    }
    this.#pieces = at < buffer.length ? [buffer.subarray(at)] : []
    this.#bytes = buffer.length - at
    this.#awaitedBytes = frame === undefined ? this.#bytes + 1 : frame.end - at
    return Result.succeed(frames)
  }

  /** Whether what arrived ends with a whole frame. */
  get isWhole(): boolean {
    return this.#bytes === 0
  }
}

/** Reads frames. Each read succeeds with the next of them, one or more, or with `undefined` at the end. */
export const reader = <E>(
  read: Effect.Effect<Uint8Array | undefined, E>,
  maxFrameBytes: number
): Effect.Effect<ReadonlyArray<Uint8Array> | undefined, BadFrame | E> => {
  const cutter = new Cutter(maxFrameBytes)
  return Effect.gen(function* () {
    while (true) {
      const piece = yield* read
      if (piece === undefined) {
        return cutter.isWhole ? undefined : yield* new BadFrame({ problem: "the stream ended within a frame" })
      }
      const frames = yield* Effect.fromResult(cutter.push(piece))
      if (frames.length > 0) return frames
    }
  })
}
