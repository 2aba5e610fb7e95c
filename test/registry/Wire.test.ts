import { readFile } from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Announcement } from "../../src/registry/Announcement.ts"
import {
  decodeAnnouncement,
  decodeHeartbeat,
  encodeAnnouncement,
  encodeHeartbeat,
  ownBounds
} from "../../src/registry/Wire.ts"
import * as Timestamp from "../../src/time/Timestamp.ts"
import { spellings } from "../fuzz/Mutation.ts"
import { alice, aliceAsCid, announcement, bob, heartbeat } from "./Sample.ts"

const golden = (name: string) => readFile(new URL(`../fixtures/wire/${name}.json`, import.meta.url))
const bytes = (text: string) => new TextEncoder().encode(text)
const read = (text: string) => decodeAnnouncement(bytes(text))
const wellMade = JSON.parse(new TextDecoder().decode(encodeAnnouncement(announcement()))) as Record<string, unknown>

/** A well-made announcement with some keys changed; `undefined` takes a key out. */
const made = (changes: Record<string, unknown>) => JSON.stringify({ ...wellMade, ...changes })

/** The same with a key's value written as it is, for what JSON.stringify would not write. */
const raw = (key: string, literal: string) => made({ [key]: "@@" }).replace('"@@"', literal)

const refusal = (text: string) => {
  const refused = Result.getOrThrow(Result.flip(read(text)))
  assert.isAtMost(refused.detail.length, 200)
  assert.match(refused.detail, /^[\x20-\x7e]*$/)
  return [refused.reason, refused.verdict, refused.detail]
}
const malformed = (detail: string) => ["malformed", "reject", detail]
const oversize = (detail: string) => ["oversize", "reject", detail]
const accepted = (text: string): Announcement => Result.getOrThrow(read(text))

const goAnnouncement: Announcement = {
  serverId: alice,
  capabilities: ["store-and-forward", "mailbox", "document-sync"],
  maxStorage: "10GB",
  retentionPolicy: "720h0m0s",
  region: "eu-west",
  regions: ["eu-west"],
  uptimeScore: 287 / 288,
  healthy: true,
  timestamp: 1_796_066_043_120_934_871n,
  port: 55_223
}

describe("a message from a server written in Go", () => {
  it("S6 J01 J04 J08 is read whole: nine fraction digits, an offset, a duration as Go prints it", async () => {
    assert.deepStrictEqual(decodeAnnouncement(await golden("go-announcement")), Result.succeed(goAnnouncement))
  })

  it("J03 R3 has empty lists where Go's are nil, and the default region where Go leaves it out", async () => {
    assert.deepStrictEqual(
      decodeAnnouncement(await golden("go-announcement-null-lists")),
      Result.succeed({
        ...goAnnouncement,
        capabilities: [],
        maxStorage: "512MB",
        region: "default",
        regions: [],
        uptimeScore: 0,
        healthy: false,
        timestamp: 1_796_066_043_000_000_000n,
        port: 0
      })
    )
  })

  it("J05 R3 is healthy where an older server does not say so", async () => {
    assert.deepStrictEqual(
      decodeAnnouncement(await golden("go-announcement-older")),
      Result.succeed({
        ...goAnnouncement,
        maxStorage: "2GB",
        retentionPolicy: "1h30m0s",
        region: "default",
        regions: ["default"],
        uptimeScore: 1,
        timestamp: 1_796_066_043_100_000_000n
      })
    )
  })

  it("R3 is read through Go's escapes, exponents and empty strings", async () => {
    assert.deepStrictEqual(
      decodeAnnouncement(await golden("go-announcement-escaped")),
      Result.succeed({
        ...goAnnouncement,
        capabilities: [""],
        region: "<eu> & \u2028 büro 🚀",
        regions: [],
        uptimeScore: 1e-7
      })
    )
  })

  it("S7 J08 is read as a heartbeat", async () => {
    assert.deepStrictEqual(
      decodeHeartbeat(await golden("go-heartbeat")),
      Result.succeed({
        serverId: alice,
        healthy: true,
        uptimeScore: 287 / 288,
        timestamp: 1_796_066_043_120_934_871n
      })
    )
    assert.deepStrictEqual(
      decodeHeartbeat(await golden("go-heartbeat-unhealthy")),
      Result.succeed({ serverId: alice, healthy: false, uptimeScore: 0, timestamp: 1_796_066_043_000_005_000n })
    )
  })
})

