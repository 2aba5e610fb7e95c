/** The page of a server as its users have it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"
import { seen, visiting } from "./Browser.ts"
import { chromiumOfSuite } from "./Suite.ts"

describe.skipIf(isMissing("chromium"))(named("the page of a running server", "chromium"), () => {
  const browser = chromiumOfSuite()

  it.live("R15 F03 shows a server that has just started: healthy, alone, and nobody listed", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const { url } = yield* server.log("ops listening")
      yield* visiting(browser(), String(url), async ({ page }) => {
        assert.strictEqual(await page.locator("#own-name a").getAttribute("title"), server.peerId)
        assert.match(await seen(page.locator("#own")), /^Healthy · score 100% of 1 check · checked/)
        assert.match(await seen(page.locator("#notices")), /^Up but alone: .* No bootstrap peer is configured\.$/)
        assert.strictEqual(await seen(page.locator("#nobody")), "Nobody is listed: no other server is known.")
        await page.locator("#own-name a").click()
        await page.locator("#detail-body").getByText("This server: it is this server").waitFor()
      })
    }).pipe(Effect.scoped)
  )
})
