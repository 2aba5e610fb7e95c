/**
 * The key that this server signs with and is known by. It is found or, where none was asked for and none exists,
 * created; it is never changed silently (R18). What the bytes of a key mean is KeyFile's.
 */
import { randomBytes, randomUUID } from "node:crypto"
import { constants, copyFile, link, lstat, open, unlink } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { privateKeyFromRaw } from "@libp2p/crypto/keys"
import type { PrivateKey } from "@libp2p/interface"
import { peerIdFromPrivateKey } from "@libp2p/peer-id"
import { Context, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { Settings } from "../config/Settings.ts"
import { makeDirectories } from "../storage/MakeDirectories.ts"
import * as KeyFile from "./KeyFile.ts"
import { fromCanonical, type PeerId } from "./PeerId.ts"

/** The key of a server, with the name that follows from it. */
export interface IdentityShape {
  /** The name that others know the server by. */
  readonly peerId: PeerId
  /** The Ed25519 key. Never logged, never sent. */
  readonly privateKey: PrivateKey
  /** Where the key came from: `RICOCHET_SEED_HEX`, or the path of its file. */
  readonly origin: string
}

/** A key that is set but missing, unreadable or malformed. Stops the start and leaves the file as it was (R18). */
export class BadIdentity extends Schema.TaggedError<BadIdentity>()("BadIdentity", {
  /** `RICOCHET_SEED_HEX`, or the path of the file. */
  origin: Schema.String,
  /** What is there, by kind and length; never its content. */
  found: Schema.String,
  allowed: Schema.String
}) {
  readonly exitCode = 78
  override get message() {
    return `identity: ${this.origin} is ${this.found}; allowed: ${this.allowed}`
  }
}

/** A new key could not be written to the data directory. */
export class IdentityNotKept extends Schema.TaggedError<IdentityNotKept>()("IdentityNotKept", {
  path: Schema.String,
  cause: Schema.Defect()
}) {
  readonly exitCode = 69
  override get message() {
    return `identity: a new key could not be written to ${this.path}: ${reasonOf(this.cause)}`
  }
}

/** Who this server is. */
export class Identity extends Context.Service<Identity, IdentityShape>()("ricochet-discovery/identity/Identity") {
  /** Finds the key, or creates one in the data directory. */
  static readonly layer: Layer.Layer<Identity, BadIdentity | IdentityNotKept, Settings> = Layer.suspend(() =>
    Layer.effect(
      Identity,
      Effect.gen(function* () {
        const found = yield* find
        return Option.isSome(found) ? found.value : yield* create
      })
    )
  )
}

const keyFileName = "peer_identity.key"

const codeOf = (cause: unknown) => (cause instanceof Error && "code" in cause ? String(cause.code) : undefined)
const reasonOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))
const atHome = (path: string) => (path.startsWith("~/") ? join(homedir(), path.slice(2)) : path)

/** Path of the key that a server keeps for itself. */
const ownKeyFile = Effect.map(Settings, (settings) => join(atHome(settings.storage.dataDirectory), keyFileName))

const fromSeed = Effect.fnUntraced(function* (seed: Uint8Array, origin: string) {
  const privateKey = privateKeyFromRaw(KeyFile.privateKeyOf(seed))
  const probe = randomBytes(32)
  const holds = yield* Effect.tryPromise(async () =>
    privateKey.publicKey.verify(probe, await privateKey.sign(probe))
  ).pipe(Effect.orElseSucceed(() => false))
  if (!holds) {
    return yield* new BadIdentity({ origin, found: "a key that cannot verify what it signs", allowed: "another key" })
  }
  return { peerId: fromCanonical(peerIdFromPrivateKey(privateKey).toString()), privateKey, origin }
})

interface Opened {
  readonly content: Uint8Array
  readonly mode: number
}

/** Reads a whole file of bounded size, or says what is there instead. It never waits on a pipe or a device. */
const readBounded = async (path: string): Promise<Opened | string> => {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const entry = await file.stat()
    if (entry.isDirectory()) return "a directory"
    if (!entry.isFile()) return "not a file"
    if (entry.size > KeyFile.maxBytes) return `a file of ${entry.size} bytes`
    return { content: await file.readFile(), mode: entry.mode }
  } finally {
    await file.close()
  }
}

