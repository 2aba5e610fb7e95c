/**
 * Multiaddrs as operators write them, sorted at the start into those this server can use, those that need a transport
 * it does not have, and mistakes. It dials and listens on nothing.
 */
import { type Multiaddr, multiaddr } from "@multiformats/multiaddr"
import { Result, Schema } from "effect"
import { type PeerId, parse as parsePeerId } from "../identity/PeerId.ts"

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

/** An address that is well made and can be used, or one whose transport is not here. */
export type Sorted =
  | { readonly kind: "usable"; readonly address: Multiaddr; readonly peer: PeerId | undefined }
  | { readonly kind: "foreign"; readonly text: string; readonly transport: string; readonly peer: PeerId | undefined }

/** Names that stand for a way to connect which neither TCP nor WebSocket is, as they appear in a multiaddr. */
const foreignTransports =
  /\/(udx|quic|quic-v1|webtransport|webrtc|webrtc-direct|p2p-circuit|utp|udt|sctp|unix|memory)(?=\/|$)/g

const shape = /^((ip6zone )?(ip4|ip6|dns|dns4|dns6) tcp( tls( sni)? ws| ws| wss)?( http-path)?|dnsaddr)$/

/** One address, or why it cannot be meant. */
const sort = (text: string, extra: ReadonlySet<string>): Result.Result<Sorted, string> => {
  if (text === "") return Result.fail("empty")
  if (/\s/.test(text)) return Result.fail("white space in it")
  if (!text.startsWith("/")) return Result.fail("not a multiaddr (/ip4/192.0.2.1/tcp/55223, for example)")
  const peers = [...text.matchAll(/\/(?:p2p|ipfs)\/([^/]*)/g)].map((match) => match[1] ?? "")
  const foreign = [...text.matchAll(foreignTransports)].at(-1)?.[1]
  const isHere = foreign === undefined || extra.has(foreign)
  if (peers.length > 1 && foreign !== "p2p-circuit") return Result.fail("a doubled /p2p/ part")
  const named = peers.at(-1)
  const parsed = named === undefined ? undefined : parsePeerId(named)
  if (parsed !== undefined && Result.isFailure(parsed))
    return Result.fail(`its /p2p/ part is ${parsed.failure.problem}`)
  const peer = parsed?.success
  if (!isHere) return Result.succeed({ kind: "foreign", text, transport: foreign, peer })
  try {
    const address = multiaddr(text)
    const names = address.getComponents().map(({ name }) => name)
    const last = names.at(-1)
    if (names.includes("p2p") && last !== "p2p") return Result.fail("something after its /p2p/ part")
    const route = names.filter((name) => name !== "p2p").join(" ")
    if (foreign !== undefined || shape.test(route)) return Result.succeed({ kind: "usable", address, peer })
    const transport = names.findLast((name) => name === "udp" || name === "tls" || name === "onion3") ?? last ?? "none"
    return Result.succeed({ kind: "foreign", text, transport, peer })
  } catch (cause) {
    return Result.fail(`not a multiaddr (${cause instanceof Error ? cause.message.slice(0, 100) : "unreadable"})`)
  }
}

/**
 * Sorts a list of the configuration. Fails with every mistake in it, each under its key and index. With `peerNeeded`
 * an address must say whose it is; `extra` names transports that an application brought along.
 */
export const sortAll = (
  key: string,
  texts: ReadonlyArray<string>,
  options: { readonly peerNeeded: boolean; readonly extra: ReadonlySet<string> }
): Result.Result<ReadonlyArray<Sorted>, BadAddress> => {
  const problems: Array<string> = []
  const sorted: Array<Sorted> = []
  texts.forEach((text, index) => {
    const one = sort(text, options.extra)
    const problem = Result.isFailure(one)
      ? one.failure
      : options.peerNeeded && one.success.peer === undefined
        ? "no /p2p/ part: the peer ID of the server belongs at its end (/p2p/12D3KooW…)"
        : undefined
    if (problem !== undefined) problems.push(`${key}[${index}] ${JSON.stringify(text.slice(0, 200))}: ${problem}`)
    else if (Result.isSuccess(one)) sorted.push(one.success)
  })
  return problems.length > 0 ? Result.fail(new BadAddress({ problems })) : Result.succeed(sorted)
}

/** What is said of an address whose transport is not here. */
export const foreignMessage = (transport: string) =>
  `address needs the transport ${transport}, which this server does not have`