describe("a message of ours", () => {
  it("S6 J04 J08 is these bytes: an announcement", async () => {
    const written = encodeAnnouncement(goAnnouncement)
    assert.strictEqual(new TextDecoder().decode(written), (await golden("ours-announcement")).toString())
    assert.deepStrictEqual(decodeAnnouncement(written), Result.succeed(goAnnouncement))
  })

  it("S7 J08 is these bytes: a heartbeat, and nothing more", async () => {
    const said = { serverId: alice, healthy: false, uptimeScore: 0.5, timestamp: 1_796_066_043_000_000_000n }
    const written = encodeHeartbeat({ ...goAnnouncement, ...said })
    assert.strictEqual(new TextDecoder().decode(written), (await golden("ours-heartbeat")).toString())
    assert.deepStrictEqual(decodeHeartbeat(written), Result.succeed(said))
  })

  it("I13 R4 is held to the bounds of others' before it is published", () => {
    assert.strictEqual(ownBounds(announcement()), undefined)
    assert.deepStrictEqual(
      [
        ownBounds(announcement({ region: "x".repeat(257) })),
        ownBounds(announcement({ regions: Array.from({ length: 65 }, String) })),
        ownBounds(announcement({ regions: Array.from({ length: 5_000 }, (_, index) => `region-${index}`) })),
        ownBounds(announcement({ region: "a\nb" })),
        ownBounds(announcement({ uptimeScore: Number.NaN }))
      ].map((problem) => [problem?.reason, problem?.detail]),
      [
        ["oversize", "region: a string of more than 256 characters"],
        ["oversize", "regions: a list of more than 64 items"],
        ["oversize", "a payload of 69183 bytes, at most 8192 are read"],
        ["malformed", 'region: a control character or half a surrogate pair in "a\\u000ab"'],
        ["malformed", "uptime_score: expected a number from 0 to 1, found null"]
      ]
    )
  })
})

describe("a server_id", () => {
  it("R1 names the same server in either form", () => {
    assert.strictEqual(accepted(made({ server_id: aliceAsCid })).serverId, alice)
  })

  it("R1 names the same server in every base that Go reads a CID in, in its one spelling", () => {
    assert.strictEqual(spellings.size, 19)
    for (const text of spellings) assert.strictEqual(accepted(made({ server_id: text })).serverId, alice, text)
    for (const text of [`b${aliceAsCid.slice(1).toUpperCase()}`, `${aliceAsCid}a`, aliceAsCid.slice(1)]) {
      assert.isTrue(Result.isFailure(read(made({ server_id: text }))), text)
    }
  })

  it("R4 is a peer ID", () => {
    const notOne = "not a peer ID (expected base58, 12D3KooW…, or CIDv1, bafz…)"
    for (const id of ["constructor", "__proto__", alice.slice(0, -1), `${alice}a`, ` ${alice}`, "QmQm", "12D3KooW"]) {
      const refused = Result.getOrThrow(Result.flip(read(made({ server_id: id }))))
      assert.deepStrictEqual([refused.reason, refused.detail], ["malformed", `server_id: ${notOne}`])
    }
    assert.deepStrictEqual(
      refusal(made({ server_id: undefined })),
      malformed("server_id: a peer ID has 1 to 128 characters, this has 0")
    )
    assert.deepStrictEqual(refusal(made({ server_id: 7 })), malformed("server_id: expected a string, found 7"))
  })

  it("R1 is taken as it is only where it is the signer's own text", () => {
    const text = bytes(made({}))
    assert.deepStrictEqual(decodeAnnouncement(text, alice), read(made({})))
    assert.deepStrictEqual(decodeAnnouncement(text, bob), read(made({})))
  })
})

