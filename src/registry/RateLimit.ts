/**
 * How often something may count: at most so many a window for each key, counted exactly over a sliding window on the
 * steady clock. It remembers a bounded number of keys, the quietest forgotten first (R19). What a key is, its user knows.
 */
export interface RateLimit {
  /** Whether one more would count now. */
  allows(key: string, steadyMillis: number): boolean
  /** Whether one more counts now; if it does, it is counted. */
  take(key: string, steadyMillis: number): boolean
}

export const make = (options: {
  /** How many count in a window. */
  readonly limit: number
  readonly windowMillis: number
  /** Keys remembered at the same time. With more, a key that is forgotten starts afresh. */
  readonly maxKeys: number
}): RateLimit => {
  // In the order of their last taking, so that the first key is the quietest.
  const taken = new Map<string, Array<number>>()

  const forget = (since: number) => {
    for (const [key, times] of taken) {
      if (taken.size <= options.maxKeys && (times.at(-1) ?? 0) > since) return
      taken.delete(key)
    }
  }

  const takenSince = (key: string, since: number) => (taken.get(key) ?? []).filter((time) => time > since)

  return {
    allows: (key, steadyMillis) => takenSince(key, steadyMillis - options.windowMillis).length < options.limit,
    take: (key, steadyMillis) => {
      const since = steadyMillis - options.windowMillis
      const times = takenSince(key, since)
      if (times.length >= options.limit) return false
      times.push(steadyMillis)
      taken.delete(key)
      taken.set(key, times)
      forget(since)
      return true
    }
  }
}
