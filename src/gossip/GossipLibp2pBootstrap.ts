/** The configured bootstrap addresses, told apart: those to dial, and those that need what is not here. */
import { Effect } from "effect"
import { Settings } from "../config/Settings.ts"
import type { PeerId } from "../identity/PeerId.ts"
import type { BootstrapStatus } from "./Connectivity.ts"
import { foreignMessage, sortAll } from "./GossipLibp2pAddresses.ts"
import { ExtraTransports } from "./GossipLibp2pApplication.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"

export interface Dialled {
  readonly address: string
  readonly peer: PeerId
}

/** Fails with every mistake in the list. What is no mistake but of no use here is named in the log and passed over. */
export const readBootstrap = Effect.gen(function* () {
  const { self } = yield* Libp2pNode
  const { server } = yield* Settings
  const extra = new Set((yield* ExtraTransports).map(({ name }) => name))
  const sorted = yield* Effect.fromResult(
    sortAll("server.bootstrap_peers", [...new Set(server.bootstrapPeers)], { peerNeeded: true, extra })
  )
  const dialled: Array<Dialled> = []
  const foreign: Array<BootstrapStatus> = []
  for (const one of sorted) {
    const address = one.kind === "usable" ? one.address.toString() : one.text
    if (one.peer === self) {
      yield* Effect.logWarning("bootstrap address is this server's own").pipe(Effect.annotateLogs({ address }))
    } else if (one.kind === "foreign") {
      const lastError = foreignMessage(one.transport)
      yield* Effect.logWarning(lastError).pipe(Effect.annotateLogs({ address }))
      foreign.push({ address, peer: one.peer, isConnected: false, lastError, nextTryInMillis: undefined })
    } else if (one.peer !== undefined) {
      dialled.push({ address, peer: one.peer })
    }
  }
  return { dialled, foreign }
})