describe("a key that is missing", () => {
  it("J05 reads as nothing of its type; healthy as true", () => {
    assert.deepStrictEqual(accepted(`{"server_id":"${alice}"}`), {
      serverId: alice,
      capabilities: [],
      maxStorage: "",
      retentionPolicy: "",
      region: "default",
      regions: [],
      uptimeScore: 0,
      healthy: true,
      timestamp: Timestamp.zero,
      port: 0
    })
    assert.deepStrictEqual(
      Result.getOrThrow(decodeHeartbeat(bytes(`{"server_id":"${alice}"}`))),
      heartbeat({ uptimeScore: 0, timestamp: Timestamp.zero })
    )
  })

  it("R3 reads like an empty region", () => {
    assert.strictEqual(accepted(made({ region: "" })).region, "default")
  })
})

describe("a value of the wrong kind", () => {
  it("R3 J03 is null anywhere but in the two lists", () => {
    const keys = Object.keys(wellMade).filter((key) => key !== "regions" && key !== "capabilities")
    assert.deepStrictEqual(
      keys.map((key) => refusal(made({ [key]: null }))),
      [
        malformed("server_id: expected a string, found null"),
        malformed("max_storage: expected a string, found null"),
        malformed("retention_policy: expected a string, found null"),
        malformed("region: expected a string, found null"),
        malformed("uptime_score: expected a number from 0 to 1, found null"),
        malformed("healthy: expected true or false, found null"),
        malformed("timestamp: not an RFC 3339 time such as 2026-11-30T21:14:03.120934871+02:00: null"),
        malformed("port: expected a whole number from 0 to 65535, found null")
      ]
    )
    assert.deepStrictEqual(accepted(made({ regions: null, capabilities: null })).regions, [])
    assert.deepStrictEqual(refusal(made({ regions: [null] })), malformed("regions: expected a string, found null"))
  })

  it("I12 is refused with the field named", () => {
    assert.deepStrictEqual(
      [
        refusal(made({ healthy: "true" })),
        refusal(made({ healthy: 1 })),
        refusal(made({ region: { name: "eu" } })),
        refusal(made({ region: ["eu"] })),
        refusal(made({ regions: "eu" })),
        refusal(made({ regions: {} })),
        refusal(made({ capabilities: [["mailbox"]] })),
        refusal(made({ max_storage: 10 })),
        refusal(made({ timestamp: "2026-02-30T00:00:00Z" }))
      ],
      [
        malformed('healthy: expected true or false, found "true"'),
        malformed("healthy: expected true or false, found 1"),
        malformed("region: expected a string, found an object"),
        malformed("region: expected a string, found a list"),
        malformed('regions: expected a list of strings, found "eu"'),
        malformed("regions: expected a list of strings, found an object"),
        malformed("capabilities: expected a string, found a list"),
        malformed("max_storage: expected a string, found 10"),
        malformed('timestamp: a day that does not exist: "2026-02-30T00:00:00Z"')
      ]
    )
  })

  it("A07 is a score that is not a finite number from 0 to 1", () => {
    const expected = (found: string) => malformed(`uptime_score: expected a number from 0 to 1, found ${found}`)
    assert.deepStrictEqual(
      ["1e9", "1.0000001", "-1", "1e309", '"1"', "null", "true", "-1e-300"].map((score) =>
        refusal(raw("uptime_score", score))
      ),
      ["1e9", "1.0000001", "-1", "1e309", '"1"', "null", "true", "-1e-300"].map(expected)
    )
    assert.deepStrictEqual(
      ["-0", "0", "1", "1.0", "1e-400", "0.5e0"].map((score) => accepted(raw("uptime_score", score)).uptimeScore),
      [0, 0, 1, 1, 0, 0.5]
    )
  })

  it("I03 is a port that Go would not read into an integer, or that is none", () => {
    const expected = (found: string) => malformed(`port: expected a whole number from 0 to 65535, found ${found}`)
    const numbers = ["1e309", "55223.5", "55223.0", "5e4", "-1", "65536", "9".repeat(20)]
    assert.deepStrictEqual(
      [...numbers, '"55223"', "true", "[1]", "9".repeat(7_000)].map((port) => refusal(raw("port", port))),
      [...numbers, '"55223"', "true", "a list", "9".repeat(40)].map(expected)
    )
    assert.deepStrictEqual(
      ["0", "-0", "65535", " 55223 "].map((port) => accepted(raw("port", port)).port),
      [0, 0, 65_535, 55_223]
    )
  })

  it("I03 B01 is a timestamp that is a number, in whatever unit", () => {
    const expected = "timestamp: not an RFC 3339 time such as 2026-11-30T21:14:03.120934871+02:00"
    assert.deepStrictEqual(
      ["1790000000", "1790000000000", "1790000000000000000", '"1790000000"', '"1"', '"10000-01-01T00:00:00Z"'].map(
        (timestamp) => refusal(raw("timestamp", timestamp))
      ),
      ["1790000000", "1790000000000", "1790000000000000000", '"1790000000"', '"1"', '"10000-01-01T00:00:00Z"'].map(
        (found) => malformed(`${expected}: ${found}`)
      )
    )
  })

  it("I05 R3 is a timestamp spelt with escapes, which Go does not read", () => {
    assert.deepStrictEqual(
      refusal(raw("timestamp", '"2026-11-30T19:14:03\\u005a"')),
      malformed(
        'timestamp: not an RFC 3339 time such as 2026-11-30T21:14:03.120934871+02:00: "2026-11-30T19:14:03\\u005a"'
      )
    )
  })
})

