/** The page for everyone: keys alone, a screen reader, a narrow window, light or dark. */
import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { isMissing, named } from "../process/Tools.ts"
import { drawn, eventually, row, rows, seen, visit } from "./Browser.ts"
import * as Network from "./Network.ts"
import { peer, server } from "./Network.ts"
import { chromiumOfSuite } from "./Suite.ts"

const probe = new URL("probe.js", import.meta.url).pathname

/** Loads the page again with the probe in it. */
const probed = async (page: Page) => {
  await page.addInitScript({ path: probe })
  await page.reload()
  await page.locator("#link[data-state=live]").waitFor()
  await page.locator("#rows a").first().waitFor()
}

describe.skipIf(isMissing("chromium"))(named("the page for everyone", "chromium"), () => {
  const browser = chromiumOfSuite()

  it.live("can be worked with keys alone", () =>
    visit(browser, Network.ordinary(), async ({ page }) => {
      const focused = () => page.evaluate<string>("document.activeElement.id || document.activeElement.textContent")
      const order = await rows(page)
      await page.keyboard.press("Tab")
      assert.strictEqual(await focused(), "Skip to the servers")
      await page.keyboard.press("Enter")
      assert.strictEqual(await focused(), "servers")
      await page.keyboard.press("/")
      assert.strictEqual(await focused(), "text")
      await page.keyboard.type("eu-/")
      assert.strictEqual(await page.inputValue("#text"), "eu-/")
      for (let pressed = 0; pressed < 4; pressed++) await page.keyboard.press("Backspace")
      await eventually(
        () => rows(page),
        ({ length }) => length === order.length
      )

      await page.getByRole("button", { name: "Connected" }).focus()
      await page.keyboard.press("Tab")
      const link = (id: string | undefined) => page.locator(`#rows a[href="#/${id}"]`)
      const hasFocus = (id: string | undefined) => link(id).evaluate((element) => element.matches(":focus-visible"))
      assert.isTrue(await hasFocus(order[0]))
      await page.keyboard.press("ArrowDown")
      await page.keyboard.press("ArrowDown")
      assert.isTrue(await hasFocus(order[2]))
      await page.keyboard.press("End")
      assert.isTrue(await hasFocus(order.at(-1)))
      await page.keyboard.press("ArrowUp")
      await page.keyboard.press("Enter")
      await page.locator("#detail[open]").waitFor()
      await eventually(
        () => seen(page.locator("#detail-title")),
        (title) => title === order.at(-2)
      )
      await page.keyboard.press("/")
      assert.notStrictEqual(await focused(), "text")
      await page.keyboard.press("Escape")
      await page.locator("#detail").waitFor({ state: "hidden" })
      assert.isTrue(await hasFocus(order.at(-2)))
      const hash = await eventually(
        async () => new URL(page.url()).hash,
        (is) => is === ""
      )
      assert.strictEqual(hash, "")
      // The rows are one stop of the tab key, however many they are.
      await page.keyboard.press("Tab")
      assert.strictEqual(await focused(), "API")
      await page.getByRole("button", { name: "Region" }).focus()
      await page.keyboard.press("Enter")
      assert.strictEqual(await seen(page.locator("th[aria-sort=ascending]")), "Region")
    })
  )

  it.live("keeps the focus on a server that moves", () => {
    const [a, b] = [peer(1), peer(2)]
    const world = Network.world([server(a, {}), server(b, { said: { uptimeScore: 0.5 } })])
    return visit(browser, world, async ({ page }) => {
      const link = page.locator(`#rows a[href="#/${a}"]`)
      await link.focus()
      world.change(a, server(a, { marks: "+-" }), "heartbeat")
      const order = await eventually(
        () => rows(page),
        ([top]) => top !== a
      )
      assert.deepStrictEqual(order, [b, a])
      assert.isTrue(await link.evaluate((focused) => focused.matches(":focus")))
    })
  })

  it.live("says what it is to a screen reader", () =>
    visit(browser, Network.ordinary(), async ({ page }) => {
      await probed(page)
      assert.deepStrictEqual(await page.evaluate("probe.nameless()"), [])
      assert.strictEqual(await page.locator("html").getAttribute("lang"), "en")
      const table = page.getByRole("table", { name: "Servers" })
      assert.strictEqual(await table.getAttribute("aria-rowcount"), "19")
      assert.strictEqual(await table.getByRole("columnheader").count(), 9)
      const rowAt = table.getByRole("row").nth(3)
      assert.strictEqual(await rowAt.getAttribute("aria-rowindex"), "4")
      assert.strictEqual(await rowAt.getByRole("cell").count(), 9)
      assert.match(
        await page.locator("main").ariaSnapshot(),
        /table "Servers":\n\s+- rowgroup:\n\s+- row "Server State ↑/
      )
      for (const role of ["banner", "main", "contentinfo", "search"] as const) {
        assert.strictEqual(await page.getByRole(role).count(), 1, role)
      }
      const status = page.locator("#spoken-counts")
      assert.strictEqual(await status.getAttribute("role"), "status")
      assert.strictEqual(await seen(status), "15 available, 2 unhealthy, 1 silent")
      await page.fill("#text", "us-east")
      const told = await eventually(
        () => seen(status),
        (text) => text.includes("shown")
      )
      assert.match(told, /^15 available, 2 unhealthy, 1 silent; \d of 18 shown$/)
    })
  )

  it.live("says what changed at a bounded pace", () => {
    const world = Network.world([server(peer(1), {})])
    return visit(browser, world, async ({ page }) => {
      const status = page.locator("#spoken-counts")
      assert.strictEqual(await seen(status), "1 available, 0 unhealthy, 0 silent")
      world.change(peer(2), server(peer(2), {}), "announced")
      await eventually(
        () => rows(page),
        ({ length }) => length === 2
      )
      assert.strictEqual(await seen(status), "1 available, 0 unhealthy, 0 silent")
    })
  })

  const textual = ["body", "#own .muted", "#shown", "a", ".word", "[data-state=unhealthy] .word", ".off", "th button"]
  const quiet = ["td .no", "td time.muted", "#refusals .why", "summary", "footer a", ".filters label span", "label"]

  it.live("is readable in the light scheme and in the dark one", () =>
    visit(browser, Network.ordinary(), async ({ page }) => {
      await probed(page)
      // Rows are drawn where they are in sight.
      await page.setViewportSize({ width: 1_280, height: 6_000 })
      for (const summary of await page.locator(".card summary").all()) await summary.click()
      const grounds = { light: "rgb(245, 246, 248)", dark: "rgb(14, 19, 25)" }
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme })
        assert.strictEqual(await page.evaluate("getComputedStyle(document.body).backgroundColor"), grounds[colorScheme])
        for (const selector of [...textual, ...quiet]) {
          await page.waitForSelector(selector, { state: "attached" })
          const contrast = await page.evaluate<number>(`probe.contrast(${JSON.stringify(selector)})`)
          assert.isAtLeast(contrast, 4.5, `${selector} in ${colorScheme}`)
        }
      }
    })
  )

  it.live("fits every width from 320 pixels on, and nothing of a row is lost", () => {
    const world = Network.ordinary()
    const long = "x".repeat(256)
    world.change(
      peer(0),
      server(peer(0), { said: { region: long, regions: [long], capabilities: [long] } }),
      "announced"
    )
    return visit(browser, world, async ({ page }) => {
      await probed(page)
      for (const summary of await page.locator(".card summary").all()) await summary.click()
      for (const width of [320, 390, 700, 720, 1000, 1135, 1280, 1920]) {
        await page.setViewportSize({ width, height: 700 })
        await page.evaluate("document.getElementById('servers').scrollIntoView()")
        await drawn(page)
        assert.isAtMost(await page.evaluate<number>("probe.overhang()"), 0, `${width}`)
        assert.deepStrictEqual(await page.evaluate("probe.lostCells()"), [], `${width}`)
      }
      await page.setViewportSize({ width: 320, height: 700 })
      await page.fill("#text", long)
      await row(page, peer(0)).click()
      await page.locator("#detail[open]").waitFor()
      await page.locator("#detail-body").getByText("Listed").waitFor()
      assert.isAtMost(await page.evaluate<number>("probe.overhang()"), 0)
      assert.isAtMost(await page.locator("#detail").evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth), 0)
    })
  })
})
