/** What GossipSub holds against a neighbour, on loopback sockets: too little to hurt the honest, enough to hurt. */
import { assert, describe, it } from "@effect/vitest"
import type { PeerScore } from "@libp2p/gossipsub/score"
import { Context, Effect, Layer, Option } from "effect"
import { Gossip } from "../../../src/gossip/Gossip.ts"
import { allowedRefusals } from "../../../src/gossip/GossipLibp2pBans.ts"
import { announceTopic } from "../../../src/gossip/Topic.ts"
import { fromCanonical } from "../../../src/identity/PeerId.ts"
import { Intake, verdictOf } from "../../../src/registry/Intake.ts"
import { OwnWords } from "../../../src/registry/OwnWords.ts"
import { Registry } from "../../../src/registry/Registry.ts"
import * as RegistryMemory from "../../../src/registry/RegistryMemory.ts"
import { Tally } from "../../../src/registry/Tally.ts"
import { VirtualWords } from "../../../src/testing.ts"
import * as CapturedLog from "../../announcing/CapturedLog.ts"
import { dial, type LiveNode, liveNode, onTopic, until } from "../../wires/LiveNodes.ts"
import { type RawGossip, rawGossip } from "../../wires/RawGossip.ts"

/** What GossipSub's published type leaves out. */
interface Scored {
  readonly score: PeerScore
  getMeshPeers(topic: string): ReadonlyArray<string>
}

const scored = ({ libp2p }: LiveNode) => libp2p.services.mesh as unknown as Scored
/** As it is now: GossipSub itself looks again once a second. */
const scoreOf = (node: LiveNode, peer: string) => {
  const { score } = scored(node)
  score.scoreCache.clear()
  return score.score(peer)
}
const isInMesh = (node: LiveNode, peer: string) =>
  Effect.sync(() => scored(node).getMeshPeers(announceTopic).includes(peer))
/** GossipSub forgets a little each second. */
const secondsPass = (node: LiveNode, seconds: number) => {
  for (let second = 0; second < seconds; second++) scored(node).score.refreshScores()
}

/** A live node that judges as a server does, and what it knows. */
const server = Effect.gen(function* () {
  const node = yield* liveNode()
  const context = yield* Layer.build(
    Intake.layer.pipe(
      Layer.provideMerge(RegistryMemory.layerBounded(100)),
      Layer.provide([Layer.succeed(Gossip, node), OwnWords.layer, Tally.layer])
    )
  )
  const intake = Context.get(context, Intake)
  yield* node.join(announceTopic, (message) => Effect.map(intake.consider(message, { kind: "topic" }), verdictOf))
  return { node, registry: Context.get(context, Registry) }
})

const stranger = Effect.fnUntraced(function* (address: string) {
  const node = yield* rawGossip
  yield* node.connect(address)
  yield* node.join(announceTopic)
  return node
})

const words = ({ peerId }: RawGossip, number = 0) => {
  const timestamp = BigInt(Date.now()) * 1_000_000n + BigInt(number)
  return new TextDecoder().decode(VirtualWords.announcement({ serverId: fromCanonical(peerId), timestamp }))
}

describe("GossipSub's score of a neighbour", () => {
  it.live("R19 is not below zero for one that is honest and says nothing for hours", () =>
    Effect.gen(function* () {
      const { node } = yield* server
      const quiet = yield* stranger(node.address)
      yield* until(isInMesh(node, quiet.peerId))
      yield* Effect.sync(() => {
        const { score } = scored(node)
        const [real, hours] = [Date.now, 3 * 3_600_000]
        Date.now = () => real() + hours
        try {
          secondsPass(node, 10)
          const stats = score.peerStats.get(quiet.peerId)?.topics[announceTopic] ?? assert.fail("not scored")
          assert.deepStrictEqual([stats.meshTime >= hours, stats.meshMessageDeliveriesActive], [true, true])
          assert.strictEqual(score.score(quiet.peerId), 0)
        } finally {
          Date.now = real
        }
      })
    })
  )

  it.live(
    "R2 R19 falls with what it forwards that others accept and we refuse: it leaves the mesh, and is still heard",
    () => {
      const log = CapturedLog.make()
      return Effect.gen(function* () {
        const { node, registry } = yield* server
        const { node: relay } = yield* onTopic()
        const [bad, good] = [yield* stranger(relay.address), yield* stranger(relay.address)]
        yield* dial(node, relay)
        yield* until(isInMesh(node, relay.self))
        for (const peer of [node.self, bad.peerId, good.peerId]) yield* until(isInMesh(relay, peer))
        let number = 0
        const sayTwice = Effect.suspend(() =>
          bad.say(announceTopic, words(bad, number++).replace(`"healthy":true`, `"healthy":true,"healthy":true`))
        )
        yield* sayTwice
        yield* until(Effect.sync(() => scoreOf(node, relay.self) < 0))
        yield* until(Effect.map(isInMesh(node, relay.self), (isIn) => !isIn))

        while (number < allowedRefusals) yield* sayTwice
        const refused = Effect.map(registry.refusalOf(fromCanonical(bad.peerId)), (refusal) =>
          Option.getOrUndefined(refusal)
        )
        yield* until(Effect.map(refused, (refusal) => refusal?.count === allowedRefusals))
        const score = scoreOf(node, relay.self)
        assert.isTrue(score < -5 && score >= -10, String(score))
        yield* good.say(announceTopic, words(good))
        yield* until(Effect.map(registry.find(fromCanonical(good.peerId)), Option.isSome))

        secondsPass(node, 300)
        assert.strictEqual(scoreOf(node, relay.self), 0)

        yield* sayTwice
        yield* until(Effect.sync(() => node.libp2p.getConnections().length === 0))
        assert.deepStrictEqual(
          log.of("neighbour kept out").map(({ facts }) => [facts.peer, facts.for]),
          [[relay.self, "10 minutes"]]
        )
      }).pipe(Effect.provide(log.layer))
    }
  )
})
