/**
 * A multiaddr as an operator writes it: whether it can be meant at all, and whether it needs a transport that is not
 * here. It judges the text alone; who answers at the address is not its matter.
 */
import { type Multiaddr, multiaddr } from "@multiformats/multiaddr"
import { Result } from "effect"
import { type PeerId, parse as parsePeerId } from "../identity/PeerId.ts"

/** An address that is well made and can be used, or one whose transport is not here. */
export type Sorted =
  | { readonly kind: "usable"; readonly address: Multiaddr; readonly peer: PeerId | undefined }
  | { readonly kind: "foreign"; readonly text: string; readonly transport: string; readonly peer: PeerId | undefined }

export interface Wanted {
  /** An address must say whose it is. */
  readonly peerNeeded: boolean
  /** Transports that an application brought along, by name. */
  readonly extra: ReadonlySet<string>
}

/** Names that stand for a way to connect which neither TCP nor WebSocket is, as they appear in a multiaddr. */
const foreignTransports =
  /\/(udx|quic|quic-v1|webtransport|webrtc|webrtc-direct|p2p-circuit|utp|udt|sctp|unix|memory)(?=\/|$)/g

const shape = /^((ip6zone )?(ip4|ip6|dns|dns4|dns6) tcp( tls( sni)? ws| ws| wss)?( http-path)?|dnsaddr)$/

const sortWritten = (text: string, extra: ReadonlySet<string>): Result.Result<Sorted, string> => {
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

/** One address, or why it cannot be meant. */
export const sort = (text: string, { extra, peerNeeded }: Wanted): Result.Result<Sorted, string> =>
  Result.flatMap(sortWritten(text, extra), (one) =>
    peerNeeded && one.peer === undefined
      ? Result.fail("no /p2p/ part: the peer ID of the server belongs at its end (/p2p/12D3KooW…)")
      : Result.succeed(one)
  )
