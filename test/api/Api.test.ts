/** What the package exports is documented, and does not change unseen. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { doors, withDeclarations } from "./Declarations.ts"
import { type Document, documents } from "./Documents.ts"
import { surfaceOf, undocumented } from "./Surface.ts"

const root = new URL("../..", import.meta.url).pathname

describe("what the package exports", () => {
  let written: ReadonlyArray<Document>
  let silent: ReadonlyArray<string>

  beforeAll(async () => {
    await withDeclarations(async (declarations) => {
      written = await documents(declarations)
      silent = doors.flatMap((door) =>
        undocumented(surfaceOf(declarations, door)).map((path) => `${door.name}: ${path}`)
      )
    })
  }, 120_000)

  it("has a docstring, to the last member", () => assert.deepStrictEqual(silent, []))

  it("is as the checked-in reports and reference say; `npm run api` writes them anew", async () => {
    const kept = await Promise.all(written.map(({ path }) => readFile(join(root, path), "utf8").catch(() => "")))
    const stale = written.flatMap(({ path, text }, index) => (text === kept[index] ? [] : [path]))
    assert.deepStrictEqual(stale, [])
  })
})
