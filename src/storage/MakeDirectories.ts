/** Makes a directory and what leads to it, private to this user. It knows nothing of what it is for. */
import { mkdir } from "node:fs/promises"
import { dirname } from "node:path"

const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "")

/** Something of that name that is there already is left as it is, though it may be no directory. */
const make = (path: string): Promise<void> =>
  mkdir(path, { mode: 0o700 }).catch((cause: unknown) => {
    if (codeOf(cause) !== "EEXIST") throw cause
  })

/**
 * One after the other: where a file system such as /proc has a directory and takes no other into it, Node's own way,
 * with `recursive`, never ends.
 */
export const makeDirectories = (path: string): Promise<void> =>
  make(path).catch(async (cause: unknown) => {
    if (codeOf(cause) !== "ENOENT" || dirname(path) === path) throw cause
    await makeDirectories(dirname(path))
    await make(path)
  })
