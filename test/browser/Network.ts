/** Networks to look at: what a server might know of its neighbours, made up and always the same. */
import type { PeerId } from "../../src/identity/PeerId.ts"
import type { Announcement } from "../../src/registry/Announcement.ts"
import type { Known } from "../../src/registry/Known.ts"
import { peerIdOf } from "../../src/testing/VirtualPeerId.ts"
import * as Doubles from "../ops/Doubles.ts"

const minute = 60_000
const hour = 60 * minute

/** Numbers from 0 to 1 that look like chance. */
const chance = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

/** A peer ID that looks like any other. */
export const peer = (number: number): PeerId => {
  const draw = chance(number * 7_919 + 1)
  const letters = Array.from({ length: 32 }, () => String.fromCharCode(33 + Math.floor(draw() * 94)))
  return peerIdOf(letters.join(""))
}

/** The last verdicts of a server that was heard at `heardMillis` and each five minutes before, oldest first. */
const verdicts = (marks: string, heardMillis: number): Known["recent"] =>
  [...marks].map((mark, index) => ({
    wallMillis: heardMillis - (marks.length - 1 - index) * 5 * minute,
    healthy: mark === "+"
  }))

export interface Sketch {
  readonly said?: Partial<Announcement>
  /** Milliseconds since it was last heard. */
  readonly age?: number
  /** `+` passed, `-` failed, oldest first. */
  readonly marks?: string
  readonly skewMillis?: number
  /** Its last verdict is a goodbye. */
  readonly stopped?: boolean
}

/** A server as known now. */
export const server = (id: PeerId, sketch: Sketch): Known => {
  const { age = 0, marks = "+".repeat(60), said = {}, skewMillis = 12, stopped = false } = sketch
  const heard = Math.floor(Date.now() - age)
  const recent = verdicts(marks, heard)
  const changedAt = recent.findLast(({ healthy }, index) => healthy !== recent[index - 1]?.healthy) ?? recent[0]
  const since = changedAt?.wallMillis ?? heard
  return Doubles.known(
    id,
    heard,
    { healthy: marks.endsWith("+"), ...said },
    {
      recent,
      skewMillis,
      saidGoodbye: stopped,
      beatMillis: 5 * minute,
      firstHeard: { wallMillis: heard - 30 * hour, steadyMillis: heard - 30 * hour },
      verdictSince: { wallMillis: since, steadyMillis: since },
      verdictChanges: marks.replaceAll(/(.)\1*/g, "x").length - 1
    }
  )
}

const regions = ["eu-west", "eu-north", "us-east", "ap-south"]
const all = ["store-and-forward", "mailbox", "document-sync"]

/** So many servers, most of them well: an eighth reports failing checks, a sixteenth is silent. */
export const servers = (count: number): ReadonlyArray<Known> => {
  const draw = chance(20_260_131)
  return Array.from({ length: count }, (_, index) => {
    const luck = Math.max(0, draw() - 0.3) / 8
    const isFailing = index % 8 === 5
    const isSilent = index % 16 === 11
    const past = Array.from({ length: isFailing ? 57 : 59 }, () => (draw() < luck ? "-" : "+")).join("")
    const marks = past + (isFailing ? "---" : "+")
    const failed = marks.split("-").length - 1
    const region = regions[Math.floor(draw() * regions.length)] ?? "default"
    return server(peer(index), {
      marks,
      age: isSilent ? (2.2 + draw() * 6) * hour : draw() * 4.8 * minute,
      skewMillis: Math.round((draw() - 0.5) * 240),
      said: {
        region,
        regions: [region],
        capabilities: draw() < 0.7 ? all : all.slice(0, 1 + Math.floor(draw() * 2)),
        uptimeScore: (288 - failed) / 288
      }
    })
  })
}

/** What a server knows that is not alone. */
export const world = (known: ReadonlyArray<Known>): Doubles.World => {
  const made = Doubles.world(known)
  made.connectivity = { ...made.connectivity, topicPeers: 1, aloneSinceMillis: undefined }
  return made
}

/** A day of self-checks, two stretches of it failed. */
const checks = () => {
  const now = Date.now()
  const draw = chance(5)
  return Array.from({ length: 288 }, (_, index) => {
    const ok = !((index >= 92 && index < 97) || index === 201)
    return {
      startedWallMillis: now - 40_000 - (287 - index) * 5 * minute,
      durationMillis: ok ? 1 + draw() * 6 : 10_000,
      ok,
      errorClass: ok ? undefined : "postgres: did not answer within 10 s"
    }
  })
}

/** A network on an ordinary day. */
export const ordinary = (): Doubles.World => {
  const known = [...servers(18)]
  known[2] = server(peer(2), { age: 2 * minute, skewMillis: 47_300, said: { region: "us-east", regions: ["us-east"] } })
  known[7] = server(peer(7), {
    age: 18 * minute,
    said: { region: "eu-north", regions: ["eu-north"], uptimeScore: 0.9931 }
  })
  const made = world(known)
  const now = Date.now()
  const near = [0, 1, 2, 3, 4, 6, 8].map(peer)
  made.connections = near.map((id, index) => ({
    peer: id,
    address: `/ip4/10.0.${index}.17/tcp/55223`,
    direction: index % 2 === 0 ? "outbound" : "inbound"
  }))
  made.topicPeers = { "/sf-network/services/announce": near, "/sf-network/services/heartbeat": near.slice(0, 6) }
  made.connectivity = {
    topicPeers: near.length,
    aloneSinceMillis: undefined,
    bootstrap: [
      {
        address: `/dns4/boot-1.example.net/tcp/55223/p2p/${peer(0)}`,
        peer: peer(0),
        isConnected: true,
        lastError: undefined,
        nextTryInMillis: undefined
      },
      {
        address: `/dns4/boot-2.example.net/tcp/55223/p2p/${peer(40)}`,
        peer: peer(40),
        isConnected: false,
        lastError: "connection refused",
        nextTryInMillis: 21_000
      }
    ]
  }
  made.clock = { state: "agrees", byMillis: 0, disagreeing: 1, heard: 15 }
  made.checks = checks()
  made.refusals.set(peer(50), {
    reason: "too-far-ahead",
    detail: "timestamp: 9 min 12 s ahead of this server",
    count: 31,
    lastWallMillis: now - 70_000
  })
  made.refusals.set(peer(51), {
    reason: "forged",
    detail: "server_id: names another server than the one that signed it",
    count: 2,
    lastWallMillis: now - 26 * minute
  })
  made.messages = [
    { topic: "/sf-network/services/announce", verdict: "reject", reason: "forged", count: 2 },
    { topic: "/sf-network/services/heartbeat", verdict: "ignore", reason: "too-far-ahead", count: 31 },
    { topic: "/sf-network/services/heartbeat", verdict: "ignore", reason: "own", count: 288 }
  ]
  return made
}
