/**
 * Lists of multiaddrs, sorted at the start into those this server can use, those that need a transport it does not
 * have, and mistakes. It dials and listens on nothing.
 */
import { Result, Schema } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { type Sorted, sort, type Wanted } from "./Address.ts"

/** Addresses or peer IDs in the configuration that cannot be meant. Stops the start; names every one of them. */
export class BadAddress extends Schema.TaggedError<BadAddress>()("BadAddress", {
  /** One sentence an address: `server.bootstrap_peers[1] "…": no /p2p/ part …`. */
  problems: Schema.Array(Schema.String)
}) {
  readonly exitCode = 78
  override get message() {
    return this.problems.join("; ")
  }
}

/** Sorts a list of the configuration. Fails with every mistake in it, each under its key and index. */
export const sortAll = (
  key: string,
  texts: ReadonlyArray<string>,
  wanted: Wanted
): Result.Result<ReadonlyArray<Sorted>, BadAddress> => {
  const problems: Array<string> = []
  const sorted: Array<Sorted> = []
  texts.forEach((text, index) => {
    Result.match(sort(text, wanted), {
      onSuccess: (one) => sorted.push(one),
      onFailure: (problem) => problems.push(`${key}[${index}] ${JSON.stringify(text.slice(0, 200))}: ${problem}`)
    })
  })
  return problems.length > 0 ? Result.fail(new BadAddress({ problems })) : Result.succeed(sorted)
}

const loopback = /^\/(ip4\/127\.|ip6\/::1\/|dns[46]?\/localhost\/)/
/** Every address of a host, or no port. */
const nowhere = /^\/(ip4\/0\.|ip6\/::\/)|\/tcp\/0(?=\/|$)/

/**
 * The addresses among those that a peer gave of itself that this server can dial it at, each with its peer ID at the
 * end. `from` is where a connection with it goes: the loopback of another machine is of no use here.
 */
export const dialable = (
  texts: ReadonlyArray<string>,
  { extra, from, peer }: { readonly peer: PeerId; readonly from: string; readonly extra: ReadonlySet<string> }
): ReadonlyArray<string> =>
  texts.flatMap((text) => {
    if (nowhere.test(text) || (loopback.test(text) && !loopback.test(from))) return []
    const one = Result.getOrUndefined(sort(text, { peerNeeded: false, extra }))
    if (one?.kind !== "usable" || (one.peer ?? peer) !== peer) return []
    return [one.peer === undefined ? `${text}/p2p/${peer}` : text]
  })

/** What is said of an address whose transport is not here. */
export const foreignMessage = (transport: string) =>
  `address needs the transport ${transport}, which this server does not have`
