/**
 * Why a message does not count. A refusal knows its own verdict and its reason from a closed set, so no table beside
 * it can drift, and its detail is bounded before anything prints it.
 */
import { Data } from "effect"
import type { Verdict } from "../gossip/Gossip.ts"
import { maxDetailCharacters } from "./Limits.ts"

/**
 * Each reason with the verdict it carries (R2): `reject` for what every reader would refuse for ever, `ignore` for
 * what depends on this server's clock, memory or limits. The set is closed: metric labels are made of it.
 */
export const verdictOf = {
  /** Over 8 KiB, nested over 8 deep, a string over 256 characters or a list over 64 items (R4). */
  oversize: "reject",
  /** Not one JSON object in UTF-8, a key twice or in another case, or a field of the wrong kind or range (R3). */
  malformed: "reject",
  /** The signer is not the server named in it (S8, R1). */
  forged: "reject",
  /** `timestamp` is 2 hours or more behind this server's clock (R7). */
  "too-old": "ignore",
  /** `timestamp` is more than 2 minutes ahead of this server's clock (R7). */
  "too-far-ahead": "ignore",
  /** Not newer than the last message of this server on this topic (R7). */
  repeated: "ignore",
  /** This server's own words, come back to it. */
  own: "ignore",
  /** More than a signer's share of messages a minute (R19). */
  "over-rate": "ignore",
  /** The registry is full of servers known for longer (R19). */
  full: "ignore",
  /** A defect of this server, not of the message. */
  defect: "ignore"
} as const satisfies Record<string, Exclude<Verdict, "accept">>

/** Why a message did not count: one of a closed set. */
export type RefusalReason = keyof typeof verdictOf

export const refusalReasons = Object.keys(verdictOf) as ReadonlyArray<RefusalReason>

/**
 * A value, not an exception: refusing is ordinary work here, and under attack most of it, so no stack is captured.
 * Made by `refuse`, which bounds the detail.
 */
export class Refusal extends Data.TaggedClass("Refusal")<{
  readonly reason: RefusalReason
  /** What is wrong, naming the field; at most 200 characters. */
  readonly detail: string
}> {
  get verdict(): "ignore" | "reject" {
    return verdictOf[this.reason]
  }
  get message() {
    return `${this.reason}: ${this.detail}`
  }
}

/** The one way a refusal comes about. Cuts the detail to 200 characters (R4). */
export const refuse = (reason: RefusalReason, detail: string): Refusal =>
  new Refusal({ reason, detail: detail.length > maxDetailCharacters ? detail.slice(0, maxDetailCharacters) : detail })
