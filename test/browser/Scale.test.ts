/** The page with as many servers as a network may have. */
import { assert, describe, it } from "@effect/vitest"
import { isMissing, named } from "../process/Tools.ts"
import { eventually, rows, seen, visit } from "./Browser.ts"
import * as Network from "./Network.ts"
import { peer, server } from "./Network.ts"
import { chromiumOfSuite } from "./Suite.ts"

const probe = new URL("probe.js", import.meta.url).pathname

describe.skipIf(isMissing("chromium"))(named("the page with 2 000 servers", "chromium"), () => {
  const browser = chromiumOfSuite()

  it.live("holds only what is in sight, wherever it is scrolled to, and draws a burst of changes in few pieces", () => {
    const known = Network.servers(2_000)
    const world = Network.world(known)
    return visit(browser, world, async ({ page }) => {
      await page.addInitScript({ path: probe })
      await page.reload()
      await page.locator("#rows a").first().waitFor()
      assert.strictEqual(await page.locator("#table").getAttribute("aria-rowcount"), "2001")
      const count = () => page.evaluate<number>("document.getElementsByTagName('*').length")
      assert.isBelow(await count(), 1_500)
      const first = await rows(page)
      assert.isBelow(first.length, 60)

      await page.evaluate("scrollTo(0, document.body.scrollHeight)")
      const last = await eventually(
        () => rows(page),
        (order) => !order.includes(first.at(-1) ?? "")
      )
      assert.isBelow(last.length, 60)
      assert.strictEqual(await page.locator("#rows tr").last().getAttribute("aria-rowindex"), "2001")
      const box = await page.locator("#rows tr").last().boundingBox()
      assert.isBelow(box?.y ?? Number.POSITIVE_INFINITY, 800)

      // A burst: more than half of them are heard within a moment, as after a network was split.
      const before = await page.evaluate<number>("probe.draws")
      for (let index = 0; index < 1_000; index++)
        world.change(peer(index), server(peer(index), { marks: "+-" }), "heartbeat")
      const unhealthy = () => seen(page.locator("#states label:has([value=unhealthy]) b"))
      assert.strictEqual(await eventually(unhealthy, (text) => Number(text) > 1_000), "1125")
      const draws = (await page.evaluate<number>("probe.draws")) - before
      assert.isBelow(draws, 200)
      assert.isBelow(await count(), 1_500)

      await page.fill("#text", peer(1_999))
      assert.deepStrictEqual(
        await eventually(
          () => rows(page),
          ({ length }) => length === 1
        ),
        [peer(1_999)]
      )
    })
  })
})
