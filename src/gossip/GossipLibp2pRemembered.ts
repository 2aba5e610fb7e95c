/**
 * What nodes said when they were connected, of where they can be dialled: kept while they are gone, and tried while
 * this server is alone (R15). The rules are AddressBook's and Search's.
 */
import type { Connection, IdentifyResult } from "@libp2p/interface"
import { type Multiaddr, multiaddr } from "@multiformats/multiaddr"
import { Context, Effect, FiberMap, Layer, Random, Schedule } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import { SteadyClock } from "../time/SteadyClock.ts"
import { AddressBook } from "./AddressBook.ts"
import { dialable } from "./GossipLibp2pAddresses.ts"
import { ExtraTransports } from "./GossipLibp2pApplication.ts"
import { Bans } from "./GossipLibp2pBans.ts"
import { Libp2pNode } from "./GossipLibp2pNode.ts"
import * as Search from "./GossipLibp2pSearch.ts"
import { topics } from "./Topic.ts"

/** The address book of the node. */
export class Remembered extends Context.Service<Remembered, AddressBook>()("ricochet-discovery/gossip/Remembered") {
  static readonly layer: Layer.Layer<Remembered, never, Libp2pNode> = Layer.suspend(() =>
    Layer.effect(Remembered, make)
  )
}

const make = Effect.gen(function* () {
  const { libp2p, listen, nameOf } = yield* Libp2pNode
  const extra = new Set((yield* ExtraTransports).map(({ name }) => name))
  const book = new AddressBook()

  const note = ({ remoteAddr, remotePeer }: Connection, told: ReadonlyArray<Multiaddr>) => {
    const peer = nameOf(remotePeer)
    book.tell({ peer, addresses: dialable(told.map(String), { peer, from: remoteAddr.toString(), extra }) })
  }

  yield* listen<IdentifyResult>(libp2p, "peer:identify", ({ connection, listenAddrs, signedPeerRecord }) =>
    Effect.sync(() => note(connection, signedPeerRecord?.addresses ?? listenAddrs))
  )
  // The node was there before, and may have been told already.
  yield* Effect.forEach(
    libp2p.getConnections(),
    (connection) =>
      Effect.tryPromise(async () => (await libp2p.peerStore.get(connection.remotePeer)).addresses).pipe(
        Effect.map((addresses) =>
          note(
            connection,
            addresses.map(({ multiaddr }) => multiaddr)
          )
        ),
        Effect.ignore
      ),
    { discard: true }
  )
  return book
})

const lookEvery = "1 second"
const dialTimeout = "10 seconds"

/** Tries whom the book names while nobody shares a topic with this server. */
export const layerSearch: Layer.Layer<never, never, Remembered | Libp2pNode | Bans> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { self, libp2p, mesh, nameOf } = yield* Libp2pNode
    const book = yield* Remembered
    const bans = yield* Bans
    const clock = yield* SteadyClock
    const tries = yield* FiberMap.make<PeerId>()
    let search: Search.Search | undefined

    const attempt = (peer: PeerId) => {
      const addresses = book.nodes.get(peer) ?? []
      return Effect.tryPromise({
        try: async (signal) => libp2p.dial(addresses.map(multiaddr), { signal }),
        catch: (cause) => (cause instanceof Error ? cause.message : String(cause)).slice(0, 200)
      }).pipe(
        Effect.timeout(dialTimeout),
        Effect.catch((error) =>
          Effect.logDebug("a server known from before cannot be reached").pipe(
            Effect.annotateLogs({ peer, addresses, error: String(error) })
          )
        )
      )
    }

    const look = Effect.gen(function* () {
      const connected = new Set(libp2p.getPeers().map(nameOf))
      const isAlone = topics.every((topic) => mesh.getSubscribers(topic).every((peer) => !connected.has(nameOf(peer))))
      if (!isAlone) {
        search = undefined
        return
      }
      const nowMillis = yield* clock.nowMillis
      const random = yield* Random.next
      const known = book.newestFirst.filter((peer) => peer !== self && !connected.has(peer) && !bans.isBanned(peer))
      const before = search ?? Search.begin(nowMillis, random)
      const [due, after] = Search.next(before, known, yield* FiberMap.size(tries), nowMillis, random)
      search = after
      if (before.rounds === 0 && after.rounds === 1) {
        yield* Effect.logInfo("alone: trying the servers known from before").pipe(
          Effect.annotateLogs({ known: known.length })
        )
      }
      for (const peer of due) yield* FiberMap.run(tries, peer, attempt(peer))
    })

    yield* look.pipe(
      Effect.catchCause((cause) => Effect.logError("looking for servers known from before failed", cause)),
      Effect.repeat(Schedule.spaced(lookEvery)),
      Effect.forkScoped
    )
  })
)
