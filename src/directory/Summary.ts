/**
 * What a server knows, in a few bytes: salted digests in buckets, so that a neighbour need only send what is new. Pure;
 * the layout is PROTOCOL.md's.
 */
import { hash } from "node:crypto"
import { Result } from "effect"
import type { Known, Newest } from "../registry/Known.ts"
import { tooOldNanos } from "../registry/Limits.ts"
import { BadFrame } from "./Frames.ts"

export const saltBytes = 16
const digestBytes = 8
const maxBuckets = 4096

/** Bytes of the longest question. Source: PROTOCOL.md. */
export const maxQuestionBytes = saltBytes + digestBytes * maxBuckets

export interface Question {
  readonly salt: Uint8Array
  /** One digest a bucket; none asks for everything. */
  readonly digests: ReadonlyArray<bigint>
}

/** The newest words of one server, as far as they are known. */
export type Words = Pick<Known, "serverId" | "announcement" | "heartbeat">

/** What of the words is young enough to be believed, at this moment of the wall clock. */
const young = <A extends { readonly timestamp: bigint }>(newest: Newest<A> | undefined, wallNanos: bigint) =>
  newest !== undefined && wallNanos - newest.message.timestamp < tooOldNanos ? newest : undefined

/** Whether the server can be handed on: without its announcement nobody would list it. */
export const isKnown = ({ announcement }: Words, wallNanos: bigint): boolean =>
  young(announcement, wallNanos) !== undefined

/**
 * What is handed on of a server, in the order of PROTOCOL.md: the heartbeat, which says nothing without the
 * announcement, goes first, so that a server that has left is never believed to be there in between.
 */
export const signedOf = ({ announcement, heartbeat }: Words, wallNanos: bigint): ReadonlyArray<Uint8Array> =>
  [young(heartbeat, wallNanos), young(announcement, wallNanos)].flatMap((newest) =>
    newest === undefined ? [] : [newest.signed]
  )

/** How many buckets a server asks with that knows so many others. */
export const bucketsFor = (known: number): number =>
  known === 0 ? 0 : Math.min(maxBuckets, 2 ** Math.ceil(Math.log2(Math.max(1, known / 2))))

const longestId = 128
const timesBytes = 17

/** The digests of buckets, as one server after the other is added. */
export class Digests {
  readonly #wallNanos: bigint
  readonly #digests: Array<bigint>
  // Salt, peer ID, a zero, two timestamps.
  readonly #hashed = Buffer.alloc(saltBytes + longestId + timesBytes)

  constructor(salt: Uint8Array, buckets: number, wallNanos: bigint) {
    this.#hashed.set(salt)
    this.#digests = new Array(buckets).fill(0n)
    this.#wallNanos = wallNanos
  }

  get digests(): ReadonlyArray<bigint> {
    return this.#digests
  }

  /** Adds a server to its bucket, and gives the number of that. */
  add({ announcement, heartbeat, serverId }: Words): number {
    const hashed = this.#hashed
    const end = saltBytes + hashed.write(serverId, saltBytes, longestId, "latin1")
    const bucket = sha256(hashed.subarray(0, end)).readUInt32BE() % this.#digests.length
    hashed[end] = 0
    hashed.writeBigInt64BE(young(announcement, this.#wallNanos)?.message.timestamp ?? 0n, end + 1)
    hashed.writeBigInt64BE(young(heartbeat, this.#wallNanos)?.message.timestamp ?? 0n, end + 9)
    const digest = sha256(hashed.subarray(0, end + timesBytes)).readBigUInt64BE()
    this.#digests[bucket] = (this.#digests[bucket] ?? 0n) ^ digest
    return bucket
  }
}

const sha256 = (bytes: Uint8Array): Buffer => hash("sha256", bytes, "buffer")

export const encode = ({ digests, salt }: Question): Uint8Array => {
  const bytes = Buffer.alloc(saltBytes + digests.length * digestBytes)
  bytes.set(salt)
  digests.forEach((digest, index) => {
    bytes.writeBigUInt64BE(digest, saltBytes + index * digestBytes)
  })
  return bytes
}

export const decode = (bytes: Uint8Array): Result.Result<Question, BadFrame> => {
  const count = (bytes.length - saltBytes) / digestBytes
  const isPowerOfTwo = Number.isInteger(count) && count >= 0 && (count & (count - 1)) === 0
  if (!isPowerOfTwo || count > maxBuckets) {
    return Result.fail(new BadFrame({ problem: `a question of ${bytes.length} bytes is none` }))
  }
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const digests = Array.from({ length: count }, (_, index) => view.readBigUInt64BE(saltBytes + index * digestBytes))
  return Result.succeed({ salt: bytes.slice(0, saltBytes), digests })
}
