/** A process that reads a URL over a few kept connections as fast as it is answered, and tells how often in a second. */
import { Agent, get } from "node:http"

export interface Reading {
  readonly url: string
  readonly millis: number
}

const connections = 4
const agent = new Agent({ keepAlive: true, maxSockets: connections })

const once = (url: string) =>
  new Promise<void>((resolve, reject) => {
    get(url, { agent }, (response) => response.resume().on("end", resolve)).on("error", reject)
  })

process.on("message", async ({ millis, url }: Reading) => {
  let answers = 0
  const start = performance.now()
  const readFor = async () => {
    while (performance.now() - start < millis) {
      await once(url)
      answers++
    }
  }
  await Promise.all(Array.from({ length: connections }, readFor))
  process.send?.((answers * 1_000) / (performance.now() - start))
})
