import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Settings } from "../../src/config/Settings.ts"
import { BadIdentity, create, find, Identity, IdentityNotKept } from "../../src/identity/Identity.ts"
import { allowedForms } from "../../src/identity/KeyFile.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import * as CapturedLog from "../announcing/CapturedLog.ts"
import { damaged, forms, peerId, privateKey, seed, zeroPeerId } from "./Keys.ts"

/** An empty directory, gone when the test ends. */
const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "identity-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true }))
)

interface Set {
  readonly seedHex?: string
  readonly identityFile?: string
  readonly dataDirectory?: string
}

const settingsOf = ({ seedHex, identityFile, dataDirectory }: Set) => {
  const defaults = VirtualSettings.make({})
  return Settings.of({
    ...defaults,
    server: { ...defaults.server, identityFile },
    storage: { ...defaults.storage, dataDirectory: dataDirectory ?? "/nowhere" },
    seedHex: seedHex === undefined ? undefined : Redacted.make(seedHex)
  })
}

const load = (set: Set) =>
  Layer.build(Identity.layer).pipe(
    Effect.map((context) => Context.get(context, Identity)),
    Effect.provideService(Settings, settingsOf(set))
  )

const refusal = (set: Set) =>
  Effect.map(Effect.flip(load(set)), (error) => {
    assert.instanceOf(error, BadIdentity)
    assert.strictEqual(error.exitCode, 78)
    return { origin: error.origin, found: error.found, allowed: error.allowed }
  })

const write = (path: string, content: Uint8Array, mode = 0o600) =>
  Effect.promise(() => writeFile(path, content, { mode }))

