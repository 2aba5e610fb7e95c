/**
 * A plain TypeScript program, without Effect: a server that says whom it finds, and what becomes of them.
 *
 *     node PlainScript.ts [multiaddr of a server]…
 */
import { createDiscovery } from "ricochet-discovery"

const discovery = await createDiscovery(
  {
    "server.region": "us-east",
    // On this machine alone; without it, on port 55223 of every interface.
    "server.listen_addresses": ["/ip4/127.0.0.1/tcp/0"],
    "server.bootstrap_peers": process.argv.slice(2)
  },
  { storage: "none" }
)
process.once("SIGINT", () => discovery.close())
process.once("SIGTERM", () => discovery.close())
console.log(`this server is at ${discovery.addresses[0]}`)

// Ends when the server is closed, and the program with it.
for await (const event of discovery.watch()) {
  if (event._tag === "Snapshot") {
    for (const server of event.servers) console.log(`${server.serverId} is ${server.state}`)
  }
  if (event._tag === "Changed" && event.before !== event.server.state) {
    console.log(`${event.server.serverId} is ${event.server.state}`)
  }
  if (event._tag === "Gone") console.log(`${event.serverId} is gone`)
}
