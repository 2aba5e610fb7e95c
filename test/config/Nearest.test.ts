import { assert, describe, it } from "@effect/vitest"
import { nearestPath } from "../../src/config/ConfigurationProblems.ts"
import { paths } from "../../src/config/Keys.ts"
import { editDistance, nearest } from "../../src/config/Nearest.ts"

describe("the edit distance", () => {
  it("counts insertions, deletions and replacements", () => {
    const pairs = [
      ["", "", 0],
      ["abc", "", 3],
      ["", "abc", 3],
      ["kitten", "sitting", 3],
      ["prot", "port", 2],
      ["same", "same", 0]
    ] as const
    assert.deepStrictEqual(
      pairs.map(([from, to]) => editDistance(from, to)),
      pairs.map(([, , distance]) => distance)
    )
  })
})

describe("the nearest name", () => {
  it("L02 forgives case, dashes and a few letters", () => {
    const known = ["health_check_min", "service_announcement_min", "port"]
    const asked = ["helth_check_min", "healthCheckMin", "health-check-min", "health_check", "prot", "Port"]
    assert.deepStrictEqual(
      asked.map((name) => nearest(name, known)),
      ["health_check_min", "health_check_min", "health_check_min", "health_check_min", "port", "port"]
    )
  })

  it("is none where nothing is near, and costs nothing for a name without end", () => {
    assert.isUndefined(nearest("colour", ["port", "health_check_min"]))
    assert.isUndefined(nearest("port".repeat(1e6), ["port"]))
  })
})

describe("the nearest path", () => {
  it("L02 is the same name in its own section first, then a near one there, then one anywhere", () => {
    const asked = [
      "server.data_directory",
      "region",
      "server.regoin",
      "intervals.helthCheckMin",
      "intervals.health_check",
      "ops.shutdown_timout",
      "server.colour"
    ]
    assert.deepStrictEqual(
      asked.map((path) => nearestPath(path, paths)),
      [
        "storage.data_directory",
        "server.region",
        "server.region",
        "intervals.health_check_min",
        "intervals.health_check_min",
        "ops.shutdown_timeout",
        undefined
      ]
    )
  })
})
