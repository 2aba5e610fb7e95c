/** The commands that ask a server, as processes on pipes and on a terminal, and without a server to ask. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { announceTopic, heartbeatTopic } from "../../src/gossip/Topic.ts"
import * as VirtualWords from "../../src/testing/VirtualWords.ts"
import { now } from "../../src/time/Now.ts"
import * as SteadyClock from "../../src/time/SteadyClock.ts"
import { type Ended, run } from "../cli/Child.ts"
import { liveNode, until } from "../wires/LiveNodes.ts"
import { eventually } from "./Eventually.ts"
import { program } from "./Program.ts"
import { type Running, start } from "./ServerProcess.ts"

/** A neighbour that announces itself once, by a clock that is ahead. */
const neighbour = Effect.fnUntraced(function* (server: Running, region: string, aheadNanos = 0n) {
  const node = yield* liveNode({ bootstrapPeers: [server.address] })
  yield* node.join(announceTopic, () => Effect.succeed("accept"))
  yield* node.join(heartbeatTopic, () => Effect.succeed("accept"))
  yield* until(Effect.map(node.topicPeers(announceTopic), (peers) => peers.length > 0))
  const { wallNanos } = yield* now
  const said = { serverId: node.self, timestamp: wallNanos + aheadNanos, region, regions: [region] }
  yield* node.publish(announceTopic, VirtualWords.announcement(said))
  return node.self
})

interface Setting {
  readonly server: Running
  readonly url: string
  /** Listed. */
  readonly lisbon: string
  /** Refused, since its clock is 10 minutes ahead. */
  readonly hasty: string
}

const make = Effect.gen(function* () {
  const server = yield* start({ args: ["--region", "berlin"] })
  const { url } = yield* server.log("ops listening")
  const lisbon = yield* neighbour(server, "lisbon")
  const hasty = yield* neighbour(server, "quito", 600_000_000_000n)
  yield* server.lists([lisbon])
  yield* eventually("the hasty one is refused", server.why(hasty), ({ reason }) => reason === "refused")
  const setting: Setting = { server, url: String(url), lisbon, hasty }
  return setting
})

const scope = Scope.makeUnsafe()
let directory = ""
let setting: Setting
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "ricochet-cli-"))
  setting = await Effect.runPromise(
    make.pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.provide(Layer.merge(SteadyClock.layerLive, Logger.layer([])))
    )
  )
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await rm(directory, { recursive: true })
})

/** On pipes. */
const ricochet = (...args: ReadonlyArray<string>) => run(program, args)
const asking = (...args: ReadonlyArray<string>) => ricochet(...args, "--url", setting.url)

/** A line of a shell in which `ricochet` is the command; `where` says where it runs. */
const shell = (line: string, env: Readonly<Record<string, string>> = {}, where = "bash"): Promise<Ended> =>
  new Promise((resolve) => {
    const script = `ricochet() { '${process.execPath}' '${program}' "$@"; }; ${line}`
    const args =
      where === "terminal"
        ? ["script", "-qec", `bash --norc -c '${script.replaceAll("'", "'\\''")}'`, "/dev/null"]
        : ["bash", "--norc", "-c", script]
    const environment = {
      PATH: process.env.PATH,
      TERM: "xterm",
      RICOCHET_DEFAULT_CONFIG: "/nonexistent/config.yaml",
      ...env
    }
    const child = execFile(args[0] ?? "", args.slice(1), { env: environment }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr })
    )
    child.stdin?.end()
  })

const esc = "\u001b"

