import { assert, describe, it } from "@effect/vitest"
import { diagnose, dialAdvice } from "../../src/cli/Diagnosis.ts"
import { isWell, render } from "../../src/cli/Finding.ts"
import { berlin, lisbon, nowMillis, onPaper, readiness, refusal, self, sick } from "./Sample.ts"

const here = { version: "0.1.0", nowMillis }
const url = "http://127.0.0.1:9090"
const nothing = { counts: [], signers: [] }
const well = { url, self, readiness, refusals: nothing }

describe("what is wrong with a server", () => {
  it("is nothing, where all is well", () => {
    const findings = diagnose(well, here)
    assert.isTrue(isWell(findings))
    assert.deepStrictEqual(render(findings, onPaper), [
      `ok  process      answers at ${url}, up 2h 5m, ${berlin}`,
      "ok  version      0.1.0",
      "ok  readiness    ready",
      "ok  database     PostgreSQL, answers",
      "ok  self-checks  100% of 12 self-checks",
      "ok  topic peers  1 on announcements, 1 on heartbeats",
      "ok  bootstrap    /ip4/10.0.0.2/tcp/55223 is connected",
      "ok  others       1 server known: 1 available, 0 unhealthy, 0 silent, 0 unannounced",
      "ok  clock        agrees with the one server heard",
      "ok  refused      no message within the hour that anybody has to do something about",
      "",
      "all is well"
    ])
  })

  it("R5 R10 R15 S24 is said with what to do about it", () => {
    const findings = diagnose({ ...well, ...sick }, here)
    assert.isFalse(isWell(findings))
    assert.deepStrictEqual(render(findings, onPaper), [
      `ok    process      answers at ${url}, up 2h 5m, ${berlin}`,
      "note  version      the server runs 0.0.9\\u{1b}[2J, this command is 0.1.0",
      "                   -> start the server again to run what is installed",
      "bad   readiness    not ready: postgres: refused",
      "                   -> start PostgreSQL, or correct database.host and database.port",
      "note  database     PostgreSQL, does not answer: what is learned meanwhile is kept in memory",
      "                   -> see readiness",
      "bad   self-checks  50.0% of 2 self-checks, 1 failed, last 2026-11-30T19:59:30Z (30s ago): postgres: refused",
      '                   -> the others do not list this server until a check passes; look for "self-check failed" in the server\'s log: it carries the error',
      "bad   topic peers  none since 2026-11-30T19:50:00Z (10m ago): nobody hears this server, and publishing fails",
      "                   -> get one of the bootstrap peers below connected; one that is connected and on no topic is no server of this network",
      "bad   bootstrap    /ip4/10.0.0.2/tcp/55223: connect ECONNREFUSED 10.0.0.2:55223",
      "                   -> start the server there, or correct the address: nobody listens on that port",
      "note  bootstrap    /ip4/10.0.0.2/udp/55223/udx: address needs the transport udx, which this server does not have",
      "                   -> name an address of that server with /tcp/ in it",
      "note  others       3 servers known: 0 available, 1 unhealthy, 2 silent, 0 unannounced",
      "                   -> ricochet services --all shows which; ricochet service <peer-id> tells why",
      "bad   clock        10m ahead, by 1 of 1 server heard",
      "                   -> set this machine's clock (NTP); of two clocks that differ nobody can tell which is right, so look at both; what is off by too much is refused by the others",
      "ok    refused      no message within the hour that anybody has to do something about",
      "",
      "5 things are wrong, 4 things are worth a look"
    ])
  })

  it("R21 names who is refused and why, but neither what is long past nor what nobody has to act on", () => {
    const signers = [
      { server_id: lisbon, ...refusal },
      { server_id: "old", ...refusal, last: "2026-11-30T18:59:59Z" },
      { server_id: "echo", ...refusal, reason: "repeated" }
    ]
    const found = diagnose({ ...well, refusals: { counts: [], signers } }, here).filter(
      ({ about }) => about === "refused"
    )
    assert.deepStrictEqual(found, [
      {
        level: "note",
        about: "refused",
        text: `4 messages of ${lisbon}, the last one dated more than 2 minutes ahead (timestamp: 600 s ahead of this server), 2026-11-30T19:58:00Z (2m ago)`,
        advice: "set the clock of that machine (NTP); the other servers refuse its messages too"
      }
    ])
  })

  it("R15 is no bootstrap address that one server of several is connected by", () => {
    const [first] = sick.self.bootstrap
    const bootstrap = [...self.bootstrap, ...sick.self.bootstrap.slice(1)]
    const texts = (view: typeof self) =>
      diagnose({ ...well, self: view }, here).flatMap(({ about, level, text }) =>
        about === "bootstrap" ? [`${level} ${text}`] : []
      )
    assert.deepStrictEqual(texts({ ...self, bootstrap }), [
      "ok /ip4/10.0.0.2/tcp/55223 is connected",
      "ok /ip4/10.0.0.2/udp/55223/udx is not used: that server is connected by another address"
    ])
    assert.deepStrictEqual(texts({ ...self, neighbours: [], bootstrap: first === undefined ? [] : [first] }), [
      "note /ip4/10.0.0.2/tcp/55223: connect ECONNREFUSED 10.0.0.2:55223"
    ])
  })

  it("R15 is that nobody hears it, where it is alone and told of nobody", () => {
    const alone = { ...sick.self, bootstrap: [] }
    const found = diagnose({ ...well, self: alone }, here).filter(({ about }) => /topic peers|bootstrap/.test(about))
    assert.deepStrictEqual(found, [
      {
        level: "bad",
        about: "topic peers",
        text: "none since 2026-11-30T19:50:00Z (10m ago): nobody hears this server, and publishing fails",
        advice: "name a server that runs, in server.bootstrap_peers or with --bootstrap"
      },
      {
        level: "note",
        about: "bootstrap",
        text: "none set: this server waits for others to connect to it, and nobody has"
      }
    ])
  })

  it("R15 is an address that another server answers at, where no bootstrap peer is connected", () => {
    const [right] = self.bootstrap
    const wrong = {
      address: `/ip4/10.0.0.3/tcp/55223/p2p/${berlin}`,
      peer: berlin,
      connected: false,
      last_error: "another peer ID answers at this address",
      next_try_seconds: 12
    }
    const level = (bootstrap: typeof self.bootstrap) =>
      diagnose({ ...well, self: { ...self, bootstrap } }, here).find(({ text }) => text.startsWith(wrong.address))
        ?.level
    assert.strictEqual(level([wrong]), "bad")
    assert.strictEqual(level(right === undefined ? [] : [right, wrong]), "note")
  })

  it("R21 sends nobody to a list for servers that no list shows", () => {
    const advice = (counts: Partial<typeof self.servers>) =>
      diagnose({ ...well, self: { ...self, servers: { ...self.servers, ...counts } } }, here).find(
        ({ about }) => about === "others"
      )?.advice
    const which = "ricochet services --all shows which; ricochet service <peer-id> tells why"
    const wait =
      "a server that is unannounced is shown once it announces, which it does at its start and from time to time"
    assert.strictEqual(advice({ unannounced: 1 }), wait)
    assert.strictEqual(advice({ silent: 1 }), which)
    assert.strictEqual(advice({ silent: 1, unannounced: 1 }), `${which}; ${wait}`)
  })

  it("R13 is not a server that was stopped in order", () => {
    const servers = { ...self.servers, unhealthy: 1, stopped: 1 }
    const found = diagnose({ ...well, self: { ...self, servers } }, here).filter(({ about }) => about === "others")
    assert.deepStrictEqual(found, [
      {
        level: "ok",
        about: "others",
        text: "2 servers known: 1 available, 1 stopped, 0 unhealthy, 0 silent, 0 unannounced"
      }
    ])
  })

  it("tells what to do by what went wrong", () => {
    const advice = (error: string) => dialAdvice(error).split(":")[0]?.split(",")[0]
    assert.deepStrictEqual(
      [
        "connection refused",
        "that name has no address",
        "no way to that address",
        "no answer within 3 seconds",
        "?"
      ].map(advice),
      [
        "start the server there",
        "correct the host name",
        "look at the network between the two machines",
        "look at firewalls between the two machines",
        "see whether a server runs there and the address is right"
      ]
    )
  })
})
