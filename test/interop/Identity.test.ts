/** Identity files that cross between the languages: the same peer ID, whoever wrote the key, in every form. */
import { readdir, readFile, stat, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Settings } from "../../src/config/Settings.ts"
import { Identity } from "../../src/identity/Identity.ts"
import * as VirtualSettings from "../../src/testing/VirtualSettings.ts"
import { forms, peerId as knownPeerId } from "../identity/Keys.ts"
import { temporaryDirectory } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"
import * as GoPeer from "./GoPeer.ts"

interface GoIdentity {
  readonly peer_id: string
  readonly written: ReadonlyArray<string>
}

/** The identity of a server with these settings. */
const identityOf = Effect.fnUntraced(function* (place: {
  readonly identityFile?: string
  readonly dataDirectory?: string
}) {
  const defaults = VirtualSettings.make({})
  const settings = Settings.of({
    ...defaults,
    seedHex: undefined,
    server: { ...defaults.server, identityFile: place.identityFile },
    storage: { ...defaults.storage, dataDirectory: place.dataDirectory ?? "/nowhere" }
  })
  return yield* Effect.provide(Identity, Identity.layer.pipe(Layer.provide(Layer.succeed(Settings, settings))))
})

describe.skipIf(isMissing("go"))(named("identity files of two languages", "go"), () => {
  let binary: string
  beforeAll(async () => {
    binary = await GoPeer.build()
  }, GoPeer.buildTimeoutMillis)

  const ask = (...args: ReadonlyArray<string>) =>
    Effect.promise(async () => (await GoPeer.ask(binary, ["identity", ...args]))[0] as GoIdentity)

  it.live("H06 keys that Go wrote are read to Go's peer ID, in every form", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { peer_id, written } = yield* ask("--write", directory)
      const read = yield* Effect.forEach([...written].sort(), (identityFile) =>
        Effect.map(identityOf({ identityFile }), ({ peerId }) => [basename(identityFile), peerId])
      )
      const forms = ["base64-newline", "base64", "hex-newline", "hex", "private", "protobuf", "seed"]
      assert.deepStrictEqual(
        read,
        forms.map((form) => [`${form}.key`, peer_id])
      )
    })
  )

  it.live("H06 a key in any form that this server reads is read by Go to the same peer ID", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const read = yield* Effect.forEach(
        forms,
        Effect.fnUntraced(function* ([form, content], index) {
          const identityFile = join(directory, `${index}.key`)
          yield* Effect.promise(() => writeFile(identityFile, content, { mode: 0o600 }))
          const { peer_id } = yield* ask("--key-file", identityFile)
          return [form, (yield* identityOf({ identityFile })).peerId, peer_id]
        })
      )
      assert.deepStrictEqual(
        read,
        forms.map(([form]) => [form, knownPeerId, knownPeerId])
      )
    })
  )

  it.live("R18 a key that this server wrote for itself is read by Go to the same peer ID", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const dataDirectory = join(directory, "data")
      const { peerId } = yield* identityOf({ dataDirectory })
      const file = join(dataDirectory, "peer_identity.key")
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(dataDirectory)), ["peer_identity.key"])
      const { key, mode } = yield* Effect.promise(async () => ({
        key: await readFile(file),
        mode: (await stat(file)).mode & 0o777
      }))
      assert.deepStrictEqual({ bytes: key.length, mode }, { bytes: 64, mode: 0o600 })
      const { peer_id } = yield* ask("--key-file", file)
      assert.strictEqual(peer_id, peerId)
    })
  )
})
