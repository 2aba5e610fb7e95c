/**
 * The name of a server: a libp2p peer ID in its one canonical text form. It knows nothing of keys on disk.
 */
import { peerIdFromCID, peerIdFromString } from "@libp2p/peer-id"
import { type Brand, Result, Schema } from "effect"
import { bases } from "multiformats/basics"
import { CID } from "multiformats/cid"

/** A peer ID as base58 text (`12D3KooW…`). Two peer IDs name the same peer exactly when the texts are equal. */
export type PeerId = string & Brand.Brand<"PeerId">

/** Text that names no peer. */
export class InvalidPeerId extends Schema.TaggedError<InvalidPeerId>()("InvalidPeerId", {
  problem: Schema.String
}) {
  override get message() {
    return this.problem
  }
}

const longestText = 128

/** The bases that a CID may be written in, each with a prefix of its own: those that servers written in Go read. */
const read = Object.values(bases).filter(({ name }) => !["base8", "base10", "base32z"].includes(name))

/** A CID has one spelling in each base: what readers in other languages would make of others is their own affair. */
const parseCid = (text: string): CID => {
  const base = read.find(({ prefix }) => text.startsWith(prefix))
  const cid = CID.parse(text, base?.decoder)
  if (base?.encode(cid.bytes) !== text) throw new Error("not the spelling of a CID")
  return cid
}

/** Reads a peer ID in base58 or as a CIDv1 (`bafz…`). Fails on anything else, and on text over 128 characters. */
export const parse = (text: string): Result.Result<PeerId, InvalidPeerId> => {
  if (text.length === 0 || text.length > longestText) {
    return Result.fail(
      new InvalidPeerId({ problem: `a peer ID has 1 to ${longestText} characters, this has ${text.length}` })
    )
  }
  try {
    const id = /^(Qm|1)/.test(text) ? peerIdFromString(text) : peerIdFromCID(parseCid(text))
    return Result.succeed(id.toString() as PeerId)
  } catch {
    return Result.fail(new InvalidPeerId({ problem: "not a peer ID (expected base58, 12D3KooW…, or CIDv1, bafz…)" }))
  }
}

/** Marks text that a peer-ID object printed of itself. For the rooms that hold such objects. */
export const fromCanonical = (text: string): PeerId => text as PeerId

/** Whether text is a peer ID in its canonical form, base58. `parse` reads the other forms too. */
export const isPeerId = (text: string): text is PeerId =>
  Result.match(parse(text), { onFailure: () => false, onSuccess: (id) => id === text })

/** A canonical peer ID, for wires of our own (HTTP, database). */
export const PeerIdSchema: Schema.Codec<PeerId, string> = Schema.String.check(
  Schema.makeFilter((text: string) => isPeerId(text) || "expected a peer ID in base58 (12D3KooW…)")
).pipe(Schema.brand("PeerId")) as unknown as Schema.Codec<PeerId, string>
