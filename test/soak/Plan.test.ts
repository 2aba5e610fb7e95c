import { assert, describe, it } from "@effect/vitest"
import { random } from "../registry/Random.ts"
import { type Action, type Options, type Round, round } from "./Plan.ts"

const options: Options = { servers: 5, hasDatabase: true, roundMillis: 20_000 }

/** A hundred rounds of one seed. */
const rounds = (seed: number, over: Partial<Options> = {}): ReadonlyArray<Round> => {
  const moments = random(seed)
  const all: Array<Round> = []
  for (let number = 0; number < 100; number++) {
    all.push(round(moments, { ...options, ...over }, all.at(-1)?.down ?? new Set()))
  }
  return all
}

describe("the plan of a soak run", () => {
  it("is the same for the same seed, and another for another", () => {
    assert.deepStrictEqual(rounds(7), rounds(7))
    assert.notDeepEqual(rounds(7), rounds(8))
  })

  it("does to a server only what can be done to it, and leaves none standing still", () => {
    const next: Readonly<Record<string, ReadonlyArray<string>>> = {
      up: ["stop", "crash", "freeze"],
      down: ["start"],
      still: ["thaw", "crash"]
    }
    const becomes: Readonly<Record<string, string>> = { stop: "down", crash: "down", freeze: "still" }
    const states = Array.from({ length: options.servers }, () => "up")
    for (const { steps, down } of rounds(7)) {
      for (const { action } of steps) {
        if (!("server" in action) || action.kind.endsWith("database")) continue
        assert.include(next[states[action.server] ?? ""] ?? [], action.kind)
        states[action.server] = becomes[action.kind] ?? "up"
      }
      assert.deepStrictEqual(
        states,
        states.map((_, server) => (down.has(server) ? "down" : "up"))
      )
      assert.isAtLeast(options.servers - down.size, 2)
    }
  })

  it("mends in each round every way and every database that it breaks", () => {
    for (const { steps } of rounds(7)) {
      const broken = new Set<string>()
      let atMillis = 0
      for (const step of steps) {
        assert.isAtLeast(step.atMillis, atMillis)
        atMillis = step.atMillis
        for (const [thing, isMended] of touched(step.action)) {
          assert.strictEqual(broken.has(thing), isMended, `${thing} at ${atMillis}`)
          if (isMended) broken.delete(thing)
          else broken.add(thing)
        }
      }
      assert.deepStrictEqual([...broken], [])
    }
  })

  it("has every kind of trouble, and none with the database where there is none", () => {
    const kinds = (all: ReadonlyArray<Round>) =>
      [...new Set(all.flatMap(({ steps }) => steps.map(({ action }) => action.kind)))].sort()
    const others = ["crash", "cut", "freeze", "mend", "silence", "start", "stop", "thaw"]
    const databases = ["cut database", "restore database", "silence database", "start PostgreSQL", "stop PostgreSQL"]
    assert.deepStrictEqual(kinds(rounds(7)), [...others, ...databases].sort())
    assert.deepStrictEqual(kinds(rounds(7, { hasDatabase: false })), others)
  })
})

/** What an action breaks or mends besides processes. */
const touched = (action: Action): ReadonlyArray<readonly [thing: string, isMended: boolean]> => {
  if ("pairs" in action) return action.pairs.map((pair) => [`link ${pair}`, action.kind === "mend"])
  if ("server" in action) {
    return action.kind.endsWith("database") ? [[`database ${action.server}`, action.kind === "restore database"]] : []
  }
  return [["PostgreSQL", action.kind === "start PostgreSQL"]]
}
