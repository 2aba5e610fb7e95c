/** The page of a server as its users have it, with a network that is real. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Scope } from "effect"
import { start } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"
import { row, seen, visiting } from "./Browser.ts"
import { chromiumOfSuite } from "./Suite.ts"

describe.skipIf(isMissing("chromium"))(named("the page of a running server", "chromium"), () => {
  const browser = chromiumOfSuite()

  it.live("R15 says that it is alone, and shows the server that comes without being loaded again", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const { url } = yield* server.log("ops listening")
      const scope = yield* Effect.scope
      const another = start({ args: ["--bootstrap", server.address] }).pipe(Scope.provide(scope))
      yield* visiting(browser(), String(url), async ({ page }) => {
        assert.strictEqual(await page.locator("#own-name a").getAttribute("title"), server.peerId)
        assert.match(await seen(page.locator("#notices")), /^Up but alone: .* No bootstrap peer is configured\.$/)
        assert.strictEqual(await seen(page.locator("#nobody")), "Nobody is listed: no other server is known.")
        assert.match(await seen(page.locator("#own")), /^Healthy · score 100% of 1 check · checked/)
        const { peerId } = await Effect.runPromise(another)
        await row(page, peerId).click()
        await page.locator("#detail-body").getByText("Listed: its last self-check passed").waitFor()
        await page.locator("#notices").waitFor({ state: "hidden" })
      })
    }).pipe(Effect.scoped)
  )
})
