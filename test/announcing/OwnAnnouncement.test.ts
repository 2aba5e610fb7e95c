import { assert, describe, it } from "@effect/vitest"
import * as OwnAnnouncement from "../../src/announcing/OwnAnnouncement.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"

describe("what a server says of itself", () => {
  it.each([
    [10, "10GB"],
    [1, "1GB"],
    [1.999, "1GB"],
    [2.5, "2GB"],
    [50_000, "50000GB"],
    [0.999, "1022MB"],
    [0.5, "512MB"],
    [0.001, "1MB"],
    [0, "0MB"]
  ])("S6 writes a budget of %d GB as %s", (gigabytes, text) => {
    assert.strictEqual(OwnAnnouncement.maxStorageText(gigabytes), text)
  })

  it.each([
    [30, "720h0m0s"],
    [30.1, "722h24m0s"],
    [0.1, "2h24m0s"],
    [1 / 3, "8h0m0s"],
    [0.00001, "864ms"],
    [3_650, "87600h0m0s"],
    [0, "0s"]
  ])("S6 writes a retention of %d days as %s", (days, text) => {
    assert.strictEqual(OwnAnnouncement.retentionText(days), text)
  })

  it.each([
    { addresses: [], port: 0 },
    { addresses: ["/ip4/127.0.0.1/tcp/4001/p2p/12D3KooW"], port: 4_001 },
    { addresses: ["/ip4/127.0.0.1/tcp/4001"], port: 4_001 },
    { addresses: ["/ip4/127.0.0.1/tcp/4002/ws/p2p/12D3KooW", "/ip6/::1/tcp/4001/p2p/12D3KooW"], port: 4_001 },
    { addresses: ["/ip4/127.0.0.1/udp/4003/quic-v1", "/dns/example.org/tcp/4002/ws"], port: 4_002 },
    { addresses: ["/memory/7"], port: 0 }
  ])("S6 takes the port $port of $addresses", ({ addresses, port }) => {
    assert.strictEqual(OwnAnnouncement.portOf(addresses), port)
  })

  const bound = ["/ip4/127.0.0.1/tcp/40000/p2p/12D3KooW"]
  it.each([
    { what: "the configured one", configured: 55_223, listen: [], port: 55_223 },
    {
      what: "the configured one where it is listened on",
      configured: 55_223,
      listen: ["/ip4/0.0.0.0/tcp/55223"],
      port: 55_223
    },
    {
      what: "the listen addresses' own where they differ",
      configured: 55_223,
      listen: ["/ip4/0.0.0.0/tcp/6000"],
      port: 6_000
    },
    { what: "the bound one where any may be taken", configured: 0, listen: ["/ip4/0.0.0.0/tcp/0"], port: 40_000 },
    {
      what: "the bound one where none is listened on by number",
      configured: 55_223,
      listen: ["/ip4/0.0.0.0/tcp/0"],
      port: 40_000
    }
  ])("S6 L03 announces $what", ({ configured, listen, port }) => {
    const server = { ...VirtualSettings.make({}).server, port: configured, listenAddresses: listen }
    assert.strictEqual(OwnAnnouncement.listenPort(server, bound), port)
  })
})