describe("human text", () => {
  it("J04 R3 is shown as given and never refused for its wording", () => {
    for (const text of ["720h0m0s", "0s", "2562047h47m16.854775807s", "10 GB", "10GiB", "0MB", "for ever", ""]) {
      assert.strictEqual(accepted(made({ retention_policy: text })).retentionPolicy, text)
      assert.strictEqual(accepted(made({ max_storage: text })).maxStorage, text)
    }
  })

  it("I08 R5 holds no control character and no half of a surrogate pair", () => {
    const hostile = ["\\u0000", "\\u0007", "\\u001b[2J", "\\n", "\\u007f", "\\u009b", "\\ud800", "a\\ud83d", "\\udc00x"]
    for (const text of hostile) {
      for (const key of ["region", "max_storage", "retention_policy"]) {
        const refused = Result.getOrThrow(Result.flip(read(raw(key, `"${text}"`))))
        assert.strictEqual(refused.reason, "malformed")
        assert.match(refused.detail, new RegExp(`^${key}: a control character or half a surrogate pair in `))
      }
      assert.strictEqual(Result.getOrThrow(Result.flip(read(raw("regions", `["ok","${text}"]`)))).reason, "malformed")
    }
    assert.strictEqual(accepted(raw("region", '"\\ud83d\\ude80 \u202e"')).region, "🚀 \u202e")
  })

  it("R5 refuses a raw control character as every JSON parser does", () => {
    assert.deepStrictEqual(refusal(raw("region", '"a\u0001"')), malformed("not one JSON object"))
  })
})

