import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import {
  createDiscovery,
  type DiscoveryConfig,
  DiscoveryError,
  type DiscoveryLogLine,
  type DiscoveryOptions,
  type RunningDiscovery,
  type ServersEvent
} from "../../../src/index.ts"
import { peerIdOf } from "../../../src/testing/VirtualPeerId.ts"

interface Held {
  readonly round: number
  readonly heapBytes: number
  readonly resources: Readonly<Record<string, number>>
  readonly listeners: number
  readonly warnings: ReadonlyArray<string>
}

/** Runs the other program, which says what it holds on its way. */
const runFiftyTimes = async () => {
  const program = fileURLToPath(new URL("FiftyTimes.ts", import.meta.url))
  const child = spawn(process.execPath, ["--expose-gc", program], { stdio: ["ignore", "pipe", "inherit"] })
  const held: Array<Held> = []
  createInterface({ input: child.stdout }).on("line", (line) => held.push(JSON.parse(line)))
  const [exitCode] = await once(child, "close")
  return { exitCode, held }
}

let directory: string
let made = 0
let fiftyTimes: ReturnType<typeof runFiftyTimes>

beforeAll(async () => {
  fiftyTimes = runFiftyTimes()
  directory = await mkdtemp(join(tmpdir(), "ricochet-promised-"))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const newDirectory = () => join(directory, `server-${made++}`)

const start = (config: DiscoveryConfig = {}, options: DiscoveryOptions = {}): Promise<RunningDiscovery> =>
  createDiscovery(
    {
      "server.listen_addresses": ["/ip4/127.0.0.1/tcp/0"],
      "storage.data_directory": newDirectory(),
      ...config
    },
    { storage: "none", log: () => {}, ...options }
  )

/** Reads on until the list is as wanted. */
const until = async (discovery: RunningDiscovery, holds: (ids: ReadonlyArray<string>) => boolean) => {
  for await (const _ of discovery.watch()) {
    const ids = (await discovery.services()).map(({ serverId }) => serverId)
    if (holds(ids)) return
  }
  assert.fail("closed before it held")
}

const rejection = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => assert.fail("fulfilled"),
    (error: unknown) => error
  )
  assert.instanceOf(error, DiscoveryError)
  return error
}

describe("a server made with createDiscovery", () => {
  it("S13 R20 lists another, finds it, says why, picks it, and tells of its end", async () => {
    const log: Array<DiscoveryLogLine> = []
    await using berlin = await start({ "server.region": "eu-west" }, { capabilities: ["mailbox", "translation"] })
    const lisbon = await start({ "server.bootstrap_peers": berlin.addresses }, { log: (line) => log.push(line) })
    assert.deepStrictEqual(
      berlin.addresses.map((address) => address.endsWith(`/p2p/${berlin.serverId}`)),
      [true]
    )
    assert.strictEqual(berlin.opsUrl, undefined)

    await until(lisbon, (ids) => ids.includes(berlin.serverId))
    const found = await lisbon.find(berlin.serverId)
    assert.deepInclude(found, { state: "available", region: "eu-west", capabilities: ["mailbox", "translation"] })
    assert.strictEqual((await lisbon.why(berlin.serverId)).state, "listed")
    assert.strictEqual((await lisbon.pick("work", { region: "eu-west" }))?.serverId, berlin.serverId)
    assert.strictEqual(await lisbon.pick("work", { region: "eu-east" }), undefined)
    assert.deepStrictEqual(await lisbon.services({ capability: "cheese" }), [])
    assert.strictEqual(await lisbon.find(peerIdOf("nobody")), undefined)
    assert.deepStrictEqual(await lisbon.why(peerIdOf("nobody")), { state: "unknown" })
    const error = await rejection(lisbon.find("nobody"))
    assert.strictEqual(error.code, "InvalidPeerId")
    assert.match(error.message, /^not a peer ID/)
    assert.include(
      log.map(({ msg }) => msg),
      "registry started"
    )

    await until(berlin, (ids) => ids.includes(lisbon.serverId))
    await Promise.all([until(berlin, (ids) => ids.length === 0), lisbon.close()])
    assert.deepInclude(await berlin.find(lisbon.serverId), { state: "unhealthy" })
  })

  it("S9 S14 is not listed while a check of the program's own fails", async () => {
    await using lisbon = await start()
    let isFull = true
    const queue = async (signal: AbortSignal) => {
      assert.isFalse(signal.aborted)
      if (isFull) throw new Error("the queue is full")
    }
    await using berlin = await start(
      { "server.bootstrap_peers": lisbon.addresses, "intervals.health_check_min": 0.02 },
      { checks: { queue } }
    )
    for await (const event of lisbon.watch()) if (event._tag === "Changed") break
    assert.deepInclude(await lisbon.find(berlin.serverId), { state: "unhealthy", uptimeScore: 0 })
    isFull = false
    await until(lisbon, (ids) => ids.includes(berlin.serverId))
  })

  it("ends every loop over its changes when it is closed, and answers nothing afterwards", async () => {
    const discovery = await start()
    const told: Array<ServersEvent> = []
    const reading = (async () => {
      for await (const event of discovery.watch()) told.push(event)
    })()
    await discovery.services()
    await Promise.all([discovery.close(), discovery.close(), discovery[Symbol.asyncDispose]()])
    await reading
    assert.deepStrictEqual(told, [{ _tag: "Snapshot", servers: [] }])
    assert.strictEqual((await rejection(discovery.services())).code, "Closed")
    assert.strictEqual((await rejection(discovery.why(discovery.serverId))).code, "Closed")
    assert.throws(() => discovery.watch(), DiscoveryError, "this server was closed")
  })

  it("does not start, and leaves nothing behind, where something is in the way", async () => {
    const wrong = await rejection(start({ "server.port": -1, "server.reigon": "x" } as DiscoveryConfig))
    assert.strictEqual(wrong.code, "ConfigurationProblems")
    assert.strictEqual(
      wrong.message,
      [
        "bad configuration, 2 problems:",
        "  program: server.reigon: unknown key; did you mean server.region?",
        "  program: server.port: found number -1; allowed: a whole number from 0 to 65535"
      ].join("\n")
    )

    const taken = createServer().listen(0, "127.0.0.1")
    await once(taken, "listening")
    const address = taken.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const data = newDirectory()
    const unavailable = await rejection(
      start({ "server.listen_addresses": [`/ip4/127.0.0.1/tcp/${port}`], "storage.data_directory": data })
    )
    assert.strictEqual(unavailable.code, "ListenUnavailable")
    const noHttp = await rejection(start({ "ops.enabled": true, "ops.port": port, "storage.data_directory": data }))
    assert.strictEqual(noHttp.code, "OpsListenUnavailable")
    taken.close()
    await once(taken, "close")

    // The directory and the port are free again.
    await using discovery = await start({
      "server.listen_addresses": [`/ip4/127.0.0.1/tcp/${port}`],
      "storage.data_directory": data
    })
    const inUse = await rejection(start({ "storage.data_directory": data }))
    assert.strictEqual(inUse.code, "DataDirectoryInUse")
    const many = Array.from({ length: 65 }, (_, index) => `capability ${index}`)
    const refused = await rejection(start({ "server.bootstrap_peers": discovery.addresses }, { capabilities: many }))
    assert.strictEqual(refused.code, "OwnAnnouncementRefused")
    assert.deepStrictEqual(await discovery.services(), [])
  })

  it("lives beside nine others in one process, each with its own view of the rest", async () => {
    const first = await start()
    const others = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        start({ "server.bootstrap_peers": first.addresses, "server.region": `region-${index}` })
      )
    )
    const all = [first, ...others]
    try {
      assert.strictEqual(new Set(all.map(({ serverId }) => serverId)).size, 10)
      await Promise.all(all.map((one) => until(one, (ids) => ids.length === 9 && !ids.includes(one.serverId))))
      const picked = await Promise.all(all.map((one) => one.pick("a key", { region: "region-4" })))
      const [, , , , , fifth] = all
      assert.deepStrictEqual(new Set(picked.map((server) => server?.serverId)), new Set([fifth?.serverId, undefined]))
    } finally {
      await Promise.all(all.map((one) => one.close()))
    }
  })
})

