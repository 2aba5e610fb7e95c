/** Which server is meant by the first characters of a peer ID. Pure; who could be meant is the command's business. */
import { Result, Schema } from "effect"
import { inert } from "../logging/InertText.ts"

/** Nobody, or more than one, is meant, or the text is no part of a peer ID. Exit code 2. */
export class UnclearServer extends Schema.TaggedError<UnclearServer>()("UnclearServer", { problem: Schema.String }) {
  readonly exitCode = 2
  override get message() {
    return this.problem
  }
}

/** What every peer ID of an Ed25519 key begins with. It tells nobody apart, so it can be left out. */
const common = "12D3KooW"

const base58 = /^[1-9A-HJ-NP-Za-km-z]{1,128}$/

/** Candidates that a message names at most. */
const mostNamed = 10

/** The one candidate that begins with the text, with or without `12D3KooW`. */
export const resolve = (text: string, candidates: Iterable<string>): Result.Result<string, UnclearServer> => {
  const refuse = (problem: string) => Result.fail(new UnclearServer({ problem }))
  const shown = inert(text, 100)
  if (!base58.test(text)) return refuse(`"${shown}" is neither a peer ID (12D3KooW…) nor the beginning of one`)
  const known = [...new Set(candidates)].sort()
  const whole = known.filter((id) => id.startsWith(text))
  const found = whole.length > 0 ? whole : known.filter((id) => id.startsWith(common + text))
  const [first, ...others] = found
  if (first === undefined) return refuse(`no server is known here whose peer ID begins with ${shown}`)
  if (others.length === 0) return Result.succeed(first)
  const named = found.slice(0, mostNamed).map((id) => `\n  ${inert(id, 128)}`)
  const rest = found.length - named.length
  return refuse(
    `${shown} could be any of ${found.length} servers:${named.join("")}${rest > 0 ? `\n  and ${rest} more` : ""}`
  )
}
