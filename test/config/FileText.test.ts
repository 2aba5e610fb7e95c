import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, PlatformError } from "effect"
import * as FileText from "../../src/config/FileText.ts"

const directory = mkdtempSync(join(tmpdir(), "ricochet-file-text-"))
afterAll(() => rmSync(directory, { recursive: true }))

const written = (name: string, content: string | Uint8Array) => {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

const failure = (path: string) => FileText.read(path).pipe(Effect.flip, Effect.provide(NodeServices.layer))

describe("the text of a file", () => {
  it.live("is what it holds, up to 256 KiB", () =>
    Effect.gen(function* () {
      const full = "é".repeat(128 * 1024)
      assert.strictEqual(yield* FileText.read(written("small.yaml", "a: é\n")), "a: é\n")
      assert.strictEqual(yield* FileText.read(written("empty.yaml", "")), "")
      assert.strictEqual(yield* FileText.read(written("full.yaml", full)), full)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("L01 is refused where there is none, each in its own words", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* failure(join(directory, "absent.yaml")), { found: "no such file", isMissing: true })
      assert.deepStrictEqual(yield* failure(directory), { found: "a directory", isMissing: false })
      assert.deepStrictEqual(yield* failure("/dev/zero"), { found: "neither a file nor a pipe", isMissing: false })
      assert.deepStrictEqual(yield* failure(written("large.yaml", "#".repeat(256 * 1024 + 1))), {
        found: "a file of more than 262144 bytes",
        isMissing: false
      })
      assert.deepStrictEqual(yield* failure(written("latin.yaml", Buffer.from([0x61, 0xe9]))), {
        found: "text that is not UTF-8",
        isMissing: false
      })
    })
  )

  it.effect("L01 that may not be read is no missing file", () =>
    Effect.gen(function* () {
      const denied = PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "stat" })
      const unreadable = yield* FileText.read("/etc/ricochet/config.yaml").pipe(
        Effect.flip,
        Effect.provide(FileSystem.layerNoop({ stat: () => Effect.fail(denied) }))
      )
      assert.deepStrictEqual(unreadable, { found: "reading it is not permitted", isMissing: false })
    })
  )
})
