/**
 * The honest neighbours of a server that is measured, in a process of their own: so many nodes with bare GossipSub that
 * connect to an address, announce themselves and stay. Tells their peer IDs.
 */
import { Effect } from "effect"
import { announceTopic, topics } from "../../src/gossip/Topic.ts"
import { fromCanonical } from "../../src/identity/PeerId.ts"
import { VirtualWords } from "../../src/testing.ts"
import { now } from "../../src/time/Now.ts"
import { rawGossip } from "../wires/RawGossip.ts"

const [address = "", count] = process.argv.slice(2)

const neighbour = Effect.gen(function* () {
  const node = yield* rawGossip
  yield* node.connect(address)
  for (const topic of topics) yield* node.join(topic)
  const { wallNanos } = yield* now
  const words = VirtualWords.announcement({ serverId: fromCanonical(node.peerId), timestamp: wallNanos })
  yield* node.say(announceTopic, new TextDecoder().decode(words))
  return node.peerId
})

const all = Effect.gen(function* () {
  const peerIds = yield* Effect.forEach(Array.from({ length: Number(count) }), () => neighbour)
  process.send?.(peerIds)
  return yield* Effect.never
})

process.on("disconnect", () => process.exit(0))
await Effect.runPromise(Effect.scoped(all))
