/**
 * Lists of addresses and of peer IDs, held to their form alone, so that a slip is told with everything else that is
 * wrong. Whether the transport is here, and whether anybody answers, shows at the start.
 */
import { Result } from "effect"
import { sort } from "../gossip/Address.ts"
import { parse as parsePeerId } from "../identity/PeerId.ts"
import { type Kind, list } from "./Kind.ts"

const failureOf = <A>(result: Result.Result<A, string>): string | undefined =>
  Result.isFailure(result) ? result.failure : undefined

const flawInAddress =
  (peerNeeded: boolean) =>
  (text: string): string | undefined =>
    failureOf(sort(text, { peerNeeded, extra: new Set() }))

/** Where to listen, or to be dialled. */
export const addresses: Kind<ReadonlyArray<string>> = list("multiaddrs", flawInAddress(false))

/** Where another server is, and which. */
export const addressesOfPeers: Kind<ReadonlyArray<string>> = list(
  "multiaddrs that end in /p2p/ and a peer ID",
  flawInAddress(true)
)

export const peerIds: Kind<ReadonlyArray<string>> = list("peer IDs", (text) =>
  failureOf(Result.mapError(parsePeerId(text), ({ problem }) => problem))
)
