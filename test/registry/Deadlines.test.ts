import { assert, describe, it } from "@effect/vitest"
import { Deadlines, type Due } from "../../src/registry/Deadlines.ts"
import { random, seed } from "./Random.ts"

interface Item extends Due {
  readonly name: number
}
const item = (name: number): Item => ({ name, at: 0, place: -1 })

describe(`deadlines (SEED=${seed})`, () => {
  it("have no first while they are empty", () => {
    const deadlines = new Deadlines<Item>()
    assert.deepStrictEqual([deadlines.first, deadlines.size], [undefined, 0])
    deadlines.remove(item(1))
    assert.strictEqual(deadlines.size, 0)
  })

  it("come in the order of their times through any scheduling, moving and removing", () => {
    const choose = random(seed)
    const items = Array.from({ length: 200 }, (_, name) => item(name))
    const deadlines = new Deadlines<Item>()
    const expected = new Map<Item, number>()
    for (let step = 0; step < 20_000; step++) {
      const chosen = choose.of(items)
      if (choose.chance(1 / 3)) {
        deadlines.remove(chosen)
        expected.delete(chosen)
      } else {
        const at = choose.below(1_000)
        deadlines.schedule(chosen, at)
        expected.set(chosen, at)
      }
      assert.strictEqual(deadlines.size, expected.size)
      assert.strictEqual(deadlines.first?.at, expected.size === 0 ? undefined : Math.min(...expected.values()))
    }
    const order: Array<number> = []
    for (let first = deadlines.first; first !== undefined; first = deadlines.first) {
      order.push(first.at)
      deadlines.remove(first)
    }
    assert.deepStrictEqual(
      order,
      [...expected.values()].sort((left, right) => left - right)
    )
    assert.isTrue(items.every(({ place }) => place === -1))
  })
})
