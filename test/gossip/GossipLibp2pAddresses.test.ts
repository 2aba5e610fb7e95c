import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { dialable, foreignMessage, sortAll } from "../../src/gossip/GossipLibp2pAddresses.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"

const peer = peerIdOf("server")
const bootstrap = (texts: ReadonlyArray<string>, extra: ReadonlyArray<string> = []) =>
  sortAll("server.bootstrap_peers", texts, { peerNeeded: true, extra: new Set(extra) })

/** Each address in short: itself, the transport it lacks, or what is wrong. */
const outcome = (text: string, extra: ReadonlyArray<string> = []) =>
  Result.match(bootstrap([text], extra), {
    onSuccess: ([one]) => (one?.kind === "foreign" ? `needs ${one.transport}` : one?.address.toString()),
    onFailure: ({ problems }) => problems.join()
  })

describe("bootstrap addresses", () => {
  for (const route of [
    "/ip4/192.0.2.1/tcp/55223",
    "/ip6/2001:db8::1/tcp/55223",
    "/dns/example.org/tcp/55223",
    "/dns4/example.org/tcp/55223",
    "/dns6/example.org/tcp/55223",
    "/dnsaddr/example.org",
    "/ip4/192.0.2.1/tcp/80/ws",
    "/dns4/example.org/tcp/443/tls/ws",
    "/dns4/example.org/tcp/443/wss"
  ]) {
    it(`R15 can be ${route}`, () => {
      const text = `${route}/p2p/${peer}`
      const sorted = Result.getOrThrow(bootstrap([text]))
      assert.deepStrictEqual(
        sorted.map((one) => [one.kind, one.kind === "usable" && one.address.toString(), one.peer]),
        [["usable", text, peer]]
      )
    })
  }

  for (const [route, transport] of [
    ["/ip4/192.0.2.1/udp/55223/udx", "udx"],
    ["/ip4/192.0.2.1/udp/55223/quic-v1", "quic-v1"],
    ["/ip4/192.0.2.1/udp/55223/quic-v1/webtransport", "webtransport"],
    ["/ip4/192.0.2.1/udp/55223", "udp"],
    ["/ip4/192.0.2.1/tcp/443/tls", "tls"],
    [`/ip4/192.0.2.1/tcp/55223/p2p/${peerIdOf("relay")}/p2p-circuit`, "p2p-circuit"]
  ] as const) {
    it(`D09 R15 are no mistake where they need ${transport}: ${route}`, () => {
      assert.strictEqual(outcome(`${route}/p2p/${peer}`), `needs ${transport}`)
    })
  }

  it("D09 say which transport is missing", () => {
    assert.strictEqual(foreignMessage("udx"), "address needs the transport udx, which this server does not have")
  })

  const wrong = (text: string, problem: string) =>
    it(`D07 are a mistake: ${JSON.stringify(text)}`, () => {
      assert.strictEqual(outcome(text), `server.bootstrap_peers[0] ${JSON.stringify(text)}: ${problem}`)
    })
  const idMissing = "no /p2p/ part: the peer ID of the server belongs at its end (/p2p/12D3KooW…)"
  const notOne = "not a multiaddr (/ip4/192.0.2.1/tcp/55223, for example)"
  wrong("", "empty")
  wrong("https://example.org", notOne)
  wrong("192.0.2.1:55223", notOne)
  wrong("/ip4/192.0.2.1/tcp/55223", idMissing)
  wrong("/ip4/192.0.2.1/udp/55223/udx", idMissing)
  wrong(`/ip4/192.0.2.1/tcp/55223/p2p/${peer} `, "white space in it")
  wrong(`/ip4/192.0.2.1/tcp/55223/p2p/${peer}/p2p/${peer}`, "a doubled /p2p/ part")
  wrong(`/ip4/192.0.2.1/udp/55223/udx/p2p/${peer}/p2p/${peer}`, "a doubled /p2p/ part")
  wrong(
    "/ip4/192.0.2.1/tcp/55223/p2p/nobody",
    "its /p2p/ part is not a peer ID (expected base58, 12D3KooW…, or CIDv1, bafz…)"
  )
  wrong(`/p2p/${peer}/ip4/192.0.2.1/tcp/55223`, "something after its /p2p/ part")
  wrong(`/ip4/192.0.2.999/tcp/55223/p2p/${peer}`, 'not a multiaddr (Invalid IPv4 address "192.0.2.999")')
  wrong(`/ip4/192.0.2.1/tcp/99999/p2p/${peer}`, "not a multiaddr (Value must be smaller than or equal to 65535)")
  wrong(`/nothing/known/p2p/${peer}`, "not a multiaddr (Protocol nothing was unknown)")

  it("D07 are all named when several are mistakes, each with its place in the list", () => {
    const good = `/ip4/192.0.2.1/tcp/55223/p2p/${peer}`
    const failure = Result.getOrThrow(Result.flip(bootstrap(["https://x", good, "", good])))
    assert.strictEqual(failure.exitCode, 78)
    assert.strictEqual(
      failure.message,
      `server.bootstrap_peers[0] "https://x": ${notOne}; server.bootstrap_peers[2] "": empty`
    )
  })

  it("can need a transport that an application brought along, once libp2p knows its name", () => {
    const text = `/ip4/192.0.2.1/udp/55223/quic-v1/p2p/${peer}`
    assert.strictEqual(outcome(text, ["quic-v1"]), text)
  })

  it("show at most 200 characters of themselves", () => {
    const failure = Result.getOrThrow(Result.flip(bootstrap(["x".repeat(10_000)])))
    assert.strictEqual(failure.message, `server.bootstrap_peers[0] "${"x".repeat(200)}": ${notOne}`)
  })
})

describe("the addresses that a peer gives of itself", () => {
  const of = (texts: ReadonlyArray<string>, from = "/ip4/198.51.100.7/tcp/49152") =>
    dialable(texts, { peer, from, extra: new Set() })

  it("R15 R21 are those that can be dialled from here, each with its peer ID", () =>
    assert.deepStrictEqual(
      of([
        "/ip4/192.0.2.1/tcp/55223",
        `/dns4/example.org/tcp/443/wss/p2p/${peer}`,
        "/ip4/0.0.0.0/tcp/55223",
        "/ip6/::/tcp/55223",
        "/ip4/192.0.2.1/tcp/0",
        "/ip4/192.0.2.1/udp/55223/quic-v1",
        `/ip4/192.0.2.1/tcp/55223/p2p/${peerIdOf("another")}`,
        "nonsense"
      ]),
      [`/ip4/192.0.2.1/tcp/55223/p2p/${peer}`, `/dns4/example.org/tcp/443/wss/p2p/${peer}`]
    ))

  it("R21 are on the loopback only where the peer is", () => {
    const loopback = ["/ip4/127.0.0.1/tcp/55223", "/ip6/::1/tcp/55223"]
    assert.deepStrictEqual(of(loopback), [])
    assert.deepStrictEqual(
      of(loopback, "/ip4/127.0.0.1/tcp/49152"),
      loopback.map((text) => `${text}/p2p/${peer}`)
    )
  })
})
