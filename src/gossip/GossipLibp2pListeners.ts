/**
 * Where the node listens, and whether it can: each port is tried before libp2p is, because libp2p does not say which
 * of its listeners failed for what. It opens nothing that stays open.
 */
import { createServer } from "node:net"
import type { Multiaddr } from "@multiformats/multiaddr"
import { Effect, type Result, Schema } from "effect"
import type { ServerSettings } from "../config/Settings.ts"
import type { Sorted } from "./Address.ts"
import { BadAddress, foreignMessage, sortAll } from "./GossipLibp2pAddresses.ts"

/** A listener of the libp2p node could not be opened. */
export class ListenUnavailable extends Schema.TaggedError<ListenUnavailable>()("ListenUnavailable", {
  /** The multiaddr to listen on. */
  listener: Schema.String,
  reason: Schema.String
}) {
  readonly exitCode = 69
  override get message() {
    return `cannot listen for peers on ${this.listener}: ${this.reason}`
  }
}

/** The addresses set, else the port on every interface. A port of 0 is taken once, on IPv4: two would be two ports. */
export const wanted = (server: ServerSettings): ReadonlyArray<string> => {
  if (server.listenAddresses.length > 0) return server.listenAddresses
  const ip4 = `/ip4/0.0.0.0/tcp/${server.port}`
  return server.port === 0 ? [ip4] : [ip4, `/ip6/::/tcp/${server.port}`]
}

type Outcome = "free" | "no-such-address" | { readonly reason: string }

const reasonOf = (code: string | undefined, port: number) =>
  code === "EADDRINUSE"
    ? `port ${port} is in use`
    : code === "EACCES"
      ? `port ${port} needs more rights than this process has`
      : `port ${port} cannot be opened (${code ?? "unknown error"})`

const tryPort = (host: string, port: number, ipv6Only: boolean): Effect.Effect<Outcome> =>
  Effect.callback<Outcome>((resume) => {
    const server = createServer()
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const absent = cause.code === "EADDRNOTAVAIL" || cause.code === "EAFNOSUPPORT"
      resume(Effect.succeed(absent ? "no-such-address" : { reason: reasonOf(cause.code, port) }))
    })
    server.listen({ host, port, ipv6Only }, () => server.close(() => resume(Effect.succeed("free"))))
  })

const tryAddress = (address: Multiaddr): Effect.Effect<Outcome> => {
  const [host, port] = address.getComponents()
  const isIp = host?.name === "ip4" || host?.name === "ip6"
  return isIp && host.value !== undefined && port?.name === "tcp"
    ? tryPort(host.value, Number(port.value), host.name === "ip6")
    : Effect.succeed("free")
}

/**
 * The addresses to listen on: all that are set, but for those that need a transport this server does not have and,
 * where the machine has no IPv6, those of IPv6.
 */
export const usable = Effect.fn("Listeners.usable")(function* (server: ServerSettings, extra: ReadonlySet<string>) {
  const sorted = yield* Effect.fromResult(
    sortAll("server.listen_addresses", wanted(server), { peerNeeded: false, extra })
  )
  const listening: Array<Multiaddr> = []
  for (const one of sorted) {
    if (one.kind === "foreign") {
      yield* Effect.logWarning(foreignMessage(one.transport)).pipe(Effect.annotateLogs({ listener: one.text }))
      continue
    }
    const listener = one.address.toString()
    const outcome = yield* tryAddress(one.address)
    if (outcome === "free") listening.push(one.address)
    else if (outcome !== "no-such-address") return yield* new ListenUnavailable({ listener, ...outcome })
    else if (one.address.getComponents()[0]?.name === "ip6") {
      yield* Effect.logInfo("no IPv6 to listen on").pipe(Effect.annotateLogs({ listener }))
    } else return yield* new ListenUnavailable({ listener, reason: "this machine has no such address" })
  }
  if (listening.length === 0) {
    const problem = `server.listen_addresses: none of ${sorted.length} can be listened on by this server`
    return yield* new BadAddress({ problems: [problem] })
  }
  return listening
})

/** Addresses that others are told to dial. Those that cannot be encoded here are left out, with a word. */
export const announced = Effect.fn("Listeners.announced")(function* (
  server: ServerSettings,
  extra: ReadonlySet<string>
) {
  const sorted: Result.Result<ReadonlyArray<Sorted>, BadAddress> = sortAll(
    "server.external_addresses",
    server.externalAddresses,
    { peerNeeded: false, extra }
  )
  const announcing: Array<string> = []
  for (const one of yield* Effect.fromResult(sorted)) {
    if (one.kind === "usable") announcing.push(one.address.toString())
    else yield* Effect.logWarning(foreignMessage(one.transport)).pipe(Effect.annotateLogs({ external: one.text }))
  }
  return announcing
})
