/** Valid messages, and what becomes of them when bytes, keys and values are changed at random. */
import { bases } from "multiformats/basics"
import { CID } from "multiformats/cid"
import type { Random } from "../registry/Random.ts"

const alice = "12D3KooWK99VoVxNE7XzyBwXEzW7xhK7Gpv85r9F3V3fyKSUKPH5"
const aliceAsCid = "bafzaajaiaejcbcui4poxicprsx6vfwznhs5f24wkm4e36hmucin7g5eiag2a6324"
/** Alice as a CID in every base that Go reads. */
export const spellings: ReadonlySet<string> = new Set(
  Object.values(bases)
    .filter(({ name }) => !["identity", "base2", "base8", "base10", "base32z"].includes(name))
    .map((base) => base.encode(CID.parse(aliceAsCid).bytes))
)
/** And in those that it does not read, as a CID of another kind, and under the hash of a key. */
const aliceOtherwise = [
  ...spellings,
  ...[bases.base2, bases.base8, bases.base10, bases.base32z].map((base) => base.encode(CID.parse(aliceAsCid).bytes)),
  CID.createV1(0x70, CID.parse(aliceAsCid).multihash).toString(),
  "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n"
]
const bob = "12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq"

/** Keys and the literals of their values, as a message in the field has them. */
type Members = Array<[key: string, literal: string]>

const valid = (choose: Random, kind: "announcement" | "heartbeat"): Members => {
  const own: Members = [
    ["server_id", JSON.stringify(choose.of([alice, alice, bob, aliceAsCid, choose.of(aliceOtherwise)]))],
    ["healthy", choose.of(["true", "false"])],
    ["uptime_score", choose.of(["0", "1", "0.9965277777777778", "1e-7"])],
    ["timestamp", JSON.stringify(choose.of(times))]
  ]
  if (kind === "heartbeat") return own
  return [
    ...own,
    ["capabilities", choose.of(['["store-and-forward","mailbox","document-sync"]', "[]", "null"])],
    ["max_storage", choose.of(['"10GB"', '"512MB"', '""'])],
    ["retention_policy", '"720h0m0s"'],
    ["region", choose.of(['"eu-west"', '""', '"b\\u00fcro \\ud83d\\ude80"'])],
    ["regions", choose.of(['["eu-west"]', "null"])],
    ["port", choose.of(["55223", "0", "65535"])]
  ]
}

const times = [
  "2026-11-30T21:14:03.120934871+02:00",
  "2026-11-30T19:14:03Z",
  "2026-11-30T19:16:03.000000001Z",
  "2026-11-30T17:14:03Z",
  "2026-11-30T13:44:03.1-05:30",
  "2200-01-01T00:00:00Z",
  "2024-02-29T00:00:00-00:00"
]

const hostile = [
  "null",
  "true",
  "1",
  "-0",
  "1e309",
  "-1",
  "1.0000001",
  "5e-1",
  "1E0",
  "1e-400",
  "0.1e1",
  "-0.0",
  "5e4",
  "9223372036854775808",
  "55223.0",
  "65536",
  "01",
  "1.",
  "[]",
  "{}",
  "[null]",
  '[""]',
  '[["x"]]',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\u202e\u2028"',
  '"\\x"',
  '"a\u0001"',
  '"\u007f"',
  '"__proto__"',
  "NaN",
  '"2026-02-30T00:00:00Z"',
  '"2026-11-30T24:00:00Z"',
  '"2026-11-30T19:14:60Z"',
  '"2026-11-30T19:14:03,5Z"',
  '"2026-11-30T9:14:03Z"',
  '"2026-11-30T19:14:03.Z"',
  '"2026-11-30T19:14:03-23:59"',
  '"2026-11-30T19:14:03+14:60"',
  '"2026-11-30T19:14:03\\u005a"',
  '"0000-01-01T00:00:00Z"',
  '"9999-12-31T23:59:59.999999999-23:59"',
  '"2026-11-30t19:14:03z"',
  '"1790000000"',
  '"2026-11-30T19:14:03.1234567890Z"',
  '"2026-11-30T19:14:03+24:00"'
]

