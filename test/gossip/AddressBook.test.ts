import { assert, describe, it } from "@effect/vitest"
import { AddressBook, mostNodes } from "../../src/gossip/AddressBook.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

const [alice, bob, carol] = [peerIdOf("alice"), peerIdOf("bob"), peerIdOf("carol")]
const addresses = ["/ip4/192.0.2.1/tcp/1"]
const others = ["/ip4/192.0.2.2/tcp/2"]

describe("where other nodes can be dialled", () => {
  it("R15 is what each told last, and stays when one tells nothing of use", () => {
    const book = new AddressBook()
    book.tell({ peer: alice, addresses })
    book.tell({ peer: bob, addresses })
    book.tell({ peer: alice, addresses: others })
    book.tell({ peer: bob, addresses: [] })
    assert.deepStrictEqual(
      [...book.nodes],
      [
        [bob, addresses],
        [alice, others]
      ]
    )
    assert.deepStrictEqual(book.newestFirst, [alice, bob])
  })

  it("R15 is what each told before, unless it told something since", () => {
    const book = new AddressBook()
    book.tell({ peer: alice, addresses })
    book.remember([
      { peer: bob, addresses },
      { peer: carol, addresses: others },
      { peer: alice, addresses: others }
    ])
    assert.deepStrictEqual(book.newestFirst, [alice, bob, carol])
    assert.deepStrictEqual(book.nodes.get(alice), addresses)
  })

  it("R19 I08 is text that nobody stumbles over, eight addresses a node", () => {
    const book = new AddressBook()
    const many = Array.from({ length: 20 }, (_, n) => `/ip4/192.0.2.1/tcp/${n + 1}`)
    const hostile = ["/dns4/\0/tcp/1", "/dns4/a b/tcp/1", "/dns4/\u202e/tcp/1", `/dns4/${"a".repeat(300)}/tcp/1`]
    book.tell({ peer: alice, addresses: [...hostile, ...many, ...many] })
    book.tell({ peer: bob, addresses: hostile })
    book.remember([{ peer: carol, addresses: hostile }])
    assert.deepStrictEqual([...book.nodes], [[alice, many.slice(0, 8)]])
  })

  it("R19 is a bounded number of nodes: those that told last", () => {
    const book = new AddressBook()
    const peers = Array.from({ length: mostNodes + 2 }, (_, n) => peerIdOf(n))
    for (const peer of peers) book.tell({ peer, addresses })
    book.remember([{ peer: alice, addresses }])
    assert.deepStrictEqual([...book.nodes.keys()], peers.slice(2))
    const restored = new AddressBook()
    restored.tell({ peer: alice, addresses })
    restored.remember(peers.map((peer) => ({ peer, addresses })))
    assert.deepStrictEqual(restored.newestFirst, [alice, ...peers.slice(0, mostNodes - 1)])
  })
})