const fromFile = Effect.fnUntraced(function* (path: string) {
  const refuse = (found: string) => new BadIdentity({ origin: path, found, allowed: KeyFile.allowedForms })
  const opened = yield* Effect.tryPromise({
    try: () => readBounded(path),
    catch: (cause) =>
      refuse(codeOf(cause) === "ENOENT" ? "missing, or a link to nothing" : `unreadable (${reasonOf(cause)})`)
  })
  if (typeof opened === "string") return yield* refuse(opened)
  const seed = KeyFile.read(opened.content)
  if (Result.isFailure(seed)) return yield* refuse(seed.failure)
  if (process.platform !== "win32" && (opened.mode & 0o077) !== 0) {
    yield* Effect.logWarning("identity file can be read by others").pipe(
      Effect.annotateLogs({ path, mode: (opened.mode & 0o777).toString(8), wanted: "600" })
    )
  }
  return yield* fromSeed(seed.success, path)
})

const exists = (path: string) =>
  Effect.tryPromise({
    try: () => lstat(path).then(() => true),
    catch: (cause) => cause
  }).pipe(
    Effect.catch((cause) =>
      codeOf(cause) === "ENOENT"
        ? Effect.succeed(false)
        : Effect.fail(
            new BadIdentity({
              origin: path,
              found: `unreachable (${reasonOf(cause)})`,
              allowed: "a path in a directory that can be searched"
            })
          )
    )
  )

/**
 * The identity this server has, without creating one: the seed in the environment, else the configured file, else the
 * file in the data directory. None where none of them is set or there.
 */
export const find: Effect.Effect<Option.Option<IdentityShape>, BadIdentity, Settings> = Effect.gen(function* () {
  const { seedHex, server } = yield* Settings
  if (seedHex !== undefined) {
    const origin = "RICOCHET_SEED_HEX"
    const seed = KeyFile.fromHex(Redacted.value(seedHex))
    if (Result.isFailure(seed)) {
      return yield* new BadIdentity({ origin, found: seed.failure, allowed: "64 hex digits: a 32-byte seed" })
    }
    return Option.some(yield* fromSeed(seed.success, origin))
  }
  if (server.identityFile !== undefined) return Option.some(yield* fromFile(atHome(server.identityFile)))
  const own = yield* ownKeyFile
  return (yield* exists(own)) ? Option.some(yield* fromFile(own)) : Option.none()
})

/** Puts a complete file in its place under a name that must be free: what is there already is never written over. */
const place = async (path: string, content: Uint8Array) => {
  await makeDirectories(dirname(path))
  const draft = `${path}.${randomUUID()}.new`
  try {
    const file = await open(draft, "wx", 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    // Some file systems know no hard links; there the copy is as exclusive, only not as whole after a crash.
    await link(draft, path).catch((cause: unknown) => {
      if (codeOf(cause) === "EEXIST") throw cause
      return copyFile(draft, path, constants.COPYFILE_EXCL)
    })
  } finally {
    await unlink(draft).catch(() => undefined)
  }
  const directory = await open(dirname(path), "r")
  await directory.sync().finally(() => directory.close())
}

/** Creates a key in the data directory: mode 0600, in a directory of mode 0700 where none exists. */
export const create: Effect.Effect<IdentityShape, BadIdentity | IdentityNotKept, Settings> = Effect.gen(function* () {
  const path = yield* ownKeyFile
  const created = yield* Effect.tryPromise({
    try: () => place(path, KeyFile.privateKeyOf(randomBytes(32))).then(() => true),
    catch: (cause) => cause
  }).pipe(
    // Another process was first: its key is this server's.
    Effect.catch((cause) =>
      codeOf(cause) === "EEXIST" ? Effect.succeed(false) : Effect.fail(new IdentityNotKept({ path, cause }))
    )
  )
  const identity = yield* fromFile(path)
  if (created) {
    yield* Effect.logInfo("identity created").pipe(Effect.annotateLogs({ peer: identity.peerId, path }))
  }
  return identity
})
