/**
 * Where other nodes can be dialled, by their own words, also when they are not connected. A bounded memory; it dials
 * nobody and knows no transport.
 */
import type { PeerId } from "../identity/PeerId.ts"

/** Where one node can be dialled. */
export interface Whereabouts {
  /** The node. */
  readonly peer: PeerId
  /** Multiaddrs that end in `/p2p/<peer>`. */
  readonly addresses: ReadonlyArray<string>
}

/** Addresses of one node at most. */
export const mostAddresses = 8
/** Nodes at most. */
export const mostNodes = 5_000
/** What a multiaddr is written with. A stranger may write anything into the host name of one. */
const readable = /^[\x21-\x7e]{1,256}$/

const bounded = (addresses: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(addresses)].filter((address) => readable.test(address)).slice(0, mostAddresses)

export class AddressBook {
  /** Who told last comes last. */
  #nodes = new Map<PeerId, ReadonlyArray<string>>()

  /** All nodes with their addresses, as of now and later. */
  get nodes(): ReadonlyMap<PeerId, ReadonlyArray<string>> {
    return this.#nodes
  }

  /** The nodes whose words are newest first. */
  get newestFirst(): ReadonlyArray<PeerId> {
    return [...this.#nodes.keys()].reverse()
  }

  /** A node tells where it can be dialled, in place of what it told before. One that tells nothing of use changes nothing. */
  tell({ addresses, peer }: Whereabouts): void {
    const told = bounded(addresses)
    if (told.length === 0) return
    this.#nodes.delete(peer)
    this.#nodes.set(peer, told)
    for (const oldest of this.#nodes.keys()) {
      if (this.#nodes.size <= mostNodes) return
      this.#nodes.delete(oldest)
    }
  }

  /** Adds what nodes told at an earlier time, newest first. What is here already is newer. */
  remember(earlier: ReadonlyArray<Whereabouts>): void {
    const added = earlier
      .filter(({ peer }) => !this.#nodes.has(peer))
      .map(({ addresses, peer }) => [peer, bounded(addresses)] as const)
      .filter(([, addresses]) => addresses.length > 0)
      .slice(0, mostNodes - this.#nodes.size)
    this.#nodes = new Map([...added.reverse(), ...this.#nodes])
  }
}