/** A size near one of the bounds, on either side. */
const near = (choose: Random, bound: number) => bound - 2 + choose.below(5)

const grown = (choose: Random): string => {
  switch (choose.below(6)) {
    case 0:
      return JSON.stringify(choose.of(["x", "é", "🚀", "\u0007"]).repeat(near(choose, 256)))
    case 1:
      return `"${choose.of(["\\u0041", "\\ud83d\\ude80", "\\ud83d", "\\\\"]).repeat(near(choose, 256))}"`
    case 2:
      return JSON.stringify(Array.from({ length: near(choose, 64) }, () => choose.of(["x", 1, null])))
    case 3: {
      const depth = near(choose, 7)
      return `${"[".repeat(depth)}${"]".repeat(depth)}`
    }
    case 4: {
      const depth = near(choose, 7)
      return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
    }
    default:
      return choose.of(["[", '{"a":']).repeat(choose.below(4_000))
  }
}

const mutateMembers = (members: Members, choose: Random): void => {
  const member = choose.of(members)
  const another = choose.of(members)
  switch (choose.below(10)) {
    case 0:
      member[1] = choose.of(hostile)
      return
    case 1:
      member[1] = grown(choose)
      return
    case 2:
      members.splice(members.indexOf(member), 1)
      return
    case 3:
      members.push([member[0], another[1]])
      return
    case 4:
      member[0] = choose.of([member[0].toUpperCase(), member[0].replace("s", "ſ"), `${member[0]} `])
      return
    case 5:
      member[0] = member[0].replace(/./, (first) => `\\u00${first.charCodeAt(0).toString(16)}`)
      return
    case 6:
      members.push([
        choose.of(["future", "__proto__", "constructor", "", "Future"]),
        choose.of([grown(choose), ...hostile])
      ])
      return
    case 7:
      member[1] = another[1]
      return
    case 8:
      // The same text, spelt otherwise.
      member[1] = member[1].replace(/[-a-z0-9]/i, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)
      return
    default:
      // Many keys, up to the size of a payload.
      for (let count = choose.below(1_200); count > 0; count--)
        members.push([`k${count}`, choose.of(["1", "{}", '""'])])
  }
}

const mutateBytes = (bytes: Uint8Array, choose: Random): Uint8Array => {
  const at = choose.below(bytes.length + 1)
  const length = 1 + choose.below(8)
  switch (choose.below(6)) {
    case 0:
      return bytes.map((byte, index) => (index === at ? byte ^ (1 << choose.below(8)) : byte))
    case 1:
      return Uint8Array.of(...bytes.subarray(0, at), choose.below(256), ...bytes.subarray(at))
    case 2:
      return Uint8Array.of(...bytes.subarray(0, at), ...bytes.subarray(at + length))
    case 3:
      return Uint8Array.of(...bytes.subarray(0, at + length), ...bytes.subarray(at))
    case 4:
      return bytes.subarray(0, at)
    default: {
      const padded = new Uint8Array(Math.max(bytes.length, near(choose, 8_192))).fill(0x20)
      padded.set(bytes)
      return padded
    }
  }
}

const written = (members: Members, choose: Random): string => {
  const space = () => (choose.chance(0.02) ? choose.of([" ", "\n\t", "\r", "\u00a0"]) : "")
  const body = members.map(([key, literal]) => `${space()}"${key}"${space()}:${space()}${literal}${space()}`).join(",")
  return `${space()}{${body}}${space()}`
}

const encoder = new TextEncoder()

/** A message of this kind after up to three changes. */
export const mutated = (choose: Random, kind: "announcement" | "heartbeat"): Uint8Array => {
  const members = valid(choose, kind)
  for (let count = choose.below(3); count > 0 && members.length > 0; count--) mutateMembers(members, choose)
  const bytes = encoder.encode(written(choose.chance(0.2) ? choose.shuffled(members) : members, choose))
  return bytes.length > 0 && bytes.length <= 9_000 && choose.chance(0.3) ? mutateBytes(bytes, choose) : bytes
}
