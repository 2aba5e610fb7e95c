/**
 * A crowd over real connections: another process signs announcements with as many fresh keys as `--strangers` says
 * (default 100 000) and sends them as fast as one connection takes them, to a server that has four honest neighbours.
 */
import { type ChildProcess, fork } from "node:child_process"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Context, Effect, Layer, Logger, References } from "effect"
import { Gossip } from "../../src/gossip/Gossip.ts"
import { topics } from "../../src/gossip/Topic.ts"
import { Intake, verdictOf } from "../../src/registry/Intake.ts"
import { OwnWords } from "../../src/registry/OwnWords.ts"
import { available } from "../../src/registry/Query.ts"
import { Registry } from "../../src/registry/Registry.ts"
import * as RegistryMemory from "../../src/registry/RegistryMemory.ts"
import { Tally } from "../../src/registry/Tally.ts"
import { now } from "../../src/time/Now.ts"
import { liveNode, until } from "../wires/LiveNodes.ts"
import { print } from "./Figures.ts"
import type { Done, Order } from "./Flooder.ts"
import { held, megabytes, settled } from "./Heap.ts"

const strangers = Number(process.argv.find((argument) => argument.startsWith("--strangers="))?.slice(12) ?? 100_000)
const maxServers = 50_000
const honestServers = 4
/** Messages in the attacker's hands at once: with more, the answers to our pings come too late, and he is cut off. */
const underWay = 1_000

/** Another process of this benchmark, until the scope closes. */
const other = (module: string, ...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => fork(new URL(module, import.meta.url), args)),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const answer = <A>(child: ChildProcess): Effect.Effect<A> =>
  Effect.callback((resume) => {
    child.once("message", (message) => resume(Effect.succeed(message as A)))
  })

const tell = (child: ChildProcess, order: Order): Effect.Effect<Done> =>
  Effect.suspend(() => {
    child.send(order)
    return answer<Done>(child)
  })

/** What listens and judges in a server. */
const server = Effect.gen(function* () {
  const gossip = yield* liveNode()
  const context = yield* Layer.build(
    Intake.layer.pipe(
      Layer.provideMerge([RegistryMemory.layerBounded(maxServers), Tally.layer]),
      Layer.provide([Layer.succeed(Gossip, gossip), OwnWords.layer])
    )
  )
  const intake = Context.get(context, Intake)
  for (const topic of topics) {
    yield* gossip.join(topic, (message) => Effect.map(intake.consider(message, { kind: "topic" }), verdictOf))
  }
  return { gossip, registry: Context.get(context, Registry), tally: Context.get(context, Tally) }
})

const measured = Effect.fnUntraced(function* (logged: () => number) {
  const { gossip, registry, tally } = yield* server
  const counts = Effect.map(tally.read, (all) => all.filter(({ count }) => count > 0))
  const judged = Effect.map(counts, (all) => all.reduce((sum, { count }) => sum + count, 0))
  const neighbours = yield* Effect.flatMap(
    other("Neighbours.ts", gossip.address, String(honestServers)),
    answer<ReadonlyArray<string>>
  )
  const listed = Effect.gen(function* () {
    const list = new Set<string>(available(yield* registry.entries, yield* now).map(({ serverId }) => serverId))
    return neighbours.filter((neighbour) => list.has(neighbour)).length
  })
  yield* until(Effect.map(listed, (count) => count === honestServers))
  const child = yield* other("Flooder.ts", String(strangers))
  // Signing takes it half a minute, in which a connection would be given up.
  const { payloadBytes } = yield* tell(child, { order: "sign", kind: "announcement" })
  yield* tell(child, { order: "meet", addresses: [gossip.address] })

  const [before, alreadyJudged, series] = [settled(), yield* judged, (yield* tally.read).length]
  const [start, cpu, stalls] = [performance.now(), process.cpuUsage(), monitorEventLoopDelay({ resolution: 10 })]
  let [peak, fewestListed, looks] = [before, honestServers, 0]
  stalls.enable()
  let lastProgress = start
  for (let sent = 0, done = 0; done < strangers; ) {
    if (sent < strangers && sent - done < underWay / 2) {
      yield* tell(child, { order: "send", receiver: 0, part: [sent, sent + underWay] })
      sent = Math.min(sent + underWay, strangers)
    }
    peak = Math.max(peak, held())
    if (looks++ % 50 === 0) fewestListed = Math.min(fewestListed, yield* listed)
    yield* Effect.sleep("20 millis")
    const judgedBefore = done
    done = (yield* judged) - alreadyJudged
    if (done > judgedBefore) lastProgress = performance.now()
    if (performance.now() - lastProgress > 60_000) {
      return yield* Effect.die(new Error(`the connection is gone: ${done} of ${strangers} messages were judged`))
    }
  }
  const seconds = (performance.now() - start) / 1_000
  const { system, user } = process.cpuUsage(cpu)
  stalls.disable()
  const atOnce = settled()
  // GossipSub knows the messages of two minutes again; what is left then is what the registry knows.
  yield* Effect.sleep("130 seconds")
  const after = settled()

  const number = (figure: number) => Math.round(figure).toLocaleString("en-US")
  print(`a crowd: ${number(strangers)} announcements of ${payloadBytes} bytes, each signed by a key of its own`)
  print(
    `  over one connection, to a server that holds ${number(maxServers)} at most and has ${honestServers} honest neighbours`
  )
  print(
    `    judged             ${number(strangers / seconds)} msg/s, ${number((user + system) / strangers)} µs of processor a message`
  )
  for (const { count, reason, topic } of yield* counts) print(`    ${topic} ${reason}: ${number(count)}`)
  print(
    `    heap and buffers   ${megabytes(before)} before, ${megabytes(peak)} at most, ${megabytes(atOnce)} at the end, ${megabytes(after)} two minutes later`
  )
  print(`    event loop         ${(stalls.max / 1e6).toFixed(0)} ms at most without a turn`)
  print(`    honest neighbours  ${fewestListed} of ${honestServers} listed throughout, ${yield* listed} now`)
  print(`    log lines          ${logged()}; series ${(yield* tally.read).length}, before ${series}`)
})

export const crowd = Effect.suspend(() => {
  let lines = 0
  const count = Logger.make(() => void lines++)
  return measured(() => lines).pipe(
    Effect.scoped,
    Effect.provide(Logger.layer([count])),
    Effect.provideService(References.MinimumLogLevel, "Info")
  )
})