describe("a payload", () => {
  it("R4 I02 has at most 8 KiB, counted in bytes before anything is read", () => {
    const padded = (size: number) => `{"server_id":"${alice}"}`.padEnd(size)
    assert.strictEqual(Result.isSuccess(read(padded(8_192))), true)
    assert.deepStrictEqual(refusal(padded(8_193)), oversize("a payload of 8193 bytes, at most 8192 are read"))
    assert.deepStrictEqual(
      refusal(made({ region: "é".repeat(4_096) })),
      oversize(`a payload of ${bytes(made({ region: "é".repeat(4_096) })).length} bytes, at most 8192 are read`)
    )
    assert.deepStrictEqual(refusal("[".repeat(1e6)), oversize("a payload of 1000000 bytes, at most 8192 are read"))
  })

  it("R3 is UTF-8, without a byte order mark", () => {
    const broken = bytes(made({ region: "@" })).map((byte) => (byte === 0x40 ? 0xff : byte))
    assert.deepStrictEqual(
      Result.mapError(decodeAnnouncement(broken), ({ detail }) => detail),
      Result.fail("not UTF-8")
    )
    assert.deepStrictEqual(refusal(`\ufeff${made({})}`), malformed("not one JSON object"))
  })

  it("R3 is one JSON object", () => {
    const texts = [
      "",
      " ",
      "null",
      "[]",
      "7",
      '"x"',
      "{",
      "}",
      "{}}",
      `${made({})}{}`,
      `${made({})},`,
      "{'a':1}",
      "{a:1}"
    ]
    for (const text of [
      ...texts,
      '{"a":01}',
      '{"a":NaN}',
      '{"a":1,}',
      '{"a"}',
      "//\n{}",
      "{]",
      '{"a":[}}',
      '{"a":[1,]}',
      '{"a" 1}',
      '{"a":1 "b":2}',
      '{"a":tru}',
      '{"a":-}',
      '{"a":1.}',
      '{"a":1e}',
      '{"a":+1}',
      '{"a":.5}',
      '{"a":"\\u12g4"}',
      '{"a":"',
      '{"a":"\\',
      '{"a":"\\x"}',
      '{"\\x":1}'
    ]) {
      const refused = Result.getOrThrow(Result.flip(read(text)))
      assert.deepStrictEqual([refused.reason, refused.detail.startsWith("not one JSON object")], ["malformed", true])
    }
    assert.strictEqual(accepted(` \t\r\n${made({})}\n`).serverId, alice)
  })

  it("R3 may say more than is known, within the bounds", () => {
    const more = { version: 2, extra: { deep: [1, { er: null }] }, "": 0, Region2: "x" }
    assert.deepStrictEqual(accepted(made(more)), accepted(made({})))
    assert.deepStrictEqual(
      Result.getOrThrow(decodeHeartbeat(bytes(`{"server_id":"${alice}","port":"any","Region":1}`))),
      heartbeat({ uptimeScore: 0, timestamp: Timestamp.zero })
    )
  })

  it("I04 takes __proto__ and constructor for keys like any other", () => {
    const poisoned = raw("x", "0").replace('"x":0', '"__proto__":{"healthy":false},"constructor":{"prototype":{}}')
    const { healthy: _, ...rest } = wellMade
    const without = JSON.stringify(rest).replace("{", '{"__proto__":{"healthy":false,"region":"evil"},')
    assert.deepStrictEqual(accepted(poisoned), accepted(made({})))
    assert.deepStrictEqual(accepted(without), accepted(made({})))
    assert.strictEqual(Object.getPrototypeOf(accepted(without)), Object.prototype)
    assert.strictEqual(accepted(made({ region: "__proto__" })).region, "__proto__")
    assert.deepStrictEqual(refusal('{"__proto__":1,"\\u005f_proto__":2}'), malformed('"__proto__": given twice'))
  })
})

