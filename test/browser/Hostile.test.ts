/** What strangers write, and what the page lets happen: nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isMissing, named } from "../process/Tools.ts"
import { eventually, listening, row, rows, seen, visit } from "./Browser.ts"
import * as Network from "./Network.ts"
import { peer, server } from "./Network.ts"
import { chromiumOfSuite } from "./Suite.ts"

const [a, b] = [peer(101), peer(102)]

const image = `<img src=x onerror="alert('image')">`
const script = `"><script>alert("script")</script>`
const url = "javascript:alert('url')"
const event = "one\r\nevent: change\r\ndata: {}\r\n\r\n"
const reversed = "safe\u202Eevil\u2066\u0000\u001b[31m"

/** All that markup could have become. */
const markup =
  "img, iframe, object, embed, base, [onerror], [onload], a[href^='javascript'], script:not([src='page/page.js'])"

const hostile = () => {
  const world = Network.world([
    server(a, {
      said: {
        region: image,
        regions: [image, script, url],
        capabilities: [script, image, url, "<b>bold</b>"],
        maxStorage: url,
        retentionPolicy: event
      }
    }),
    server(b, { said: { region: reversed, regions: [reversed], capabilities: [event], maxStorage: image } })
  ])
  world.connections = [{ peer: a, address: `/dns4/${image}/tcp/1`, direction: "inbound" }]
  world.connectivity = {
    ...world.connectivity,
    bootstrap: [
      { address: image, peer: undefined, isConnected: false, lastError: script, nextTryInMillis: 1_000 },
      { address: url, peer: a, isConnected: true, lastError: undefined, nextTryInMillis: undefined }
    ]
  }
  world.checks = [{ startedWallMillis: Date.now(), durationMillis: 1, ok: false, errorClass: `postgres: ${image}` }]
  world.refusals.set(peer(103), {
    reason: "malformed",
    detail: `region: ${image}`,
    count: 1,
    lastWallMillis: Date.now()
  })
  world.evictions.set(peer(104), { wallMillis: Date.now(), reason: script })
  return world
}

describe.skipIf(isMissing("chromium"))(named("hostile text on the page", "chromium"), () => {
  const browser = chromiumOfSuite()

  it.live("I10 R5 stays text, in every place where a stranger's words are shown", () =>
    visit(
      browser,
      hostile(),
      async ({ page }) => {
        const isText = async (place: string) => assert.strictEqual(await page.locator(markup).count(), 0, place)
        assert.strictEqual((await rows(page)).length, 2)
        assert.strictEqual(await seen(row(page, a).locator(".region")), image)
        assert.strictEqual(
          await row(page, a).locator(".capabilities").getAttribute("title"),
          [script, image, url, "<b>bold</b>"].join(", ")
        )
        assert.strictEqual(
          await seen(row(page, b).locator(".region")),
          String.raw`safe\u{202e}evil\u{2066}\u{0}\u{1b}[31m`
        )
        assert.strictEqual(
          await seen(row(page, b).locator(".capabilities")),
          String.raw`one\u{d}\u{a}event: change\u{d}\u{a}data: {}\u{d}\u{a}\u{d}\u{a}`
        )
        for (const summary of await page.locator(".card summary").all()) await summary.click()
        assert.include(await seen(page.locator("#neighbours")), image)
        assert.include(await seen(page.locator("#own")), `postgres: ${image}`)
        assert.include(await seen(page.locator("#notices")), `postgres: ${image}`)
        assert.include(await seen(page.locator("#refusals")), `region: ${image}`)
        await isText("overview")

        await page.selectOption("#region", image)
        assert.deepStrictEqual(
          await eventually(
            () => rows(page),
            ({ length }) => length === 1
          ),
          [a]
        )
        await row(page, a).locator(".region").click()
        await page.locator("#detail-body").getByText(`/dns4/${image}/tcp/1`).waitFor()
        assert.include(await seen(page.locator("#detail-body")), url)
        await isText("detail")
        await page.keyboard.press("Escape")

        for (const [asked, answer] of [
          [image, image],
          [url, url],
          [peer(103), `region: ${image}`],
          [peer(104), script],
          ["../self", "../self"],
          ["%zz", "%zz"]
        ] as const) {
          await page.goto(`${new URL(page.url()).origin}/#/${asked === "%zz" ? asked : encodeURIComponent(asked)}`)
          await page.locator("#detail-body").getByText(answer.slice(0, 18)).first().waitFor()
          await isText(asked)
          await page.keyboard.press("Escape")
        }
        await page.fill("#text", `${script} nobody`)
        await page.getByText("No server matches.").waitFor()
        await isText("filter")
      },
      { expected: /status of 40[04]/ }
    )
  )

  it.live("I10 lives under a policy that runs no script but its own, and no markup out of text", () =>
    visit(
      browser,
      Network.ordinary(),
      async ({ page }) => {
        const attempts = [
          "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))",
          "document.body.innerHTML = '<b>markup</b>'",
          "document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/x' }))",
          "new EventSource('http://127.0.0.1:9/x')",
          "document.body.setAttribute('style', 'display: none')"
        ]
        for (const attempt of attempts) {
          const broken = await page.evaluate<string>(`new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true })
            setTimeout(() => resolve("nothing was broken"), 2_000)
            try { ${attempt} } catch {}
          })`)
          assert.match(broken, /^(require-trusted-types-for|img-src|connect-src|style-src-attr)$/, attempt)
        }
        assert.strictEqual(await page.evaluate("window.ran"), undefined)
      },
      { expected: /Content Security Policy|TrustedScript|TrustedHTML/ }
    )
  )

  it.live("comes from this server alone, with headers that hold it, and is small", () =>
    Effect.gen(function* () {
      const origin = yield* listening(Network.ordinary())
      const context = yield* Effect.promise(() => browser().newContext())
      yield* Effect.promise(async () => {
        const page = await context.newPage()
        const parts: Array<{ path: string; bytes: number; type: string | undefined; nosniff: string | undefined }> = []
        const reading: Array<Promise<void>> = []
        page.on("response", (response) => {
          const { origin: from, pathname: path } = new URL(response.url())
          assert.strictEqual(from, origin)
          if (path !== "/" && !path.startsWith("/page/")) return
          const read = async () => {
            const headers = response.headers()
            const bytes = (await response.body()).length
            parts.push({ path, bytes, type: headers["content-type"], nosniff: headers["x-content-type-options"] })
          }
          reading.push(read())
        })
        await page.goto(origin)
        await page.locator("#link[data-state=live]").waitFor()
        await Promise.all(reading)
        assert.isAbove(parts.length, 10)
        for (const { nosniff, path, type } of parts) {
          assert.match(type ?? "", /^(text\/(html|css|javascript); charset=utf-8|image\/svg\+xml)$/, path)
          assert.strictEqual(nosniff, "nosniff", path)
        }
        assert.isBelow(
          parts.reduce((sum, { bytes }) => sum + bytes, 0),
          150_000
        )
        const answer = await fetch(origin)
        const policy = answer.headers.get("content-security-policy") ?? ""
        for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]) {
          assert.include(policy, rule)
        }
        for (const rule of ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]) {
          assert.include(policy, rule)
        }
        assert.notInclude(policy, "unsafe")
        await context.close()
      })
    }).pipe(Effect.scoped)
  )
})
