/** The bytes of a configuration file as text: bounded, decoded strictly, and every way it can fail told in one line. */
import { Effect, FileSystem, type PlatformError, Stream } from "effect"

/** Twenty times the example. What reads YAML compares each key with all others, so a megabyte of keys would take minutes. */
const mostBytes = 256 * 1024

/** Why there is no text. `isMissing` where nothing has that name. */
export interface Unreadable {
  readonly found: string
  readonly isMissing: boolean
}

const unreadable = (found: string): Unreadable => ({ found, isMissing: false })

const fromPlatform = ({ reason }: PlatformError.PlatformError): Unreadable => {
  if (reason._tag === "NotFound") return { found: "no such file", isMissing: true }
  return unreadable(reason._tag === "PermissionDenied" ? "reading it is not permitted" : "it cannot be read")
}

/** Reads a file, or a pipe, of at most 256 KiB of UTF-8. */
export const read = Effect.fn("FileText.read")(function* (path: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const { type } = yield* Effect.mapError(fileSystem.stat(path), fromPlatform)
  if (type === "Directory") return yield* Effect.fail(unreadable("a directory"))
  if (type !== "File" && type !== "FIFO") return yield* Effect.fail(unreadable("neither a file nor a pipe"))
  const chunks = yield* fileSystem
    .stream(path, { bytesToRead: mostBytes + 1 })
    .pipe(Stream.runCollect, Effect.mapError(fromPlatform))
  const bytes = Buffer.concat(chunks)
  if (bytes.length > mostBytes) return yield* Effect.fail(unreadable(`a file of more than ${mostBytes} bytes`))
  return yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => unreadable("text that is not UTF-8")
  })
})