/** What a server's `/metrics` says, by series. */
const metricsOf = async ({ opsUrl }: RunningDiscovery) => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  return new Map(
    text.split("\n").flatMap((line) => {
      const [, series, value] = /^([^#].*) (\S+)$/.exec(line) ?? []
      return series === undefined ? [] : [[series, Number(value)] as const]
    })
  )
}

describe("two servers in one process", () => {
  it("O01 tell each of itself alone in their metrics, and one goes on when the other is closed", async () => {
    const withHttp = { "ops.enabled": true, "ops.port": 0 }
    await using berlin = await start(withHttp)
    const all = await metricsOf(berlin)
    const unwell = { queue: () => Promise.reject(new Error("the queue is full")) }
    const lisbon = await start({ ...withHttp, "server.bootstrap_peers": berlin.addresses }, { checks: unwell })
    await until(lisbon, (ids) => ids.includes(berlin.serverId))
    const told = (series: ReadonlyMap<string, number>) => ({
      dials: series.get('libp2p_connection_manager_dials_total{direction="outbound"}'),
      healthy: series.get("ricochet_healthy"),
      passed: series.get('ricochet_self_checks_total{result="passed"}'),
      failed: series.get('ricochet_self_checks_total{result="failed"}')
    })
    // What is read of a server is up to a second old.
    await vi.waitFor(
      async () => {
        const [inBerlin, inLisbon] = await Promise.all([metricsOf(berlin), metricsOf(lisbon)])
        assert.deepStrictEqual([...inLisbon.keys()], [...all.keys()])
        assert.deepStrictEqual(told(inBerlin), { dials: 0, healthy: 1, passed: 1, failed: 0 })
        assert.deepStrictEqual(told(inLisbon), { dials: 1, healthy: 0, passed: 0, failed: 1 })
      },
      { timeout: 10_000 }
    )

    await lisbon.close()
    const afterwards = await metricsOf(berlin)
    assert.deepStrictEqual([...afterwards.keys()], [...all.keys()])
    assert.deepStrictEqual(told(afterwards), { dials: 0, healthy: 1, passed: 1, failed: 0 })
  })
})

const megabyte = 1024 * 1024

describe("a process that starts and stops fifty servers", () => {
  it("holds no more afterwards than before, and is over when the last is closed", async () => {
    const { exitCode, held } = await fiftyTimes
    assert.strictEqual(exitCode, 0)
    assert.deepStrictEqual(
      held.map(({ round }) => round),
      [10, 20, 30, 40, 50, 51]
    )
    const [early, , , , late, last] = held
    if (early === undefined || late === undefined || last === undefined) return assert.fail("it said too little")
    assert.deepStrictEqual(late.resources.TCPServerWrap, 1, "only the server that stays listens")
    assert.isUndefined(late.resources.TCPSocketWrap)
    assert.isUndefined(last.resources.TCPServerWrap)
    assert.strictEqual(last.listeners, early.listeners)
    assert.deepStrictEqual(last.warnings, [])
    assert.isBelow(last.heapBytes - early.heapBytes, 16 * megabyte)
  })
})
