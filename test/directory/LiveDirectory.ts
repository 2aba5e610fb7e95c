/** A live node that asks and answers, with what judges in a server and nothing else of one: no database, no voice. */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { listening } from "../../src/Composition.ts"
import { Settings } from "../../src/config/Settings.ts"
import { DirectorySync } from "../../src/directory/DirectorySync.ts"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { Streams } from "../../src/gossip/Streams.ts"
import { Intake } from "../../src/registry/Intake.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import { Registry } from "../../src/registry/Registry.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import { type LiveNode, liveNode } from "../wires/LiveNodes.ts"
import * as SignedServers from "./SignedServers.ts"

export interface LiveDirectory {
  readonly node: LiveNode
  readonly registry: Registry["Service"]
  readonly intake: Intake["Service"]
  readonly sync: DirectorySync["Service"]
}

export const liveDirectory: Effect.Effect<LiveDirectory, never, Scope.Scope> = Effect.gen(function* () {
  const node = yield* liveNode()
  const context = yield* Layer.build(
    listening.pipe(
      Layer.provideMerge(Intake.layer),
      Layer.provideMerge(Layer.mergeAll(RegistryMemory.layer, OwnWords.layer, Tally.layer)),
      Layer.provide([
        Layer.succeed(Gossip, node),
        Layer.succeed(Streams, node.streams),
        Layer.succeed(Settings, Settings.of(VirtualSettings.make({})))
      ])
    )
  )
  return {
    node,
    registry: Context.get(context, Registry),
    intake: Context.get(context, Intake),
    sync: Context.get(context, DirectorySync)
  }
})

/** Has the node know so many servers, each of which announced half an hour ago and sent a heartbeat since. */
export const acquaint = Effect.fnUntraced(function* ({ intake }: LiveDirectory, count: number) {
  const wallNanos = yield* Clock.currentTimeNanos
  const servers = Array.from({ length: count }, SignedServers.make)
  for (const server of servers) {
    const words = [server.announcement(wallNanos - 1_800_000_000_000n), server.heartbeat(wallNanos - 120_000_000_000n)]
    for (const message of words) yield* intake.consider(message, { kind: "topic" })
  }
  return servers
})
