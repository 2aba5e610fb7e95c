/** Peer IDs for servers that have no key: valid, always the same for the same name, and in the order of the names. */
import { base58btc } from "multiformats/bases/base58"
import { fromCanonical, type PeerId } from "../identity/PeerId.ts"

// Identity multihash of a protobuf with an Ed25519 public key of 32 bytes, as libp2p's peer-ID specification has it.
const prefix = Uint8Array.of(0x00, 0x24, 0x08, 0x01, 0x12, 0x20)
const keyBytes = 32

/** The peer ID (`12D3KooW…`) of a name of up to 32 bytes, or of a number; numbers sort as numbers. */
export const peerIdOf = (name: string | number): PeerId => {
  const text = typeof name === "number" ? String(name).padStart(16, "0") : name
  const bytes = new Uint8Array(prefix.length + keyBytes)
  bytes.set(prefix)
  const { read } = new TextEncoder().encodeInto(text, bytes.subarray(prefix.length))
  if (read < text.length) throw new RangeError(`a virtual server's name has at most ${keyBytes} bytes: ${text}`)
  return fromCanonical(base58btc.baseEncode(bytes))
}
