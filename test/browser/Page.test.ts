/** What an operator sees on the page, and that it is true as it changes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import type { Known } from "../../src/registry/Known.ts"
import * as Doubles from "../ops/Doubles.ts"
import { isMissing, named } from "../process/Tools.ts"
import { cells, drawn, eventually, listening, row, rows, seen, visit, visiting } from "./Browser.ts"
import * as Network from "./Network.ts"
import { peer, server } from "./Network.ts"
import { chromiumOfSuite } from "./Suite.ts"

const minute = 60_000
const hour = 60 * minute
const [a, b, c, d] = [peer(101), peer(102), peer(103), peer(104)]

const idsOf = (entries: Iterable<Known>) => [...entries].map(({ serverId }) => serverId)

describe.skipIf(isMissing("chromium"))(named("the page", "chromium"), () => {
  const browser = chromiumOfSuite()

  it.live("S17 R20 R21 O07 O08 shows every server with state, age, score, verdicts, skew and connection", () => {
    const world = Network.world([
      server(a, {
        age: 3 * minute,
        skewMillis: -250,
        said: { uptimeScore: 0.9999, region: "eu", regions: ["eu", "uk"] }
      }),
      server(b, { age: 18 * minute, skewMillis: 47_300, marks: "++-+" }),
      server(c, { age: minute, marks: "+--", said: { capabilities: [] } }),
      server(d, { age: 3 * hour, marks: "+" })
    ])
    world.connections = [{ peer: a, address: "/ip4/10.0.0.1/tcp/1", direction: "inbound" }]
    return visit(browser, world, async ({ page }) => {
      assert.deepStrictEqual(await rows(page), [b, a, c, d])
      const short = (id: string) => `${id.slice(0, 12)}…${id.slice(-6)}`
      assert.deepStrictEqual(await Promise.all([a, b, c, d].map((id) => cells(page, id))), [
        [short(a), "available 4 h", "eu", "store-and-forward", "99.9%", "", "3 min ago", "−250 ms", "yes"],
        [
          short(b),
          "available 18 min",
          "default",
          "store-and-forward",
          "100%",
          "",
          "18 min ago 3 overdue",
          "+47.3 s",
          "no"
        ],
        [short(c), "unhealthy 6 min", "default", "–", "100%", "", "1 min ago", "+12 ms", "no"],
        [short(d), "silent 1 h", "default", "store-and-forward", "100%", "", "3 h ago 35 overdue", "+12 ms", "no"]
      ])
      const strips = await page.locator("#rows svg").evaluateAll((all) => all.map((strip) => strip.ariaLabel))
      assert.deepStrictEqual(strips, [
        "4 verdicts heard, 1 failed, the last one passed",
        "60 verdicts heard, all passed",
        "3 verdicts heard, 2 failed, the last one failed",
        "1 verdict heard, all passed"
      ])
      const times = await page.locator("#rows time").evaluateAll((all) => all.map((time) => time.title))
      assert.strictEqual(times.length, 8)
      for (const title of times) assert.match(title, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
      assert.strictEqual(await seen(row(page, b).locator(".off")), "+47.3 s")
    })
  })

  it.live("R10 tells of this server: its checks with times and reasons, its company, and what was refused", () =>
    visit(browser, Network.ordinary(), async ({ page }) => {
      const own = page.locator("#own")
      assert.match(await seen(own), /Healthy · score 97\.9% of 288 checks · checked \d+ s ago in \d+ ms/)
      assert.match(await seen(own), /Region\s+eu-west\s+Database\s+embedded\s+Up for\s+\d+ s\s+Version\s+0\.1\.0/)
      const bars = await own.locator("svg g > title").allTextContents()
      assert.strictEqual(bars.length, 288)
      assert.match(bars[201] ?? "", /^\d{4}-\d\d-\d\d .* UTC · postgres: did not answer within 10 s · 10 s$/)
      assert.match(bars[202] ?? "", / UTC · passed · \d+ ms$/)
      await own.getByText("6 of 288 checks failed").click()
      const failures = await own.locator("#failed-checks li").allInnerTexts()
      assert.strictEqual(failures.length, 6)
      assert.match(failures[0] ?? "", /^7 h 10 min ago postgres: did not answer within 10 s 10 s$/)

      const neighbours = page.locator("#neighbours")
      assert.match(await seen(neighbours), /On announce\s+7 peers\s+On heartbeat\s+6 peers\s+Connections\s+7/)
      assert.include(await seen(neighbours), "agrees with 15 servers")
      await neighbours.getByText("Bootstrap: 1 of 2 connected").click()
      assert.include(await seen(neighbours), "not connected: connection refused, next try in 21 s")
      await neighbours.getByText("Topic peers").click()
      assert.strictEqual(await neighbours.locator("#topic-peers a").count(), 7)
      assert.strictEqual(await neighbours.getByText("announce only").count(), 1)

      const refusals = await seen(page.locator("#refusals"))
      assert.match(refusals, /too-far-ahead 31\s+forged 2\s+own 288/)
      assert.match(refusals, /too-far-ahead\s+×31\s+1 min ago\s+timestamp: 9 min 12 s ahead of this server/)
    })
  )

  it.live("follows what changes, without being asked", () => {
    const world = Network.world([server(a, {}), server(b, { said: { uptimeScore: 0.5 } })])
    return visit(browser, world, async ({ page }) => {
      assert.deepStrictEqual(await rows(page), [a, b])
      const state = (id: string) => seen(row(page, id).locator(".word"))
      world.connections = [{ peer: a, address: "/ip4/10.0.0.1/tcp/1", direction: "inbound" }]
      const available = () => seen(page.locator("#states label:has([value=available]) b"))

      world.change(a, server(a, { marks: "+-" }), "heartbeat")
      assert.strictEqual(
        await eventually(
          () => state(a),
          (is) => is === "unhealthy"
        ),
        "unhealthy"
      )
      assert.deepStrictEqual(
        await eventually(
          () => rows(page),
          ([first]) => first === b
        ),
        [b, a]
      )
      assert.strictEqual(await eventually(available, (is) => is === "1"), "1")

      world.change(c, server(c, {}), "announced")
      assert.deepStrictEqual(
        await eventually(
          () => rows(page),
          ({ length }) => length === 3
        ),
        [c, b, a]
      )
      world.change(b, undefined, "evicted")
      assert.deepStrictEqual(
        await eventually(
          () => rows(page),
          ({ length }) => length === 2
        ),
        [c, a]
      )

      const title = await eventually(
        () => page.title(),
        (is) => is.startsWith("1 ")
      )
      assert.strictEqual(title, "1 available · Ricochet")
      const connected = () => seen(row(page, a).locator("td.connected"))
      assert.strictEqual(await eventually(connected, (is) => is === "yes"), "yes")
      assert.strictEqual(await page.evaluate("performance.getEntriesByType('navigation').length"), 1)
    })
  })

  it.live("shows only what is asked for: by text, state, region and capability", () => {
    const world = Network.world([
      server(a, { said: { region: "eu-west", regions: ["eu-west", "eu-north"] } }),
      server(b, { said: { region: "eu-north", regions: ["eu-north"], capabilities: ["mailbox"] } }),
      server(c, { marks: "-", said: { region: "us-east", regions: ["us-east"] } })
    ])
    return visit(browser, world, async ({ page }) => {
      const shown = async (expected: ReadonlyArray<string>) => {
        const found = await eventually(
          () => rows(page),
          (all) => all.join() === expected.join()
        )
        assert.deepStrictEqual(found, expected)
      }
      await page.fill("#text", "EU- mail")
      await shown([b])
      assert.strictEqual(await seen(page.locator("#shown")), "1 of 3 shown")
      await page.fill("#text", c.slice(-8))
      await shown([c])
      await page.fill("#text", "")
      await page.getByText("Unhealthy 1", { exact: true }).click()
      await shown([c])
      await page.getByText("All 3", { exact: true }).click()
      await page.selectOption("#region", "eu-north")
      await shown([a, b].sort())
      await page.selectOption("#capability", "mailbox")
      await shown([b])
      const options = await page.locator("#region option").allInnerTexts()
      assert.deepStrictEqual(options, ["Any region", "eu-north", "eu-west", "us-east"])
      // What is chosen stays chosen, though nobody has it any more.
      world.change(b, undefined, "forgotten")
      await shown([])
      assert.strictEqual(await page.inputValue("#capability"), "mailbox")
      assert.isTrue(await page.getByText("No server matches.").isVisible())
    })
  })

  it.live("sorts by each of its columns, both ways", () => {
    const world = Network.world(Network.servers(20))
    world.connections = [{ peer: peer(8), address: "/ip4/10.0.0.1/tcp/1", direction: "inbound" }]
    return visit(browser, world, async ({ page }) => {
      await page.setViewportSize({ width: 1280, height: 1400 })
      const headings = await page.locator("thead th").allInnerTexts()
      assert.strictEqual(headings.length, 9)
      for (const [index, heading] of headings.entries()) {
        const column = page.locator("thead th").nth(index)
        const sort = async () => {
          await column.getByRole("button").click()
          await drawn(page)
          return { direction: await column.getAttribute("aria-sort"), order: await rows(page) }
        }
        const [first, second] = [await sort(), await sort()]
        assert.notStrictEqual(first.direction, second.direction, heading)
        assert.notDeepEqual(first.order, second.order, heading)
        assert.strictEqual(await page.locator("th[aria-sort]").count(), 1)
        assert.sameMembers([...first.order], idsOf(world.entries.values()), heading)
      }
      await page.getByRole("button", { name: "Skew" }).click()
      await drawn(page)
      const skews = await page.locator("#rows td.skew").allInnerTexts()
      const sizes = skews.map((text) => Math.abs(Number.parseInt(text.replace("−", "-"), 10)))
      assert.deepStrictEqual(
        sizes,
        [...sizes].sort((left, right) => right - left)
      )
    })
  })

  it.live("F03 explains an empty list", () => {
    const world = Network.world([1, 2, 3, 4].map((number) => server(peer(number), { marks: "+-" })))
    return visit(browser, world, async ({ page }) => {
      const nobody = page.locator("#nobody")
      assert.strictEqual(await seen(nobody), "Nobody is listed: 4 known, all report failing checks.")
      world.change(peer(1), server(peer(1), { age: 3 * hour }), "silent")
      const mixed = "Nobody is listed: 4 known, 3 report failing checks, 1 is silent for more than two hours."
      assert.strictEqual(
        await eventually(
          () => seen(nobody),
          (text) => text === mixed
        ),
        mixed
      )
      for (const number of [1, 2, 3, 4]) world.change(peer(number), undefined, "forgotten")
      const none = "Nobody is listed: no other server is known."
      assert.strictEqual(
        await eventually(
          () => seen(nobody),
          (text) => text === none
        ),
        none
      )
      world.change(a, server(a, {}), "announced")
      await nobody.waitFor({ state: "hidden" })
      world.change(b, { ...server(b, {}), announcement: undefined }, "heartbeat")
      await page.getByText("1 more sends heartbeats only").waitFor()
    })
  })

  it.live("R13 shows a server that was stopped in order as stopped, and misses no heartbeat of it", () => {
    const world = Network.world([server(a, {}), server(b, { age: 30 * minute, marks: "+++-", stopped: true })])
    return visit(browser, world, async ({ page }) => {
      const short = `${b.slice(0, 12)}…${b.slice(-6)}`
      const cell = [short, "stopped 30 min", "default", "store-and-forward", "100%", "", "30 min ago", "+12 ms", "no"]
      assert.deepStrictEqual(await cells(page, b), cell)
      assert.strictEqual(await seen(page.locator("#states label:has([value=unhealthy]) b")), "0")
      await page.locator("#states label:has([value=stopped])").click()
      await eventually(
        () => rows(page),
        (shown) => shown.join() === b
      )
      await row(page, b).getByRole("link").click()
      await page.locator("#detail-body").getByText("Not listed: it was stopped in order — for 30 min").waitFor()
    })
  })

  it.live("R21 O04 answers why a server is missing, whatever there is to know of it", () => {
    const world = Network.world([
      server(a, { age: minute, marks: "++-" }),
      server(b, { age: 3 * hour }),
      { ...server(c, { age: minute }), announcement: undefined }
    ])
    world.refusals.set(d, { reason: "too-old", detail: "timestamp: 3 h behind", count: 7, lastWallMillis: Date.now() })
    world.evictions.set(peer(105), { wallMillis: Date.now() - hour, reason: "it was silent" })
    const answers = [
      [a, /Not listed: its last self-check failed — for \d+ min/],
      [b, /Not listed: it was not heard for more than two hours — for 1 h/],
      [c, /Not listed: it sends heartbeats but was not heard to announce itself/],
      [
        d,
        /Not listed: 7 of its messages did not count, the last one as too-old: timestamp: 3 h behind — (now|\d+ s ago)/
      ],
      [peer(105), /Not listed: it had to make room in a full registry: it was silent — 1 h ago/],
      [peer(106), /Not known: 12D3Koo\w+ was never heard to announce itself, nor to say anything else/],
      ["12D3KooW-not", /peerId: found "12D3KooW-not", allowed is a peer ID in base58/],
      ["12D3KooWnot", /No server is known here whose peer ID begins with 12D3KooWnot\./],
      ["12D3KooW", /12D3KooW could be any of [45] servers:/],
      // As the page itself shows it, and as `ricochet service` takes it.
      [`${b.slice(0, 12)}…${b.slice(-6)}`, /Not listed: it was not heard for more than two hours/],
      [b.slice(8, 24), /Not listed: it was not heard for more than two hours/],
      [Doubles.self, /This server: it is this server, which does not list itself/]
    ] as const
    return visit(
      browser,
      world,
      async ({ page }) => {
        for (const [id, answer] of answers) {
          await page.getByLabel("Why is a server missing?").last().fill(id)
          await page.getByRole("button", { name: "Ask" }).click()
          await page.locator("#detail-body").getByText(answer).waitFor()
          await page.keyboard.press("Escape")
          await page.locator("#detail").waitFor({ state: "hidden" })
        }
        // What is looked for in the table and not found there can be asked about at once.
        await page.fill("#text", peer(106))
        await page.getByRole("button", { name: `Why is ${peer(106)} missing?` }).click()
        await page.locator("#detail-body").getByText("Not known").waitFor()
        // An answer has an address of its own.
        await page.goto(`${new URL(page.url()).origin}/#/${a}`)
        await page.locator("#detail-body").getByText("Not listed").waitFor()
        world.change(a, server(a, {}), "heartbeat")
        await page.locator("#detail-body").getByText("Listed: its last self-check passed").waitFor()
      },
      { expected: /status of 40[04]/ }
    )
  })

  it.live("R10 R15 says plainly that it is alone, that its clock is off and that its self-check fails", () => {
    const world = Network.world([server(a, {})])
    const { connectivity } = Network.ordinary()
    const unreached = connectivity.bootstrap.map((one) => ({ ...one, isConnected: false }))
    world.connectivity = { topicPeers: 0, aloneSinceMillis: Date.now() - 4 * minute, bootstrap: unreached }
    world.clock = { state: "ahead", byMillis: 41_000, disagreeing: 5, heard: 6 }
    const failed = { durationMillis: 10_000, ok: false, errorClass: "postgres: did not answer within 10 s" }
    world.checks = [1, 2, 3].map((number) => ({
      ...failed,
      startedWallMillis: Date.now() - (20 - number * 5) * minute
    }))
    return visit(browser, world, async ({ page }) => {
      assert.deepStrictEqual(await page.locator("#notices li").allInnerTexts(), [
        "This server's self-check fails: postgres: did not answer within 10 s, for 15 min. The others do not list it meanwhile.",
        "Up but alone: no peer shares a topic with this server, for 4 min. Nobody hears it. 0 of 2 bootstrap peers connected.",
        "This server's clock is off: ahead by 41 s, say 5 of 6 servers heard. Others may refuse its messages."
      ])
      assert.strictEqual(
        await seen(page.locator("#spoken-notices")),
        "This server's self-check fails; Up but alone; This server's clock is off"
      )
    })
  })

  it.live("says that the live connection is lost and how old all is, and comes back with what is new", () => {
    const world = Network.world([server(a, {})])
    return Effect.gen(function* () {
      const scope = yield* Scope.make()
      const url = yield* listening(world).pipe(Scope.provide(scope))
      const again = yield* Scope.make()
      yield* visiting(
        browser(),
        url,
        async ({ page }) => {
          await Effect.runPromise(Scope.close(scope, Exit.void))
          await page.locator("#link[data-state=lost]").waitFor()
          assert.strictEqual(await seen(page.locator("#link")), "Connection lost")
          const notice = page.locator("#notices li").first()
          const text =
            /^The live connection is lost: .*\. Everything below is as it was ([1-9]\d* s|now).*\. Trying again\.$/
          assert.match(await seen(notice), text)
          assert.match(await page.title(), /^\(lost\) 1 available/)
          assert.strictEqual(await seen(page.locator("#spoken-notices")), "The live connection is lost")
          assert.deepStrictEqual(await rows(page), [a])

          world.change(b, server(b, {}), "announced")
          await Effect.runPromise(listening(world, Number(new URL(url).port)).pipe(Scope.provide(again)))
          await page.locator("#link[data-state=live]").waitFor()
          assert.sameMembers(
            [
              ...(await eventually(
                () => rows(page),
                ({ length }) => length === 2
              ))
            ],
            [a, b]
          )
          await page.locator("#notices").waitFor({ state: "hidden" })
        },
        { expected: /ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET)/ }
      )
      yield* Scope.close(again, Exit.void)
    })
  })
})
