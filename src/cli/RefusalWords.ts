/** Why messages do not count, and what to do about it, in plain words. Pure. */
import type { RefusalReason } from "../registry/Refusal.ts"

interface Words {
  /** What is wrong with the messages. */
  readonly meaning: string
  /** What to do, on the server that sent them or here; absent where nothing has to be done. */
  readonly advice?: string
}

const otherVersion = "bring that server up to date; until then nobody lists what it says"
const otherClock = "set the clock of that machine (NTP); the other servers refuse its messages too"

const words: Readonly<Record<RefusalReason, Words>> = {
  oversize: { meaning: "larger than a message may be", advice: otherVersion },
  malformed: { meaning: "not in the form of a message", advice: otherVersion },
  forged: {
    meaning: "signed by another server than the one they name",
    advice: "find out who runs that server; it speaks in the name of others"
  },
  "too-old": { meaning: "dated two hours or more ago", advice: otherClock },
  "too-far-ahead": { meaning: "dated more than 2 minutes ahead", advice: otherClock },
  repeated: { meaning: "not newer than what was heard before" },
  own: { meaning: "this server's own words, come back to it" },
  "over-rate": {
    meaning: "more than a server may send in a minute",
    advice: "look for two processes with the same identity, or intervals that are too short, on that server"
  },
  full: {
    meaning: "from a newcomer while the registry is full",
    advice: "raise discovery.max_servers on the server that was asked"
  },
  defect: {
    meaning: "not judged, because of a bug in the server that was asked",
    advice: "look for it in that server's log, and report it"
  }
}

const isKnown = (reason: string): reason is RefusalReason => Object.hasOwn(words, reason)

/** A server of another version may have a reason that is not known here: it speaks for itself. */
export const wordsFor = (reason: string): Words => (isKnown(reason) ? words[reason] : { meaning: reason })
