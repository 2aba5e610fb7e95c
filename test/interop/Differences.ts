/**
 * The same bytes read by this server and by the Go peer: where the two differ, and which ruling says so. It runs nothing
 * but the two readers; what must not be is for whoever asks to say.
 */
import { Result } from "effect"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Heartbeat } from "../../src/registry/Heartbeat.ts"
import { decodeAnnouncement, decodeHeartbeat } from "../../src/registry/Wire.ts"
import { announceTopic, heartbeatTopic } from "../../src/testing.ts"
import { mutated } from "../fuzz/Mutation.ts"
import * as Oracle from "../fuzz/Oracle.ts"
import { random } from "../registry/Random.ts"
import { alice } from "../registry/Sample.ts"
import { ask } from "./GoPeer.ts"

type Kind = "announcement" | "heartbeat"

/** What the Go peer says of a message signed by Alice. */
interface GoVerdict {
  readonly verdict: "accept" | "reject"
  readonly reason?: string
  readonly detail?: string
  /** What it read, unless JSON cannot write it. */
  readonly message?: GoMessage
}

interface GoMessage {
  readonly capabilities?: ReadonlyArray<string> | null
  readonly max_storage?: string
  readonly retention_policy?: string
  readonly region?: string
  readonly regions?: ReadonlyArray<string> | null
  readonly uptime_score: number
  readonly healthy: boolean
  readonly timestamp: string
  readonly port?: number
}

export interface Report {
  readonly inputs: number
  /** Both take it and read the same in it. */
  readonly bothAccept: number
  readonly bothReject: number
  /** Go takes it and this server does not, by the ruling that says so. */
  readonly onlyGo: Readonly<Record<string, number>>
  /** Differences that no ruling explains, at most twenty. */
  readonly unexplained: ReadonlyArray<string>
}

const decode = (bytes: Uint8Array, kind: Kind) =>
  kind === "announcement" ? decodeAnnouncement(bytes, alice) : decodeHeartbeat(bytes, alice)

/** Nanoseconds of a time as Go prints it. */
const nanosOf = (text: string): bigint => {
  const [, seconds = "", fraction = "", zone = ""] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text) ?? []
  return BigInt(Date.parse(`${seconds}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"))
}

/** A message as Go read it, in our words: an empty region is the default one, and a list that is null is empty (R3). */
const inOurWords = (message: GoMessage, kind: Kind): Announcement | Heartbeat => {
  const { healthy, timestamp, uptime_score } = message
  const heartbeat = { serverId: alice, healthy, uptimeScore: uptime_score, timestamp: nanosOf(timestamp) }
  if (kind === "heartbeat") return heartbeat
  return {
    ...heartbeat,
    capabilities: message.capabilities ?? [],
    maxStorage: message.max_storage ?? "",
    retentionPolicy: message.retention_policy ?? "",
    region: message.region || "default",
    regions: message.regions ?? [],
    port: message.port ?? 0
  }
}

const isBigint = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}n` : value)
const asText = (message: Announcement | Heartbeat) => JSON.stringify(Object.entries(message).sort(), isBigint)

/** Rulings that refuse what readers in the field take. */
const isRuling = (breach: Oracle.Breach) => breach !== "no JSON object" && breach !== "kind"

/** What one message comes to: that both agree, the ruling by which only Go takes it, or what nothing explains. */
const compare = (bytes: Uint8Array, kind: Kind, go: GoVerdict): "accept" | "reject" | Oracle.Breach | Error => {
  const decoded = decode(bytes, kind)
  const isOurs = Result.isSuccess(decoded) && decoded.success.serverId === alice
  if (go.verdict === "reject") {
    return isOurs ? new Error(`only this server takes it; Go: ${go.detail}`) : "reject"
  }
  if (!isOurs) {
    const breach = Oracle.read(bytes, kind)
    if (typeof breach === "string" && isRuling(breach)) return breach
    return new Error(`only Go takes it: ${Result.isFailure(decoded) ? decoded.failure.message : "forged"}`)
  }
  if (go.message === undefined) return new Error(`Go takes it and cannot write it: ${go.detail}`)
  const [ours, theirs] = [asText(decoded.success), asText(inOurWords(go.message, kind))]
  return ours === theirs ? "accept" : new Error(`it is read as ${ours}, and by Go as ${theirs}`)
}

/** Messages that the Go peer is asked at a time. */
const batch = 20_000

export const differences = async (binary: string, count: number, seed: number): Promise<Report> => {
  const choose = random(seed)
  const outcomes = new Map<string, number>()
  const unexplained: Array<string> = []
  for (let done = 0; done < count && unexplained.length === 0; done += batch) {
    const inputs = Array.from({ length: Math.min(batch, count - done) }, () => {
      const kind = choose.of(["announcement", "heartbeat"] as const)
      return { kind, bytes: mutated(choose, kind) }
    })
    const questions = inputs.map(({ bytes, kind }) => {
      const topic = kind === "announcement" ? announceTopic : heartbeatTopic
      return JSON.stringify({ topic, from: alice, data: Buffer.from(bytes).toString("base64") })
    })
    const answers = (await ask(binary, ["verdict"], questions.join("\n"))) as ReadonlyArray<GoVerdict>
    if (answers.length !== inputs.length) throw new Error(`${answers.length} answers to ${inputs.length} questions`)
    for (const [index, { bytes, kind }] of inputs.entries()) {
      const outcome = compare(bytes, kind, answers[index] as GoVerdict)
      if (!(outcome instanceof Error)) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      else if (unexplained.length < 20) {
        unexplained.push(
          `${kind} ${done + index}: ${outcome.message}: ${JSON.stringify(Buffer.from(bytes).toString())}`
        )
      }
    }
  }
  const { accept = 0, reject = 0, ...onlyGo } = Object.fromEntries([...outcomes].sort())
  return { inputs: count, bothAccept: accept, bothReject: reject, onlyGo, unexplained }
}
