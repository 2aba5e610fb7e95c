/**
 * When to act on a connection that is not as it should be: the Watchdog's patience, without a socket or a clock. It
 * counts time as the looks that were taken pass it, so that a process that stands still holds that against nobody.
 */

/** What one look at a connected peer shows. */
export interface Sight {
  /** GossipSub has its stream to the peer, and the peer one to us. */
  readonly isWhole: boolean
  readonly connections: number
  /** Of two servers the one with the smaller peer ID ends a second connection. */
  readonly isOursToSettle: boolean
}

/** What has been wrong with a peer, and for how long. */
export interface Trouble {
  readonly wasWhole: boolean
  readonly brokenMillis: number
  readonly hasReopened: boolean
  readonly doubledMillis: number
}

export const noTrouble: Trouble = { wasWhole: false, brokenMillis: 0, hasReopened: false, doubledMillis: 0 }

/** `reopen`: the missing stream. `give-up`: the connection. `settle`: which of several connections is kept. */
export type Act = "none" | "reopen" | "give-up" | "settle"

/** A stream that is just being opened is no trouble; one that was there and is gone is, at once. */
export const openingMillis = 1_000
export const giveUpAfterMillis = 6_000
/** Where there never was a stream, many may be waiting for theirs; the start of many servers is not made worse. */
export const giveUpNewAfterMillis = 30_000
export const settleAfterMillis = 2_000
/** The other side has had its time, and is no server of ours. */
export const settleForOtherAfterMillis = 15_000

const tendDoubled = (trouble: Trouble, { connections, isOursToSettle }: Sight, elapsedMillis: number) => {
  if (connections < 2) return { trouble: { ...trouble, doubledMillis: 0 }, act: "none" as const }
  const doubledMillis = trouble.doubledMillis + elapsedMillis
  return doubledMillis >= (isOursToSettle ? settleAfterMillis : settleForOtherAfterMillis)
    ? { trouble: { ...trouble, doubledMillis: 0 }, act: "settle" as const }
    : { trouble: { ...trouble, doubledMillis }, act: "none" as const }
}

/** What becomes of a trouble at a look, `elapsedMillis` after the last, and what is to be done about it. */
export const tend = (
  before: Trouble,
  sight: Sight,
  elapsedMillis: number
): { readonly trouble: Trouble; readonly act: Act } => {
  if (sight.isWhole) {
    return tendDoubled({ ...before, wasWhole: true, brokenMillis: 0, hasReopened: false }, sight, elapsedMillis)
  }
  const trouble = { ...before, brokenMillis: before.brokenMillis + elapsedMillis }
  if (!trouble.hasReopened && (trouble.wasWhole || trouble.brokenMillis >= openingMillis)) {
    return { trouble: { ...trouble, hasReopened: true }, act: "reopen" }
  }
  if (trouble.brokenMillis >= (trouble.wasWhole ? giveUpAfterMillis : giveUpNewAfterMillis)) {
    return { trouble: noTrouble, act: "give-up" }
  }
  return tendDoubled(trouble, sight, elapsedMillis)
}
