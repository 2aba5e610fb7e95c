import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { allowedRefusals, Bans, windowMillis } from "../../src/gossip/GossipLibp2pBans.ts"
import { announceTopic } from "../../src/gossip/Topic.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import { liveNode, until } from "./LiveNodes.ts"
import { anyKey, inject, type RawGossip, rawGossip, rawMessage } from "./RawGossip.ts"

const [bad, other] = [peerIdOf("bad"), peerIdOf("other")]
const refuseTimes = Effect.fnUntraced(function* (peer: typeof bad, times: number) {
  const bans = yield* Bans
  const outcomes: Array<boolean> = []
  for (let n = 0; n < times; n++) outcomes.push(yield* bans.noteRefused(peer))
  return outcomes.lastIndexOf(true)
})

describe("a neighbour that forwards what is refused", () => {
  it.effect("R19 is borne for 20 messages a minute, then kept out for ten minutes, with one line in the log", () => {
    const log = CapturedLog.make()
    return Effect.gen(function* () {
      const bans = yield* Bans
      assert.strictEqual(yield* refuseTimes(bad, allowedRefusals), -1)
      yield* TestClock.adjust(windowMillis)
      assert.strictEqual(yield* refuseTimes(bad, allowedRefusals), -1)
      yield* TestClock.adjust(windowMillis - 1)
      assert.isFalse(bans.isBanned(bad))
      assert.strictEqual(yield* refuseTimes(bad, 100), 0)
      assert.deepStrictEqual([bans.isBanned(bad), bans.isBanned(other)], [true, false])
      yield* TestClock.adjust("10 minutes")
      assert.isFalse(bans.isBanned(bad))
      assert.deepStrictEqual(log.of("neighbour kept out"), [
        {
          level: "Warn",
          facts: {
            peer: bad,
            reason: "forwarded 21 messages within a minute that every server refuses",
            for: "10 minutes"
          }
        }
      ])
    }).pipe(Effect.provide(Bans.layer), Effect.provide(log.layer))
  })

  it.effect("R19 is one of a bounded number that is kept out; the oldest are let in again", () =>
    Effect.gen(function* () {
      const bans = yield* Bans
      for (let n = 0; n < 1_001; n++) yield* bans.ban(peerIdOf(n), "test")
      assert.deepStrictEqual(
        [0, 1, 1_000].map((n) => bans.isBanned(peerIdOf(n))),
        [false, true, true]
      )
    }).pipe(Effect.provide(Bans.layer), Effect.provide(CapturedLog.make().layer))
  )

  const stranger = Effect.fnUntraced(function* (address: string) {
    const node = yield* rawGossip
    yield* node.connect(address)
    yield* node.join(announceTopic)
    return node
  })
  const isGone = (node: RawGossip) => Effect.sync(() => node.libp2p.getConnections().length === 0)
  const cannotReturn = Effect.fnUntraced(function* (node: RawGossip, address: string) {
    yield* Effect.ignoreCause(node.connect(address))
    yield* until(isGone(node))
  })

  it.live("R19 is cut off and cannot come back, while others stay", () =>
    Effect.gen(function* () {
      const log = CapturedLog.make()
      const node = yield* liveNode()
      yield* node
        .join(announceTopic, ({ data }) =>
          Effect.succeed(new TextDecoder().decode(data) === "bad" ? "reject" : "ignore")
        )
        .pipe(Effect.provide(log.layer))
      const [worse, better] = [yield* stranger(node.address), yield* stranger(node.address)]
      for (let n = 0; n <= allowedRefusals; n++) {
        yield* worse.say(announceTopic, "bad")
        yield* better.say(announceTopic, "old")
      }
      yield* until(isGone(worse))
      yield* cannotReturn(worse, node.address)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.tryPromise(() => node.libp2p.dial(worse.libp2p.peerId)))))
      assert.isFalse(yield* isGone(better))
      assert.deepStrictEqual(
        log.of("neighbour kept out").map(({ facts }) => facts.peer),
        [worse.peerId]
      )
    })
  )

  it.live("R19 is kept out also for what GossipSub itself refuses", () =>
    Effect.gen(function* () {
      const node = yield* liveNode()
      yield* node.join(announceTopic, () => Effect.succeed("accept"))
      const flooder = yield* stranger(node.address)
      const key = yield* Effect.promise(anyKey)
      const messages = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: 40 }, () => rawMessage(key, { topic: announceTopic, text: "x" })))
      )
      yield* inject(
        flooder,
        messages.map((message) => ({ ...message, signature: new Uint8Array(64) }))
      )
      yield* until(isGone(flooder))
      yield* cannotReturn(flooder, node.address)
    })
  )
})
