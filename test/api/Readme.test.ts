/** What the README shows is what the suite runs. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"

const root = new URL("../..", import.meta.url).pathname
const read = (path: string) => readFile(join(root, path), "utf8")

it("the first test of the README is the example that the suite runs, to the letter", async () => {
  const blocks = (await read("README.md")).matchAll(/^```ts\n(.*?)^```$/gms)
  const tests = [...blocks].flatMap(([, code = ""]) => (code.includes("it.effect(") ? [code] : []))
  assert.strictEqual(tests[0], await read("test/examples/TimeTravel.test.ts"))
})
