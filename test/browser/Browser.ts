/**
 * The page in a real Chromium, served by the real listener on rooms that a test tells what to say. Whatever the browser
 * complains about, a broken policy first of all, fails the test that was running.
 */
import { deepStrictEqual } from "node:assert/strict"
import { Context, Effect, Layer, Metric } from "effect"
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core"
import { OpsServer } from "../../src/ops/OpsServer.ts"
import { SteadyClock } from "../../src/time/SteadyClock.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import * as Doubles from "../ops/Doubles.ts"
import { chromiumPath } from "../process/Tools.ts"

/** A Chromium that is quiet, and on nothing but the loopback. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath ?? "chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
    ]
  })

/** How long a test waits for what the page should show. */
const patienceMillis = 15_000

export interface Visit {
  readonly page: Page
  readonly url: string
}

export interface VisitOptions extends BrowserContextOptions {
  /** What the browser may complain about. */
  readonly expected?: RegExp
}

/** Opens an empty page that notes what the browser complains about. */
const open = async (browser: Browser, options: BrowserContextOptions) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMillis)
  const complaints: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  page.on("pageerror", (error) => complaints.push(String(error)))
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on("request", (request) => {
    if (!request.url().startsWith("http://127.0.0.1:")) complaints.push(`a request: ${request.url()}`)
  })
  return { context, page, complaints }
}

/** Opens the page at a URL and leaves it to the test once it is live. */
export const visiting = (
  browser: Browser,
  url: string,
  test: (visit: Visit) => Promise<void>,
  { expected, ...options }: VisitOptions = {}
) =>
  Effect.acquireUseRelease(
    Effect.promise(() => open(browser, options)),
    ({ complaints, page }) =>
      Effect.promise(async () => {
        await page.goto(url)
        await page.locator("#link[data-state=live]").waitFor()
        await test({ page, url })
        const unexpected = complaints.filter((complaint) => expected?.test(complaint) !== true)
        deepStrictEqual(unexpected, [])
      }),
    ({ context }) => Effect.promise(() => context.close())
  )

/** The listener, as long as the scope is open, with one clock for all. */
export const listening = (world: Doubles.World, port = 0) =>
  Layer.build(
    OpsServer.layer.pipe(
      Layer.provide(Layer.merge(Doubles.layer(world, Doubles.settings({ port })), CapturedLog.make().layer)),
      Layer.provide(Layer.succeed(SteadyClock, { nowMillis: Effect.sync(() => Date.now()) }))
    )
  ).pipe(
    Effect.map((context) => Context.get(context, OpsServer).url ?? ""),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )

/** The page of a server that knows this world. */
export const visit = (
  browser: () => Browser,
  world: Doubles.World,
  test: (visit: Visit) => Promise<void>,
  options: VisitOptions = {}
) =>
  Effect.gen(function* () {
    const url = yield* listening(world)
    yield* visiting(browser(), url, test, options)
  }).pipe(Effect.scoped)

/** Reads until it holds, and gives what was read last. */
export const eventually = async <A>(read: () => Promise<A>, holds: (value: A) => boolean): Promise<A> => {
  const deadline = Date.now() + patienceMillis
  while (true) {
    const value = await read()
    if (holds(value) || Date.now() > deadline) return value
    await new Promise((resume) => setTimeout(resume, 25))
  }
}

/** The peer IDs of the rows that exist, from the top. */
export const rows = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate("[...document.querySelectorAll('#rows a')].map((link) => decodeURIComponent(link.hash.slice(2)))")

/** The row of a server. */
export const row = (page: Page, id: string): Locator => page.locator(`#rows tr:has(a[href="#/${id}"])`)

/** The texts of the cells of a row. */
export const cells = (page: Page, id: string): Promise<ReadonlyArray<string>> =>
  row(page, id).locator("td").allInnerTexts()

/** The text of what is found, as it is seen. */
export const seen = async (found: Locator): Promise<string> => (await found.allInnerTexts()).join("\n")

/** Waits until the page has drawn what it was asked for before. */
export const drawn = (page: Page): Promise<void> =>
  page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
