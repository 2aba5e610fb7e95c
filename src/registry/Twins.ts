/**
 * What one server cannot have said after what it said before: a sign that two processes share its identity (R18, case
 * H03). A function of words; how many signs make a report is Intake's.
 */
import type { Announcement } from "./Announcement.ts"
import type { Known } from "./Known.ts"
import { verdictInForce } from "./Query.ts"

/** Scores are quotients of small numbers; this is far less than any two of them differ by. */
const epsilon = 1e-9

/** In what the newest words of a server do not follow from those before. */
export type Contradiction = "description" | "score"

/**
 * How the newest words of `after` do not follow from those of `before`, if they do not. Either the server describes
 * itself differently, or its score moved as no check can move it: one that passed never lowers it and takes at most half
 * of what is missing to 1, one that failed never raises it and takes at most half of it. That holds for one check, so a
 * score is looked at only where no heartbeat can have been lost between the two. Once is a restart with other settings;
 * again and again is a twin.
 */
export const contradiction = (before: Known, after: Known): Contradiction | undefined => {
  if (isOtherDescription(before.announcement?.message, after.announcement?.message)) return "description"
  const [last, next] = [verdictInForce(before), verdictInForce(after)]
  const [from, to] = [last.uptimeScore, next.uptimeScore]
  const [least, most] = next.healthy ? [from, (1 + from) / 2] : [from / 2, from]
  const gapMillis = Number(next.timestamp - last.timestamp) / 1e6
  const isNext = gapMillis > 0 && before.beatMillis !== undefined && gapMillis < 1.5 * before.beatMillis
  const isAbsurd = isNext && (to < least - epsilon || to > most + epsilon)
  return isAbsurd ? "score" : undefined
}

const isOtherDescription = (last: Announcement | undefined, next: Announcement | undefined): boolean =>
  last !== undefined && next !== undefined && last !== next && describe(last) !== describe(next)

const describe = (said: Announcement): string =>
  JSON.stringify([said.capabilities, said.maxStorage, said.retentionPolicy, said.region, said.regions, said.port])
