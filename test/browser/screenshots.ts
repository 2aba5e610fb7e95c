/**
 * Takes the pictures of the page that the README shows: `node test/browser/screenshots.ts`, and then
 * `pngquant --force --ext .png test/fixtures/page/*.png` to make them small.
 */
import { Effect } from "effect"
import { launch, visit } from "./Browser.ts"
import * as Network from "./Network.ts"

const directory = new URL("../fixtures/page/", import.meta.url).pathname

const program = Effect.gen(function* () {
  const browser = yield* Effect.acquireRelease(Effect.promise(launch), (open) => Effect.promise(() => open.close()))
  const picture = (name: string, colorScheme: "light" | "dark", server?: string) =>
    visit(
      () => browser,
      Network.ordinary(),
      async ({ page }) => {
        await page.locator("#rows a").first().waitFor()
        if (server !== undefined) {
          await page.locator(`#rows a[href="#/${server}"]`).click()
          await page.locator("#detail-body dl").first().waitFor()
        }
        await page.screenshot({ path: `${directory}${name}.png` })
      },
      { colorScheme, viewport: { width: 1280, height: 960 } }
    )
  yield* picture("overview-light", "light")
  yield* picture("detail-dark", "dark", Network.peer(5))
})

await Effect.runPromise(Effect.scoped(program))