describe("a command that asks a server", () => {
  it.concurrent("lists the servers on a pipe, without colours or closing words", async () => {
    const { code, stderr, stdout } = await asking("services")
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    const [header, row, ...others] = stdout.split("\n")
    assert.match(header ?? "", /^STATE {6}SCORE {2}REGION {2}HEARD +SKEW +CONNECTED {2}ID$/)
    assert.match(row ?? "", new RegExp(`^available  100%   lisbon  \\d+s ago +[-+.\\ds]+ +yes +${setting.lisbon}$`))
    assert.deepStrictEqual(others, [""])
  })

  it.concurrent("lists them in colours on a terminal, and in none where NO_COLOR says so", async () => {
    const line = `ricochet services --url ${setting.url}`
    const coloured = await shell(line, {}, "terminal")
    assert.include(coloured.stdout, `${esc}[32mavailable${esc}[0m`)
    assert.include(coloured.stdout, "1 server known: 1 available, 0 unhealthy, 0 silent, 0 unannounced")
    assert.include(coloured.stdout, "this server: healthy, 100% of 1 check, berlin, ")
    const plain = await shell(line, { NO_COLOR: "1" }, "terminal")
    assert.include(plain.stdout, "available  100%")
    assert.notInclude(plain.stdout, esc)
  })

  it.concurrent("F03 says on standard error why a list is empty", async () => {
    const { code, stderr, stdout } = await asking("services", "--region", "atlantis")
    assert.strictEqual(code, 0)
    assert.strictEqual(stdout, "")
    assert.strictEqual(
      stderr,
      "nobody is listed: none that matches; 1 server known: 1 available, 0 unhealthy, 0 silent, 0 unannounced\n"
    )
  })

  it.concurrent("tells the list and its changes as lines of JSON until it is interrupted", async () => {
    const ended = await run(program, ["services", "--watch", "--json", "--url", setting.url], {
      onOutput: (stdout, kill) => {
        if (stdout.endsWith("\n")) kill("SIGINT")
      }
    })
    assert.deepStrictEqual({ code: ended.code, stderr: ended.stderr }, { code: 0, stderr: "" })
    const { event, services } = JSON.parse(ended.stdout.split("\n")[0] ?? "")
    assert.strictEqual(event, "snapshot")
    assert.deepStrictEqual(
      services.map(({ server_id }: { readonly server_id: string }) => server_id),
      [setting.lisbon]
    )
  })

  it.concurrent("is quiet when its reader has gone", async () => {
    const line = `ricochet services --url ${setting.url} | head -0; echo "\${PIPESTATUS[@]}"`
    assert.deepStrictEqual(await shell(line), { code: 0, stdout: "0 0\n", stderr: "" })
  })

  it.concurrent("R21 tells of one server, by as much of its peer ID as tells it apart", async () => {
    const { code, stdout } = await asking("service", setting.lisbon.slice(0, 16))
    assert.strictEqual(code, 0)
    assert.match(
      stdout,
      new RegExp(
        `^server {7}${setting.lisbon}\nstate {8}listed since [-:TZ\\d]+ \\(.+ ago\\): its last self-check passed and it was heard within two hours\nscore {8}100%\n`
      )
    )
  })

  it.concurrent("R21 tells why a server is not listed, and ends with 3", async () => {
    const refused = await asking("service", setting.hasty)
    assert.deepStrictEqual({ code: refused.code, stderr: refused.stderr }, { code: 3, stderr: "" })
    assert.include(refused.stdout, "not listed: its messages do not count, last ")
    assert.include(refused.stdout, "dated more than 2 minutes ahead")
    const stranger = "12D3KooWSD9ieQxmMjSzxnP1acEHWnvFo2gmSudVdVW6vvPvdWCX"
    const json = await asking("service", stranger, "--json")
    assert.strictEqual(json.code, 3)
    assert.deepStrictEqual(JSON.parse(json.stdout), {
      server_id: stranger,
      listed: false,
      reason: "never-announced",
      connected: false,
      addresses: []
    })
  })

  it.concurrent("refuses a peer ID that could be several servers', and names them", async () => {
    const known = [setting.lisbon, setting.hasty, setting.server.peerId].sort()
    assert.deepStrictEqual(await asking("service", "12D3KooW"), {
      code: 2,
      stdout: "",
      stderr: `ricochet: 12D3KooW could be any of 3 servers:\n${known.map((id) => `  ${id}\n`).join("")}`
    })
  })

  it.concurrent("shows the server at a glance", async () => {
    const { code, stderr, stdout } = await asking("status")
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    for (const line of [
      `server       ${setting.server.peerId}`,
      "state        ready",
      "score        100% of 1 self-check",
      "topic peers  2 on announcements, 2 on heartbeats",
      "database     embedded, in the data directory"
    ]) {
      assert.include(stdout.split("\n"), line)
    }
  })

  it.concurrent("R10 R21 finds out what is wrong: of two neighbours one is refused", async () => {
    const { code, stdout } = await asking("doctor", "--json")
    const { findings, well } = JSON.parse(stdout)
    const refused = findings.filter(({ about }: { readonly about: string }) => about === "refused")
    assert.deepStrictEqual(
      [code, well, refused.length, refused[0].advice],
      [0, true, 1, "set the clock of that machine (NTP); the other servers refuse its messages too"]
    )
  })
})

