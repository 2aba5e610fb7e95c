import { assert, beforeAll, describe, it } from "@effect/vitest"
import { isMissing, named } from "../process/Tools.ts"
import { seed } from "../registry/Random.ts"
import { differences } from "./Differences.ts"
import * as GoPeer from "./GoPeer.ts"

describe.skipIf(isMissing("go"))(named(`the same bytes read in two languages (SEED=${seed})`, "go"), () => {
  let binary: string
  beforeAll(async () => {
    binary = await GoPeer.build()
  }, GoPeer.buildTimeoutMillis)

  it("R1 R3 R4 R5 I05 mean the same, or a ruling says why they do not: 20 000 messages", async () => {
    const report = await differences(binary, 20_000, seed)
    assert.deepStrictEqual(report.unexplained, [], `SEED=${seed}`)
    assert.isAbove(report.bothAccept, 3_000)
    assert.isAbove(report.bothReject, 3_000)
    // Nearly all of what only Go takes is a key twice or in another case, too many bytes or characters, or no UTF-8.
    for (const ruling of ["R3 a key given twice", "R3 a known key in another case", "R4 bytes", "R4 characters"]) {
      assert.isAbove(report.onlyGo[ruling] ?? 0, 20, ruling)
    }
  })
})
