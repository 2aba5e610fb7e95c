/** The known name that a misspelt one was probably meant to be. */

/** Names longer than this are no misspellings, and comparing them would cost the square of their length. */
const longestName = 80

/** Single-character insertions, deletions and replacements that lead from one text to the other. */
export const editDistance = (from: string, to: string): number => {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      current.push(
        Math.min(
          (above[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
        )
      )
    }
    above = current
  }
  return above[to.length] ?? 0
}

/** `healthCheckMin`, `Health-Check-Min` and `health_check_min` are one name. */
const plain = (name: string) =>
  name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase()

/** The candidate nearest to `name`, unless even that one differs in more than two fifths of the name. */
export const nearest = (name: string, candidates: Iterable<string>): string | undefined => {
  if (name.length > longestName) return undefined
  const wanted = plain(name)
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(wanted.length * 0.4)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(wanted, plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}