describe("a command without a server to ask", () => {
  it.concurrent("says so, what to do, and ends with 1", async () => {
    assert.deepStrictEqual(await ricochet("status", "--url", "http://127.0.0.1:9"), {
      code: 1,
      stdout: "",
      stderr:
        'ricochet: no server answers at http://127.0.0.1:9: connection refused; start it with "ricochet", or say where it is with --url, --ops-port or --config\n'
    })
  })

  it.concurrent("says that it is no server that answers", async () => {
    const server = createServer((socket) => socket.on("error", () => {}).end("SSH-2.0-nothing\r\n"))
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      })
    )
    const { code, stderr, stdout } = await ricochet("status", "--url", `http://127.0.0.1:${port}`)
    server.close()
    assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
    assert.include(stderr, `http://127.0.0.1:${port}: `)
  })

  it.concurrent("R23 looks at what a server would stand on, leaves it as it was, and ends with 3", async () => {
    const data = join(directory, "data")
    const file = join(directory, "config.yaml")
    const [port] = /\d+(?=\/p2p)/.exec(setting.server.address) ?? []
    await writeFile(
      file,
      [
        "server:",
        `  listen_addresses: [/ip4/127.0.0.1/tcp/${port}]`,
        "  bootstrap_peers:",
        `    - ${setting.server.address}`,
        `    - /ip4/127.0.0.1/tcp/9/p2p/${setting.lisbon}`,
        `    - /ip4/127.0.0.1/udp/9/udx/p2p/${setting.lisbon}`,
        `storage: {data_directory: ${data}}`,
        "database: {host: 127.0.0.1, port: 9, sslmode: disable}",
        "ops: {port: 9}"
      ].join("\n")
    )
    const { code, stderr, stdout } = await ricochet("doctor", "--config", file)
    assert.deepStrictEqual({ code, stderr }, { code: 3, stderr: "" })
    assert.deepStrictEqual(stdout.split("\n"), [
      `ok    configuration   ${file}`,
      "bad   process         no server answers at http://127.0.0.1:9: connection refused",
      '                      -> start it with "ricochet", or say where it is with --url, --ops-port or --config',
      `ok    data directory  ${data} is not there yet; a server creates it at its first start`,
      "ok    identity        none yet; a server creates one at its first start",
      `bad   peer port       cannot listen for peers on /ip4/127.0.0.1/tcp/${port}: port ${port} is in use`,
      "                      -> free the port, or choose another (server.port, --port)",
      "ok    ops port        127.0.0.1 port 9 is free",
      "bad   database        PostgreSQL at 127.0.0.1 port 9: connection refused",
      "                      -> start PostgreSQL, or correct database.host and database.port",
      `ok    bootstrap       ${setting.server.address} takes connections`,
      `bad   bootstrap       /ip4/127.0.0.1/tcp/9/p2p/${setting.lisbon}: connection refused`,
      "                      -> start the server there, or correct the address: nobody listens on that port",
      `note  bootstrap       /ip4/127.0.0.1/udp/9/udx/p2p/${setting.lisbon}: address needs the transport udx, which this server does not have`,
      "                      -> name an address of that server with /tcp/ in it",
      "",
      "4 things are wrong, 1 thing is worth a look",
      ""
    ])
    assert.isFalse(existsSync(data))
  })

  it.concurrent("R23 sees a process that holds the data directory and answers elsewhere", async () => {
    const data = join(setting.server.directory, "data")
    const { code, stdout } = await ricochet("doctor", "--data-dir", data, "--ops-port", "9")
    assert.strictEqual(code, 3)
    assert.include(stdout, `${data} is in use by process ${setting.server.pid} on host `)
    assert.notInclude(stdout, "peer port")
  })
})

describe("the completions", () => {
  it.concurrent("of bash know every command, and the flags of each", async () => {
    const ask = (words: string) =>
      `COMP_LINE='${words}'; COMP_WORDS=(${words.replace(/ $/, ' ""')}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMP_POINT=\${#COMP_LINE}; _ricochet ricochet; echo "\${COMPREPLY[*]}"`
    const line = `source <(ricochet --completions bash); ${["ricochet ", "ricochet service --", "ricochet doctor --pg-h"].map(ask).join("; ")}`
    const { stderr, stdout } = await shell(line)
    assert.deepStrictEqual(stdout.split("\n"), [
      "serve services service status doctor config identity",
      "--json --url --development --production --config --ops-port",
      "--pg-host",
      ""
    ])
    assert.strictEqual(stderr, "")
  })
})
