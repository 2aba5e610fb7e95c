/** Random choices that a seed repeats. */
export interface Random {
  /** A whole number from 0 up to, not including, `bound`. */
  below(bound: number): number
  /** One of these; there is at least one. */
  of<A>(choices: ReadonlyArray<A>): A
  chance(share: number): boolean
  shuffled<A>(items: ReadonlyArray<A>): Array<A>
}

/** The generator mulberry32. */
export const random = (seed: number): Random => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return {
    below,
    of: (choices) => choices[below(choices.length)] as (typeof choices)[number],
    chance: (share) => next() < share,
    shuffled: (items) => {
      const mixed = [...items]
      for (let last = mixed.length - 1; last > 0; last--) {
        const other = below(last + 1)
        ;[mixed[last], mixed[other]] = [mixed[other] as never, mixed[last] as never]
      }
      return mixed
    }
  }
}

/** A seed of the run: `SEED` from the environment to repeat one, else another each time. Tests print it when they fail. */
export const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
