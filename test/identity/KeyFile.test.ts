import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as KeyFile from "../../src/identity/KeyFile.ts"
import { damaged, forms, privateKey, protobuf, seed } from "./Keys.ts"

const found = (content: Uint8Array) => Result.merge(KeyFile.read(content))

describe("a key file", () => {
  for (const [form, content] of forms) {
    it(`H06 reads the seed from ${form}`, () => assert.deepStrictEqual(found(content), new Uint8Array(seed)))
  }

  for (const [damage, content, problem] of damaged) {
    it(`H01 H06 refuses ${damage}`, () => assert.strictEqual(found(content), problem))
  }

  it("H06 takes raw bytes whole, also where they look like white space", () => {
    const blank = Buffer.from(" \t\r\n".repeat(8), "latin1")
    assert.deepStrictEqual(found(blank), new Uint8Array(blank))
    for (const ending of ["\n", "\r\n"]) {
      const raw = Buffer.concat([seed.subarray(0, 32 - ending.length), Buffer.from(ending)])
      assert.deepStrictEqual(found(raw), new Uint8Array(raw))
      assert.deepStrictEqual(found(Buffer.from(KeyFile.privateKeyOf(raw))), new Uint8Array(raw))
    }
  })

  it("reads 64 bytes that are all hex digits as the hex form", () => {
    const digits = "0123456789abcdef".repeat(4)
    assert.deepStrictEqual(found(Buffer.from(digits)), new Uint8Array(Buffer.from(digits, "hex")))
  })

  it("derives the private key that libp2p keeps", () => {
    assert.deepStrictEqual(Buffer.from(KeyFile.privateKeyOf(seed)), privateKey)
    assert.deepStrictEqual(Buffer.from(KeyFile.publicKeyOf(seed)), protobuf.subarray(36))
  })

  it("H02 takes 64 hex digits for a seed in the environment, and nothing else", () => {
    const hex = seed.toString("hex")
    assert.deepStrictEqual(Result.merge(KeyFile.fromHex(hex)), new Uint8Array(seed))
    for (const text of [hex.slice(1), hex.slice(2), `0x${hex}`, ` ${hex}`, `${hex}\n`, `${hex.slice(1)}g`, ""]) {
      assert.strictEqual(Result.merge(KeyFile.fromHex(text)), `${text.length} characters that are not 64 hex digits`)
    }
  })
})
