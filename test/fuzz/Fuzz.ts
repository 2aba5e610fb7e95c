/** Mutated messages through Wire and Judge, each compared with what the oracle says of it, and timed. */
import { isDeepStrictEqual } from "node:util"
import { Result } from "effect"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import { judgeAnnouncement, judgeHeartbeat } from "../../src/registry/Judge.ts"
import type { Known } from "../../src/registry/Known.ts"
import type { Refusal } from "../../src/registry/Refusal.ts"
import { decodeAnnouncement, decodeHeartbeat } from "../../src/registry/Wire.ts"
import { random } from "../registry/Random.ts"
import { alice, at, self, topic, wall } from "../registry/Sample.ts"
import { mutated } from "./Mutation.ts"
import * as Oracle from "./Oracle.ts"

type Kind = "announcement" | "heartbeat"
type Message = Announcement | Heartbeat

export interface Report {
  readonly inputs: number
  readonly accepted: number
  /** How many were refused for each reason. */
  readonly refused: Readonly<Record<string, number>>
  /** What must not be, at most ten. */
  readonly breaches: ReadonlyArray<string>
  /** Microseconds of the middle input, and of the slowest, each the shortest of many runs. */
  readonly medianMicros: number
  readonly slowestMicros: number
  readonly slowest: string
}

const decode = (bytes: Uint8Array, kind: Kind): Result.Result<Message, Refusal> =>
  kind === "announcement" ? decodeAnnouncement(bytes) : decodeHeartbeat(bytes)

const judge = (message: Message, known: Known | undefined): Result.Result<Known, Refusal> => {
  const given = { signed: () => new Uint8Array(), signer: alice, self, now: at(0), origin: topic }
  const decide = "port" in message ? judgeAnnouncement({ ...given, message }) : judgeHeartbeat({ ...given, message })
  return decide(known, undefined)
}

/** The whole way of one message: what is timed. */
const way = (bytes: Uint8Array, kind: Kind, known: Known | undefined): Result.Result<Known, Refusal> => {
  const decoded = decode(bytes, kind)
  return Result.isSuccess(decoded) ? judge(decoded.success, known) : Result.fail(decoded.failure)
}

const micros = (run: () => unknown, times: number): number => {
  let shortest = Number.POSITIVE_INFINITY
  for (let time = 0; time < times; time++) {
    const began = process.hrtime.bigint()
    run()
    shortest = Math.min(shortest, Number(process.hrtime.bigint() - began) / 1_000)
  }
  return shortest
}

const asText = (bytes: Uint8Array) => JSON.stringify(new TextDecoder().decode(bytes.subarray(0, 2_000)))

/** What is wrong with the outcome of one input, if anything. */
const breachOf = (bytes: Uint8Array, kind: Kind, outcome: Result.Result<Known, Refusal>): string | undefined => {
  const decoded = decode(bytes, kind)
  const expected = Oracle.read(bytes, kind)
  if (Result.isFailure(decoded)) {
    if (typeof expected !== "string") return `refused what keeps R3, R4 and R5: ${decoded.failure.message}`
    if (decoded.failure.verdict !== "reject") return `not rejected: ${decoded.failure.message}`
  } else if (!isDeepStrictEqual(decoded.success, expected))
    return "accepted what breaks R3, R4 or R5, or read it otherwise"
  if (Result.isFailure(outcome))
    return outcome.failure.detail.length > 200 ? "a detail of more than 200 characters" : undefined
  const message = kind === "announcement" ? outcome.success.announcement?.message : outcome.success.heartbeat?.message
  if (message?.serverId !== alice) return "counted another server's words"
  const aheadNanos = message.timestamp - wall(0)
  const isInWindow = aheadNanos <= 120_000_000_000n && -aheadNanos < 7_200_000_000_000n
  return isInWindow ? undefined : "counted a message from another time"
}

const slowKept = 20

export const fuzz = (count: number, seed: number): Report => {
  const choose = random(seed)
  const refused: Record<string, number> = {}
  const breaches: Array<string> = []
  const slow: Array<{ readonly bytes: Uint8Array; readonly kind: Kind; readonly micros: number }> = []
  const sample: Array<{ readonly bytes: Uint8Array; readonly kind: Kind }> = []
  let known: Known | undefined
  let accepted = 0
  for (let index = 0; index < count; index++) {
    const kind = choose.of(["announcement", "heartbeat"] as const)
    const bytes = mutated(choose, kind)
    try {
      const began = process.hrtime.bigint()
      const outcome = way(bytes, kind, known)
      const taken = Number(process.hrtime.bigint() - began) / 1_000
      if (Result.isSuccess(outcome)) {
        accepted++
        known = outcome.success
      } else refused[outcome.failure.reason] = (refused[outcome.failure.reason] ?? 0) + 1
      const breach = breachOf(bytes, kind, outcome)
      if (breach !== undefined) breaches.push(`input ${index}, ${kind}: ${breach}: ${asText(bytes)}`)
      // Forgotten now and then, so that most messages are not merely repeated.
      if (choose.chance(0.3)) known = undefined
      const isSlow = (time: number) => slow.length < slowKept || time > (slow.at(-1)?.micros ?? 0)
      // Asked twice, for the first time may be the machine's.
      const once = isSlow(taken) ? micros(() => way(bytes, kind, known), 3) : 0
      if (isSlow(once)) {
        slow.push({ bytes, kind, micros: once })
        slow.sort((left, right) => right.micros - left.micros)
        slow.length = Math.min(slow.length, slowKept)
      }
      if (index % Math.ceil(count / 500) === 0) sample.push({ bytes, kind })
    } catch (error) {
      breaches.push(`input ${index}, ${kind}: threw ${String(error)}: ${asText(bytes)}`)
    }
    if (breaches.length >= 10) break
  }
  // The machine does other things too: what was slow once counts only as slow as it is at its quickest.
  const again = slow
    .map(({ bytes, kind }) => ({ text: asText(bytes), micros: micros(() => way(bytes, kind, known), 200) }))
    .sort((left, right) => right.micros - left.micros)
  const middle = sample
    .map(({ bytes, kind }) => micros(() => way(bytes, kind, known), 20))
    .sort((left, right) => left - right)
  return {
    inputs: count,
    accepted,
    refused,
    breaches,
    medianMicros: middle[middle.length >> 1] ?? 0,
    slowestMicros: again[0]?.micros ?? 0,
    slowest: again[0]?.text ?? ""
  }
}
