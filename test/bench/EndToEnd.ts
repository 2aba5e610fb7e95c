/**
 * GossipSub end to end, between two processes: a node of ours that judges every message as a server does, against the
 * same node that accepts all, taking turns in one run. The other process sends signed messages as fast as it can.
 */
import { type ChildProcess, fork } from "node:child_process"
import { Context, Deferred, Effect, Layer, Logger } from "effect"
import { Gossip, type Judge } from "../../src/gossip/Gossip.ts"
import { topics } from "../../src/gossip/Topic.ts"
import { Intake, verdictOf } from "../../src/registry/Intake.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { liveNode } from "../wires/LiveNodes.ts"
import { median, print, summary } from "./Figures.ts"
import type { Done, Order } from "./Flooder.ts"

const servers = 3_000
const rounds = 9

/** Counts verdicts, and tells when all that are expected were given. */
const counter = () => {
  let expected = 0
  let accepted = 0
  let whenAll = Deferred.makeUnsafe<number>()
  return {
    expect: Effect.sync(() => {
      expected = servers
      accepted = 0
      whenAll = Deferred.makeUnsafe()
      return Deferred.await(whenAll)
    }),
    counted:
      (judge: Judge): Judge =>
      (message) =>
        Effect.map(judge(message), (verdict) => {
          if (verdict === "accept") accepted++
          if (--expected === 0) Deferred.doneUnsafe(whenAll, Effect.succeed(accepted))
          return verdict
        })
  }
}

const flooder = Effect.acquireRelease(
  Effect.sync(() => fork(new URL("Flooder.ts", import.meta.url), [String(servers)])),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
)

const tell = (child: ChildProcess, order: Order): Effect.Effect<Done> =>
  Effect.callback((resume) => {
    child.once("message", (done) => resume(Effect.succeed(done as Done)))
    child.send(order)
  })

/** A node with what judges in a server, and a counter of its verdicts. */
const receiver = Effect.fnUntraced(function* (kind: "ours" | "accept-all") {
  const gossip = yield* liveNode()
  const context = yield* Layer.build(
    Intake.layer.pipe(
      Layer.provide(Layer.succeed(Gossip, gossip)),
      Layer.provide([RegistryMemory.layerBounded(50_000), OwnWords.layer, Tally.layer])
    )
  )
  const intake = Context.get(context, Intake)
  const judge: Judge =
    kind === "ours"
      ? (message) => Effect.map(intake.consider(message, { kind: "topic" }), verdictOf)
      : () => Effect.succeed("accept")
  const verdicts = counter()
  for (const topic of topics) yield* gossip.join(topic, verdicts.counted(judge))
  return {
    address: gossip.address,
    expect: verdicts.expect,
    perSecond: [] as Array<number>,
    cpu: [] as Array<number>
  }
})

export const endToEnd = Effect.gen(function* () {
  const receivers = [yield* receiver("accept-all"), yield* receiver("ours")] as const
  const child = yield* flooder
  yield* tell(child, { order: "meet", addresses: receivers.map(({ address }) => address) })
  let payloadBytes = 0
  for (let round = -1; round < rounds; round++) {
    // One announcement of each server first; they are not measured, and warm both nodes up.
    const kind = round < 0 ? "announcement" : "heartbeat"
    payloadBytes = (yield* tell(child, { order: "sign", kind })).payloadBytes
    // Whoever goes first goes last the next time.
    const turns = round % 2 === 0 ? [0, 1] : [1, 0]
    for (const turn of turns) {
      const { cpu, expect, perSecond } = receivers[turn] as (typeof receivers)[number]
      const all = yield* expect
      const [start, before] = [performance.now(), process.cpuUsage()]
      yield* tell(child, { order: "send", receiver: turn })
      const accepted = yield* all.pipe(Effect.timeoutOrElse({ duration: "1 minute", orElse: () => Effect.succeed(0) }))
      const { system, user } = process.cpuUsage(before)
      if (accepted !== servers) return yield* Effect.die(new Error(`${accepted} of ${servers} messages were accepted`))
      if (round < 0) continue
      perSecond.push((servers * 1_000) / (performance.now() - start))
      cpu.push((user + system) / servers)
    }
  }
  const [all, ours] = receivers
  print(`GossipSub end to end between two processes: TCP, Noise, Yamux, StrictSign; ${rounds} rounds of ${servers}`)
  print(`  heartbeats of ${payloadBytes} bytes from ${servers} signers, one a frame, over one connection, taking turns`)
  for (const [name, { cpu, perSecond }] of [
    ["a validator that accepts all", all],
    ["our validator", ours]
  ] as const) {
    print(`    ${name.padEnd(30)} ${summary(perSecond, "msg/s")}, ${summary(cpu, "µs of processor a message")}`)
  }
  const ratio = (pick: (one: (typeof receivers)[number]) => ReadonlyArray<number>) =>
    (median(pick(ours)) / median(pick(all))).toFixed(2)
  print(
    `    ours / accepts all             ${ratio((one) => one.perSecond)} of the messages a second, ${ratio((one) => one.cpu)} of the processor time`
  )
}).pipe(Effect.scoped, Effect.provide(Logger.layer([])))
