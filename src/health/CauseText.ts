/** What an error says of itself and of its causes, in one line for the log. */

const deepest = 5

const ownText = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error === "string" ? error : ""
  if (error.message !== "") return error.message
  // Node's AggregateError, of a host with several addresses, has a code and no message.
  return "code" in error && typeof error.code === "string" ? error.code : ""
}

/** The error, then what caused it, and so on; each once, the outermost first. */
export const causeChain = (error: unknown): ReadonlyArray<unknown> => {
  const chain: Array<unknown> = []
  for (let at = error; at !== undefined && chain.length < deepest && !chain.includes(at); ) {
    chain.push(at)
    at = at instanceof Error ? at.cause : undefined
  }
  return chain
}

/** The texts of an error and its causes, joined by `: `. */
export const causeText = (error: unknown): string =>
  [...new Set(causeChain(error).map(ownText))].filter((text) => text !== "").join(": ")
