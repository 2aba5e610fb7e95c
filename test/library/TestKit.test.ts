import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { Servers } from "../../src/library/Servers.ts"
import { makeVirtualNetwork } from "../../src/testing.ts"

describe("the test kit", () => {
  it("opens no socket, file or database, and takes neither libp2p nor a database along", async () => {
    const program = fileURLToPath(new URL("TestKitAlone.ts", import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [program])
    const packages: ReadonlyArray<string> = JSON.parse(stdout)
    // Peer IDs are read by libp2p's own reader, and that stands on its keys.
    assert.deepStrictEqual(
      packages.filter((name) => name.includes("libp2p")),
      ["@libp2p/crypto", "@libp2p/interface", "@libp2p/peer-id"]
    )
  }, 60_000)

  it.effect("does to a network what a test says, and notes it for whom an assertion fails", () =>
    Effect.gen(function* () {
      const network = yield* makeVirtualNetwork({ seed: "a week in December" })
      const berlin = yield* network.start("berlin", { capabilities: ["mailbox"] })
      const lisbon = yield* network.start("lisbon", { region: "eu-west" })
      const madrid = yield* network.server("madrid")
      yield* network.connect(lisbon, madrid, { delay: "1 second", jitter: "2 seconds", loss: 0.1, duplication: 0.1 })
      yield* madrid.start
      yield* TestClock.adjust("10 minutes")
      yield* network.expectLists({ berlin: ["lisbon", "madrid"], lisbon: ["berlin", "madrid"] })
      const picked = yield* berlin.run(
        Effect.flatMap(Servers, (servers) => servers.pick("document 4711", { region: "eu-west" }))
      )
      assert.deepStrictEqual(
        Option.map(picked, ({ serverId }) => serverId),
        Option.some(lisbon.peerId)
      )
      const mailboxes = yield* lisbon.run(Effect.flatMap(Servers, ({ list }) => list({ capability: "mailbox" })))
      assert.deepStrictEqual(
        mailboxes.map(({ serverId }) => serverId),
        [berlin.peerId, madrid.peerId]
      )

      yield* network.partition([berlin])
      yield* berlin.check(Effect.fail("the disk is full"))
      yield* TestClock.adjust("10 minutes")
      yield* network.expectLists({ lisbon: ["berlin", "madrid"] })
      yield* network.heal
      yield* TestClock.adjust("10 minutes")
      yield* network.expectLists({ lisbon: ["madrid"], berlin: ["lisbon", "madrid"] })
      yield* berlin.check(Effect.void)
      yield* lisbon.skew("-30 seconds")
      yield* madrid.stop
      yield* TestClock.adjust("10 minutes")
      yield* network.expectLists({ lisbon: ["berlin"], berlin: ["lisbon"] })
      yield* lisbon.crash
      yield* TestClock.adjust("3 hours")

      const { message } = yield* Effect.flip(network.expectLists({ berlin: ["lisbon"] }))
      const told = network.history
        .print(100_000)
        .split("\n")
        .slice(1)
        .map((line) => line.trim())
        .filter((line) => !/: (DEBUG|INFO|WARN) /.test(line))
      assert.strictEqual(message.split("\n")[0], "berlin lists not lisbon")
      assert.include(message, "history at 03:40:00.000")
      assert.deepStrictEqual(told, [
        "00:00:00.000 berlin: starts",
        "00:00:00.000 network: links berlin and lisbon",
        "00:00:00.000 lisbon: starts",
        "00:00:00.000 network: links berlin and madrid",
        "00:00:00.000 network: links lisbon and madrid",
        "00:00:00.000 network: links lisbon and madrid",
        "00:00:00.000 madrid: starts",
        '00:10:00.000 network: parts into [["berlin"]] and the rest',
        "00:10:00.000 berlin: its self-check is another",
        "00:20:00.000 network: heals",
        "00:30:00.000 berlin: its self-check is another",
        "00:30:00.000 lisbon: its clock is ahead by -30 seconds",
        "00:30:00.000 madrid: stops",
        "00:40:00.000 lisbon: crashes"
      ])
    })
  )
})