describe("identity", () => {
  for (const [form, content] of forms) {
    it.effect(`H06 is the same peer ID from ${form}`, () =>
      Effect.gen(function* () {
        const path = join(yield* directory, "key")
        yield* write(path, content)
        const identity = yield* load({ identityFile: path })
        assert.deepStrictEqual({ peerId: identity.peerId, origin: identity.origin }, { peerId, origin: path })
        assert.deepStrictEqual(Buffer.from(identity.privateKey.raw), privateKey)
      })
    )
  }

  for (const [damage, content, found] of damaged) {
    it.effect(`R18 H01 stops the start at ${damage}, and leaves it as it was`, () =>
      Effect.gen(function* () {
        const dataDirectory = yield* directory
        const own = join(dataDirectory, "peer_identity.key")
        yield* write(own, content)
        const expected = { origin: own, found, allowed: allowedForms }
        assert.deepStrictEqual(yield* refusal({ dataDirectory }), expected)
        assert.deepStrictEqual(yield* refusal({ identityFile: own }), expected)
        assert.deepStrictEqual(yield* Effect.promise(() => readFile(own)), content)
        assert.deepStrictEqual(yield* Effect.promise(() => readdir(dataDirectory)), ["peer_identity.key"])
      })
    )
  }

  it.effect("R18 H01 stops the start where the file is missing, a directory, a dangling link, a pipe or too long", () =>
    Effect.gen(function* () {
      const at = yield* directory
      const [link, folder, missing, long] = [
        join(at, "link"),
        join(at, "folder"),
        join(at, "missing"),
        join(at, "long")
      ]
      yield* Effect.promise(() => symlink(missing, link))
      yield* Effect.promise(() => mkdir(folder))
      yield* write(long, Buffer.alloc(69))
      for (const [path, found] of [
        [missing, "missing, or a link to nothing"],
        [link, "missing, or a link to nothing"],
        [folder, "a directory"],
        ["/dev/null", "not a file"],
        [long, "a file of 69 bytes"]
      ] as const) {
        assert.deepStrictEqual(yield* refusal({ identityFile: path }), { origin: path, found, allowed: allowedForms })
      }
    })
  )

  it.effect("R18 H01 makes no new key where a dangling link stands in its place", () =>
    Effect.gen(function* () {
      const dataDirectory = yield* directory
      const own = join(dataDirectory, "peer_identity.key")
      yield* Effect.promise(() => symlink(join(dataDirectory, "missing"), own))
      const { found } = yield* refusal({ dataDirectory })
      assert.strictEqual(found, "missing, or a link to nothing")
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(dataDirectory)), ["peer_identity.key"])
    })
  )

  it.effect("names what is allowed and never what is in the file", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "key")
      yield* write(path, Buffer.from(`0x${seed.toString("hex")}`))
      const error = yield* Effect.flip(load({ identityFile: path }))
      assert.strictEqual(error.message, `identity: ${path} is 66 bytes in no known form; allowed: ${allowedForms}`)
    })
  )

  it.effect("comes from the environment, then from the configured file, then from the data directory", () =>
    Effect.gen(function* () {
      const at = yield* directory
      const identityFile = join(at, "key")
      yield* write(identityFile, privateKey)
      yield* write(join(at, "peer_identity.key"), Buffer.alloc(32, 1))
      const seedHex = "0".repeat(64)
      const first = yield* load({ seedHex, identityFile, dataDirectory: at })
      assert.deepStrictEqual([first.peerId, first.origin], [zeroPeerId, "RICOCHET_SEED_HEX"])
      const second = yield* load({ identityFile, dataDirectory: at })
      assert.deepStrictEqual([second.peerId, second.origin], [peerId, identityFile])
      const third = yield* load({ dataDirectory: at })
      assert.strictEqual(third.origin, join(at, "peer_identity.key"))
    })
  )

  it.effect("H02 stops the start at a seed in the environment that is none, without showing it", () =>
    Effect.gen(function* () {
      const seedHex = `0x${seed.toString("hex")}`
      const { allowed, found, origin } = yield* refusal({ seedHex, dataDirectory: yield* directory })
      assert.deepStrictEqual(
        { allowed, found, origin },
        {
          origin: "RICOCHET_SEED_HEX",
          found: "66 characters that are not 64 hex digits",
          allowed: "64 hex digits: a 32-byte seed"
        }
      )
    })
  )

  it.effect("is created once, as the 64-byte private key, in a directory for its owner alone", () =>
    Effect.gen(function* () {
      const dataDirectory = join(yield* directory, "a", "b")
      const created = yield* load({ dataDirectory })
      const own = join(dataDirectory, "peer_identity.key")
      const [content, file, folder] = yield* Effect.promise(() =>
        Promise.all([readFile(own), stat(own), stat(dataDirectory)])
      )
      assert.deepStrictEqual(content, Buffer.from(created.privateKey.raw))
      assert.deepStrictEqual([file.mode & 0o777, folder.mode & 0o777], [0o600, 0o700])
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(dataDirectory)), ["peer_identity.key"])
      assert.strictEqual((yield* load({ dataDirectory })).peerId, created.peerId)
    })
  )

  it.effect("is one where several processes create it at once", () =>
    Effect.gen(function* () {
      const dataDirectory = yield* directory
      const made = yield* Effect.all(
        Array.from({ length: 8 }, () => create),
        { concurrency: "unbounded" }
      ).pipe(Effect.provideService(Settings, settingsOf({ dataDirectory })))
      assert.strictEqual(new Set(made.map((identity) => identity.peerId)).size, 1)
    })
  )

  it.effect("is not looked for by creating it", () =>
    Effect.gen(function* () {
      const dataDirectory = yield* directory
      const found = yield* find.pipe(Effect.provideService(Settings, settingsOf({ dataDirectory })))
      assert.isTrue(Option.isNone(found))
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(dataDirectory)), [])
    })
  )

  it.effect("R23 stops the start with 69 where a new key cannot be written", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load({ dataDirectory: "/sys/none" }))
      assert.instanceOf(error, IdentityNotKept)
      assert.strictEqual(error.exitCode, 69)
      assert.match(error.message, /^identity: a new key could not be written to \/sys\/none\/peer_identity\.key: E/)
    })
  )

  it.effect("warns of a key that others can read", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "key")
      yield* write(path, privateKey)
      yield* Effect.promise(() => chmod(path, 0o640))
      const log = CapturedLog.make()
      yield* load({ identityFile: path }).pipe(Effect.provide(log.layer))
      yield* Effect.promise(() => chmod(path, 0o600))
      yield* load({ identityFile: path }).pipe(Effect.provide(log.layer))
      assert.deepStrictEqual(log.of("identity file can be read by others"), [
        { level: "Warn", facts: { path, mode: "640", wanted: "600" } }
      ])
    })
  )
})
