/**
 * What strangers write, sent to real servers as a neighbour would, and looked for wherever it comes out: both forms of
 * the log, HTTP, the command line and the rows of PostgreSQL. The page has its own in test/browser/Hostile.test.ts.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { announceTopic } from "../../../src/gossip/Topic.ts"
import { fromCanonical } from "../../../src/identity/PeerId.ts"
import { isInert } from "../../../src/logging/InertText.ts"
import { refusalLinesPerNeighbour } from "../../../src/registry/Limits.ts"
import { VirtualWords } from "../../../src/testing.ts"
import * as Child from "../../process/Child.ts"
import { eventually } from "../../process/Eventually.ts"
import { onPostgres } from "../../process/OnPostgres.ts"
import { program } from "../../process/Program.ts"
import { type LogLine, launch, start } from "../../process/ServerProcess.ts"
import { isMissing, named } from "../../process/Tools.ts"
import * as PostgresServer from "../../storage/PostgresServer.ts"
import { type RawGossip, rawGossip } from "../../wires/RawGossip.ts"

/** Well made, and as bad as what is well made can be: it is believed, and shown. */
const region = `safe\u202egnp.\u2066\u2028\ufeff'); DROP TABLE discovery_servers; --`
const capabilities = [
  `<img src=x onerror="alert(1)">`,
  `"><script>alert(1)</script>`,
  `level=ERROR msg="all is lost"`,
  "__proto__",
  "=HYPERLINK(1)",
  "\u200f".repeat(256)
]

const withRegion = (literal: string) => (words: string) => words.replace(JSON.stringify(region), literal)

