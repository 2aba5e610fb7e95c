/** `npm run api`: writes the documents of what the package exports. */
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { withDeclarations } from "./Declarations.ts"
import { documents } from "./Documents.ts"

const root = new URL("../..", import.meta.url).pathname

for (const { path, text } of await withDeclarations(documents)) {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
  process.stdout.write(`${path}\n`)
}
