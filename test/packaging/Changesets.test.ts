/** The changesets are such that the next version can be made of them. */
import { execFile } from "node:child_process"
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"

const root = new URL("../..", import.meta.url).pathname

it("every changeset becomes a line of the changelog, and the version follows from them", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ricochet-changesets-"))
  try {
    for (const name of [".changeset", "package.json", "package-lock.json", "CHANGELOG.md"]) {
      await cp(join(root, name), join(directory, name), { recursive: true })
    }
    const own = `---\n"ricochet-discovery": major\n---\n\nA change that breaks what was promised.\n`
    await writeFile(join(directory, ".changeset/own.md"), own)
    const names = (await readdir(join(directory, ".changeset"))).filter((name) => name.endsWith(".md"))
    const contents = await Promise.all(names.map((name) => readFile(join(directory, ".changeset", name), "utf8")))

    const changesets = join(root, "node_modules/@changesets/cli/bin.js")
    await promisify(execFile)(process.execPath, [changesets, "version"], { cwd: directory })

    const changelog = await readFile(join(directory, "CHANGELOG.md"), "utf8")
    for (const content of contents) assert.include(changelog, content.replace(/^---.*?---/s, "").trim())
    assert.match(JSON.parse(await readFile(join(directory, "package.json"), "utf8")).version, /^[1-9]\d*\.0\.0$/)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