/** What no server believes, and why. */
const refused: ReadonlyArray<readonly [reason: string, spoil: (words: string) => string]> = [
  ["malformed", withRegion(JSON.stringify("\u001b[2J\u001b[31m\n12:00:00.000 INFO  all is well\r\u009b2K\u0007"))],
  ["malformed", withRegion(String.raw`"a\u0000b"`)],
  ["malformed", withRegion(String.raw`"a\ud83d"`)],
  ["malformed", withRegion(`"\u001b[2J\u0007"`)],
  ["malformed", withRegion(String.raw`{"\u001b[2J": "\u202e"}`)],
  ["oversize", withRegion(JSON.stringify("\u202e".repeat(2_000)))],
  ["oversize", withRegion(JSON.stringify("\u202e".repeat(9_000)))],
  ["oversize", withRegion(`${"[".repeat(3_000)}${"]".repeat(3_000)}`)],
  ["oversize", (words) => words.replace("{", `{"${String.raw`\u001b[2J`.repeat(70)}\u202e": 1, `)],
  ["malformed", (words) => words.replace(/"12D3KooW\w+"/, String.raw`"\u001b[31m\n12D3KooW${"\u202e"}"`)]
]

/** One bad neighbour's lines a minute; the fifth would be a count of the rest. */
const linesANeighbour = refusalLinesPerNeighbour - 1

const wordsOf = ({ peerId }: RawGossip): string =>
  new TextDecoder().decode(
    VirtualWords.announcement({
      serverId: fromCanonical(peerId),
      timestamp: BigInt(Date.now()) * 1_000_000n,
      region,
      regions: [region],
      capabilities,
      maxStorage: "javascript:alert(1)",
      retentionPolicy: "event: change\u2029data: {}"
    })
  )

const stranger = Effect.fnUntraced(function* (addresses: ReadonlyArray<string>) {
  const node = yield* rawGossip
  for (const address of addresses) yield* node.connect(address)
  yield* node.join(announceTopic)
  yield* eventually(
    "both servers are on the topic",
    Effect.sync(() => node.libp2p.services.pubsub.getSubscribers(announceTopic).length),
    (subscribers) => subscribers === addresses.length
  )
  return node
})

const ask = (url: string, path: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}${path}`)
    return { headers: response.headers, text: await response.text() }
  })

/** What `ricochet services` prints. */
const printed = Effect.fnUntraced(function* (url: string, ...flags: ReadonlyArray<string>) {
  const command = { command: process.execPath, args: [program, "services", "--all", "--url", url, ...flags] }
  const child = yield* Child.start({ ...command, cwd: "/", env: { PATH: process.env.PATH, LANG: "C.UTF-8" } })
  assert.deepStrictEqual([yield* child.ending, child.stderr], [{ code: 0, signal: null }, []])
  return child.stdout
})

const isLogLine = /^\d\d:\d\d:\d\d\.\d{3} (DEBUG|INFO |WARN |ERROR) \S/

describe.skipIf(isMissing("postgres"))(named("text from strangers", "postgres"), () => {
  it.live(
    "R5 I01 I02 I08 I09 I12 is inert in log, terminal, JSON and database of the servers that hear it",
    () =>
      Effect.gen(function* () {
        const postgres = yield* PostgresServer.make()
        const { env } = onPostgres(postgres)
        const debug = { ...env, RICOCHET_LOGGING_LEVEL: "debug" }
        const json = yield* start({ withoutData: true, env: debug })
        const pretty = yield* launch({
          withoutData: true,
          args: ["--bootstrap", json.address],
          env: { ...debug, RICOCHET_LOGGING_FORMAT: "pretty" }
        })
        const url = String((yield* json.log("ops listening")).url)
        const ownUrl = (line: string) => / ops listening {2}url=(\S+)/.exec(line)?.[1]
        const prettyUrl = yield* pretty.line("where it listens", ownUrl, "40 seconds")
        const { self } = JSON.parse((yield* ask(prettyUrl, "/services")).text)
        yield* json.lists([self.server_id])

        const addresses = [json.address, String(self.addresses[0])]
        const good = yield* stranger(addresses)
        yield* good.say(announceTopic, wordsOf(good))
        const bad: Array<string> = []
        for (let first = 0; first < refused.length; first += linesANeighbour) {
          const node = yield* stranger(addresses)
          const theirs = refused.slice(first, first + linesANeighbour)
          for (const [, spoil] of theirs) yield* node.say(announceTopic, spoil(wordsOf(node)))
          bad.push(node.peerId)
          const isTheirs = (line: LogLine) => line.msg === "rejected message" && line.sender === node.peerId
          const logged = yield* eventually(
            "the log of one has a line for each",
            Effect.sync(() => json.logs().filter(isTheirs)),
            ({ length }) => length === theirs.length
          )
          assert.deepStrictEqual(
            logged.map(({ reason }) => reason),
            theirs.map(([reason]) => reason)
          )
          for (const { detail } of logged) assert.isAtMost(String(detail).length, 300)
          yield* eventually(
            "and so has that of the other",
            Effect.sync(() =>
              pretty.stdout.filter((line) => line.includes(` rejected message  `) && line.includes(node.peerId))
            ),
            ({ length }) => length === theirs.length
          )
        }

        yield* json.lists([self.server_id, good.peerId])
        for (const line of [...json.stdout, ...pretty.stdout]) {
          assert.isTrue(isInert(line), JSON.stringify(line))
          assert.isBelow(line.length, 1_000)
        }
        for (const line of json.stdout) assert.doesNotThrow(() => JSON.parse(line), line)
        for (const line of pretty.stdout) assert.match(line, isLogLine)
        assert.deepStrictEqual([json.stderr, pretty.stderr], [[], []])

        const paths = [
          "/services",
          "/services?available=all",
          `/services/${good.peerId}`,
          "/self",
          "/services/%1b%5b2J%e2%80%ae"
        ]
        for (const path of [...paths, ...bad.map((peerId) => `/services/${peerId}`)]) {
          const { headers, text } = yield* ask(url, path)
          assert.isTrue(isInert(text), `${path}: ${JSON.stringify(text)}`)
          assert.match(headers.get("content-type") ?? "", /^application\/(problem\+)?json/, path)
          assert.strictEqual(headers.get("x-content-type-options"), "nosniff", path)
        }
        const { service } = JSON.parse((yield* ask(url, `/services/${good.peerId}`)).text)
        assert.deepInclude(service, { region, regions: [region], capabilities })

        const table = yield* printed(url)
        assert.strictEqual(table.length, 3)
        const lines = yield* printed(url, "--json")
        assert.strictEqual(lines.length, 1)
        for (const line of [...table, ...lines]) assert.isTrue(isInert(line), JSON.stringify(line))

        // Each of the two keeps the other and the stranger, whose words are as it signed them.
        const count = (where: string) =>
          postgres.execute(`SELECT count(*) FROM discovery_servers WHERE ${where}`, PostgresServer.database)
        yield* eventually("all is kept", count("announcement IS NOT NULL"), (rows) => rows === "4")
        assert.strictEqual(yield* count("position('\\xe280ae676e702e'::bytea in announcement) > 0"), "2")
      }),
    120_000
  )
})
