/** One key in every form, and the peer ID that go-libp2p asserts of it. */

/** The Ed25519 example of libp2p's peer-ID specification: its private key as a protobuf, its peer ID. */
export const protobufHex =
  "080112407e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d" +
  "1ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e"
export const peerId = "12D3KooWBtg3aaRMjxwedh83aGiUkwSxDwUZkzuJcfaqUmo7R3pq"

export const protobuf = Buffer.from(protobufHex, "hex")
export const privateKey = protobuf.subarray(4)
export const seed = privateKey.subarray(0, 32)

/** The peer ID of the seed of 32 zeros, from go-libp2p's own tests. */
export const zeroPeerId = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"

const hex = seed.toString("hex")
const base64 = seed.toString("base64")
const text = (form: string) => Buffer.from(form, "latin1")

/** Every form that a key file in the field has. */
export const forms: ReadonlyArray<readonly [form: string, content: Buffer]> = [
  ["64-byte private key", privateKey],
  ["32-byte seed", seed],
  ["64 hex digits", text(hex)],
  ["64 hex digits in capitals", text(hex.toUpperCase())],
  ["64 hex digits and LF", text(`${hex}\n`)],
  ["64 hex digits and CRLF", text(`${hex}\r\n`)],
  ["44 base64 characters", text(base64)],
  ["44 base64 characters and LF", text(`${base64}\n`)],
  ["44 base64 characters and CRLF", text(`${base64}\r\n`)],
  ["libp2p protobuf", protobuf]
]

const foreign = Buffer.from(privateKey)
foreign[63] = (foreign[63] ?? 0) ^ 1
const foreignProtobuf = Buffer.from(protobuf)
foreignProtobuf[67] = (foreignProtobuf[67] ?? 0) ^ 1

/** Content that is no key, and what is said to have been found. */
export const damaged: ReadonlyArray<readonly [damage: string, content: Buffer, found: string]> = [
  ["nothing", Buffer.alloc(0), "an empty file"],
  ["a newline", text("\n"), "1 bytes in no known form"],
  ["a private key cut short", privateKey.subarray(0, 63), "63 bytes in no known form"],
  ["a private key with a newline", Buffer.concat([privateKey, text("\n")]), "65 bytes in no known form"],
  ["a private key of another seed", foreign, "a private key whose second half is not the public key of its first"],
  ["64 zeros", Buffer.alloc(64), "a private key whose second half is not the public key of its first"],
  ["a protobuf of another seed", foreignProtobuf, "a private key whose second half is not the public key of its first"],
  [
    "a protobuf of an RSA key",
    Buffer.from(`08001240${privateKey.toString("hex")}`, "hex"),
    "68 bytes in no known form"
  ],
  ["63 hex digits", text(hex.slice(1)), "63 bytes in no known form"],
  ["hex digits after 0x", text(`0x${hex}`), "66 bytes in no known form"],
  ["64 hex digits and two newlines", text(`${hex}\n\n`), "66 bytes in no known form"],
  ["64 hex digits and a space", text(`${hex} `), "65 bytes in no known form"],
  ["base64 without its padding", text(base64.slice(0, 43)), "43 bytes in no known form"],
  ["base64 of the URL alphabet", text(`${"-_".repeat(21)}A=`), "44 bytes in no known form"],
  ["a byte order mark before hex", Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), text(hex)]), "67 bytes in no known form"]
]
