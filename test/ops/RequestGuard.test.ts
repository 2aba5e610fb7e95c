import { assert, describe, it } from "@effect/vitest"
import { hostOf, isOwnHost, isReading } from "../../src/ops/RequestGuard.ts"

describe("the request guard", () => {
  it.each([
    ["127.0.0.1:9090", "127.0.0.1"],
    ["[::1]:9090", "::1"],
    ["[::1]", "::1"],
    ["LocalHost", "localhost"],
    ["ops.example.", "ops.example"],
    ["", undefined],
    ["a b", undefined],
    ["user@127.0.0.1", undefined],
    ["127.0.0.1:9090:1", undefined],
    ["evil.example/127.0.0.1", undefined],
    ["[::1]evil.example", undefined]
  ])("reads the host of %s as %s", (header, host) => assert.strictEqual(hostOf(header), host))

  it.each([
    ["127.0.0.1:9090", true],
    ["10.1.2.3", true],
    ["[fe80::1]:9090", true],
    ["localhost:1", true],
    ["Ops.Example:9090", true],
    ["evil.example", false],
    ["127.0.0.1.evil.example", false],
    ["localhost.evil.example", false],
    ["[evil.example]", false],
    ["127.1", false],
    ["", false]
  ])("DNS rebinding: a request for %s is this server's: %s", (header, own) =>
    assert.strictEqual(isOwnHost(header, ["ops.example"]), own)
  )

  it("lets reading methods in and nothing else", () =>
    assert.deepStrictEqual(["GET", "HEAD", "POST", "OPTIONS", "get", ""].filter(isReading), ["GET", "HEAD"]))
})
