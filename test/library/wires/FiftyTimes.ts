/**
 * A process of its own that starts and stops a server fifty times, each fifth time in touch with one that stays, then
 * stops that one too. It writes what it holds as lines of JSON, and does nothing to end: by then there is nothing to do.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDiscovery } from "../../../src/index.ts"

const rounds = 50
const inTouchEvery = 5

const directory = await mkdtemp(join(tmpdir(), "ricochet-fifty-"))
const warnings: Array<string> = []
process.on("warning", ({ message }) => warnings.push(message))

const server = (name: string, bootstrap: ReadonlyArray<string>) =>
  createDiscovery(
    {
      "server.listen_addresses": ["/ip4/127.0.0.1/tcp/0"],
      "server.bootstrap_peers": bootstrap,
      "storage.data_directory": join(directory, name)
    },
    { storage: "none", log: () => {} }
  )

const held = () => {
  globalThis.gc?.()
  const resources: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  const listeners = process.eventNames().reduce((count, name) => count + process.listenerCount(name), 0)
  return { heapBytes: process.memoryUsage().heapUsed, resources, listeners, warnings }
}

const tell = (round: number) => process.stdout.write(`${JSON.stringify({ round, ...held() })}\n`)

const staying = await server("staying", [])
for (let round = 1; round <= rounds; round++) {
  const isInTouch = round % inTouchEvery === 0
  const passing = await server(`passing-${round}`, isInTouch ? staying.addresses : [])
  const reading = (async () => {
    for await (const event of passing.watch()) {
      if (event._tag === "Changed" || (event._tag === "Snapshot" && event.servers.length > 0)) break
    }
  })()
  if (isInTouch) await reading
  // What still reads is ended by the close.
  await passing.close()
  await reading
  if (round % 10 === 0) tell(round)
}
await staying.close()
await rm(directory, { recursive: true })
tell(rounds + 1)
