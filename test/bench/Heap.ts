/** What this process holds in memory once nothing is left that nobody holds. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Bytes of objects and of the buffers that they hold; of the latter `process.memoryUsage` knows, the heap does not. */
export const held = (): number => {
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** The same after a full collection. */
export const settled = (): number => {
  // What the first sets free through finalizers, the second collects.
  collect()
  collect()
  return held()
}

export const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`
