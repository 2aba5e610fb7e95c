/**
 * The forms in which a server's Ed25519 key is kept, read from their bytes to the 32-byte seed. It knows nothing of
 * paths, and says what it found by kind and length alone. Source: wire.md "Identity".
 */
import { createPrivateKey, createPublicKey } from "node:crypto"
import { Result } from "effect"

/** What a key file may hold, for the message of whoever refuses one. */
export const allowedForms =
  "a 64-byte private key (seed, then public key), a 32-byte seed, a seed as 64 hex digits or 44 base64 characters " +
  "with or without a final newline, or libp2p's protobuf encoding of an Ed25519 private key"

/** No form of a key is longer; what is longer need not be read. */
export const maxBytes = 68

const protobufHead = Buffer.from([0x08, 0x01, 0x12, 0x40])
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex")
const spkiHeadLength = 12

/** The public key that belongs to a 32-byte seed. */
export const publicKeyOf = (seed: Uint8Array): Uint8Array => {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: "der", type: "pkcs8" })
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(spkiHeadLength)
}

/** The 64-byte private key of a seed: what this server writes for itself. */
export const privateKeyOf = (seed: Uint8Array): Uint8Array => Buffer.concat([seed, publicKeyOf(seed)])

/** Reads a seed from 64 hex digits, and nothing else. */
export const fromHex = (text: string): Result.Result<Uint8Array, string> =>
  /^[0-9a-fA-F]{64}$/.test(text)
    ? Result.succeed(new Uint8Array(Buffer.from(text, "hex")))
    : Result.fail(`${text.length} characters that are not 64 hex digits`)

const fromPrivateKey = (bytes: Buffer): Result.Result<Uint8Array, string> => {
  const seed = bytes.subarray(0, 32)
  return bytes.subarray(32).equals(publicKeyOf(seed))
    ? Result.succeed(new Uint8Array(seed))
    : Result.fail("a private key whose second half is not the public key of its first")
}

/**
 * Reads the seed from the content of a key file. Fails with what was found instead. Only the text forms may end with
 * a newline: a raw key that happens to end with one is taken whole.
 */
export const read = (content: Uint8Array): Result.Result<Uint8Array, string> => {
  const bytes = Buffer.from(content)
  const line = bytes.toString("latin1").replace(/\r?\n$/, "")
  if (/^[0-9a-fA-F]{64}$/.test(line)) return fromHex(line)
  if (bytes.length === 32) return Result.succeed(new Uint8Array(bytes))
  if (bytes.length === 64) return fromPrivateKey(bytes)
  if (bytes.length === maxBytes && bytes.subarray(0, 4).equals(protobufHead)) return fromPrivateKey(bytes.subarray(4))
  if (/^[A-Za-z0-9+/]{43}=$/.test(line)) return Result.succeed(new Uint8Array(Buffer.from(line, "base64")))
  return Result.fail(bytes.length === 0 ? "an empty file" : `${bytes.length} bytes in no known form`)
}
