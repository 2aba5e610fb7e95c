/** The `timestamp`s of this server's own messages, each newer than the one before. Pure. */

/** Receivers refuse what is further ahead of their clock (R7), so a greater lead may not be kept up. */
const longestLead = 120_000_000_000n

/**
 * The timestamp after `last`, given the wall clock. While the wall clock stands or is set back a little, timestamps
 * go on by a nanosecond, for receivers count only what is newer (R7). Set back by 2 minutes or more it is followed:
 * receivers would refuse a timestamp so far ahead, and take the clock's again once what they remember has passed.
 */
export const following = (last: bigint | undefined, wallNanos: bigint): bigint =>
  last === undefined || wallNanos > last || last - wallNanos >= longestLead ? wallNanos : last + 1n
