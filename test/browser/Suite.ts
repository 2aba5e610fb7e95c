/** A browser for the tests of one suite. */
import { afterAll, beforeAll } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { launch } from "./Browser.ts"

/** Starts a Chromium before the tests of the suite that calls it, and ends it after them. */
export const chromiumOfSuite = (): (() => Browser) => {
  let browser: Browser | undefined
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())
  return () => {
    if (browser === undefined) throw new Error("the browser of a suite is there for its tests")
    return browser
  }
}
