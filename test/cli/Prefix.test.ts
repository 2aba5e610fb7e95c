import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { resolve } from "../../src/cli/Prefix.ts"
import { berlin, lisbon } from "./Sample.ts"

const known = [lisbon, berlin, lisbon]
const problem = (text: string, candidates = known) =>
  Result.match(resolve(text, candidates), { onFailure: ({ message }) => message, onSuccess: (id) => `found ${id}` })

describe("the beginning of a peer ID", () => {
  it("means the one server that begins with it, with or without what all begin with", () => {
    assert.deepStrictEqual(resolve("12D3KooWL", known), Result.succeed(lisbon))
    assert.deepStrictEqual(resolve("Ber", known), Result.succeed(berlin))
  })

  it("that two servers begin with is refused with both", () =>
    assert.strictEqual(problem("12D3"), `12D3 could be any of 2 servers:\n  ${berlin}\n  ${lisbon}`))

  it("that a crowd begins with is refused with ten of them", () => {
    const crowd = Array.from({ length: 12 }, (_, number) => `12D3KooWA${String.fromCharCode(97 + number)}`)
    const told = problem("A", crowd).split("\n")
    assert.deepStrictEqual([told.length, told[0], told.at(-1)], [12, "A could be any of 12 servers:", "  and 2 more"])
  })

  it("that nobody begins with is refused", () =>
    assert.strictEqual(problem("zzz"), "no server is known here whose peer ID begins with zzz"))

  it("R5 in no letters of a peer ID is refused, and stays inert", () => {
    assert.strictEqual(problem("O0"), '"O0" is neither a peer ID (12D3KooW…) nor the beginning of one')
    assert.strictEqual(problem("\u001b[2J"), '"\\u{1b}[2J" is neither a peer ID (12D3KooW…) nor the beginning of one')
    assert.strictEqual(problem(""), '"" is neither a peer ID (12D3KooW…) nor the beginning of one')
  })
})