describe("the bounds", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

  it("R4 I01 allow nesting of 8, the message itself counted, anywhere in it", () => {
    assert.strictEqual(accepted(raw("future", nested(7))).serverId, alice)
    const tooDeep = (field: string) => oversize(`${field}: nested more than 8 deep`)
    assert.deepStrictEqual(
      [
        refusal(raw("future", nested(8))),
        refusal(raw("region", nested(3_000))),
        refusal(raw("capabilities", nested(3_000))),
        refusal(raw("future", '{"a":'.repeat(1_000))),
        refusal(made({}).replace("{", `{"${"x".repeat(80)}":${nested(20)},`))
      ],
      [
        tooDeep('"future"'),
        tooDeep("region"),
        tooDeep("capabilities"),
        tooDeep('"future"'),
        tooDeep(`"${"x".repeat(40)}..."`)
      ]
    )
    assert.deepStrictEqual(refusal("[".repeat(8_000)), malformed("not one JSON object"))
    assert.deepStrictEqual(refusal('{"":'.repeat(2_000)), oversize("nested more than 8 deep"))
  })

  it("R4 I12 allow strings of 256 characters, code points counted and escapes resolved", () => {
    const tooLong = oversize("region: a string of more than 256 characters")
    const lengthOf = (literal: string) => accepted(raw("region", literal)).region.length
    assert.strictEqual(lengthOf(`"${"x".repeat(256)}"`), 256)
    assert.strictEqual(lengthOf(`"${"🚀".repeat(256)}"`), 512)
    assert.strictEqual(lengthOf(`"${"\\ud83d\\ude80".repeat(256)}"`), 512)
    assert.strictEqual(lengthOf(`"${"\\u0041\\/".repeat(128)}"`), 256)
    assert.deepStrictEqual(
      [
        refusal(raw("region", `"${"x".repeat(257)}"`)),
        refusal(raw("region", `"${"🚀".repeat(257)}"`)),
        refusal(raw("region", `"${"\\u0041".repeat(257)}"`)),
        refusal(raw("region", `"${"\\ud83d".repeat(257)}"`)),
        refusal(raw("region", `"${"\\\\".repeat(257)}"`))
      ],
      [tooLong, tooLong, tooLong, tooLong, tooLong]
    )
    assert.deepStrictEqual(
      refusal(raw("future", `{"a":["${"x".repeat(257)}"]}`)),
      oversize('"future": a string of more than 256 characters')
    )
    assert.deepStrictEqual(
      refusal(`{"a":1,"${"k".repeat(257)}":1}`),
      oversize('"a": a string of more than 256 characters')
    )
  })

  it("R4 I12 allow lists of 64 items, anywhere", () => {
    const list = (length: number) => JSON.stringify(Array.from({ length }, () => "x"))
    assert.strictEqual(accepted(raw("regions", list(64))).regions.length, 64)
    assert.deepStrictEqual(
      [
        refusal(raw("regions", list(65))),
        refusal(raw("capabilities", list(1_000))),
        refusal(raw("future", `{"a":[[],${list(65)}]}`))
      ],
      ["regions", "capabilities", '"future"'].map((field) => oversize(`${field}: a list of more than 64 items`))
    )
    // Two lists of 64 are not one of 65, and commas in strings and objects are none in lists.
    assert.strictEqual(accepted(raw("future", `[${list(64)},${list(64)},",,,",{"a":1,"b":2}]`)).serverId, alice)
  })
})

describe("a message that readers in other languages would read otherwise", () => {
  it("I05 R3 has a key twice, on any level, however it is spelt", () => {
    assert.deepStrictEqual(
      [
        refusal(`{"server_id":"${alice}","server_id":"${bob}"}`),
        refusal('{"healthy":true,"healthy":false}'),
        refusal('{"healthy":true,"\\u0068ealthy":false}'),
        refusal('{"a":1,"b":2,"\\u0061":3}'),
        refusal('{"future":{"a":1,"a":1}}'),
        refusal('{"future":[{"b":{},"b":[]}]}')
      ],
      [
        malformed("server_id: given twice"),
        malformed("healthy: given twice"),
        malformed("healthy: given twice"),
        malformed('"a": given twice'),
        malformed('"future": "a": given twice'),
        malformed('"future": "b": given twice')
      ]
    )
    assert.strictEqual(accepted(raw("future", '[{"a":1},{"a":1},{"a":{"a":1}}]')).serverId, alice)
  })

  it("I05 R3 has a known key in another case, as Go folds it", () => {
    const another = (key: string, expected: string) =>
      malformed(`${key}: a known key in another case (expected ${expected})`)
    assert.deepStrictEqual(
      [
        refusal('{"healthy":false,"Healthy":true}'),
        refusal(`{"SERVER_ID":"${alice}"}`),
        refusal('{"Port":1}'),
        refusal('{"time\u017ftamp":1}'),
        refusal('{"\\u017ferver_id":1}')
      ],
      [
        another('"Healthy"', "healthy"),
        another('"SERVER_ID"', "server_id"),
        another('"Port"', "port"),
        another('"time\\u017ftamp"', "timestamp"),
        another('"\\u017ferver_id"', "server_id")
      ]
    )
    assert.strictEqual(accepted(raw("future", '{"Healthy":1,"healthy":2}')).healthy, true)
  })
})
