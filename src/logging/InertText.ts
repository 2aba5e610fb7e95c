/**
 * Makes text from strangers inert (R5): whatever it holds, it stays on its line, moves no cursor and turns no reading
 * direction. Logs, command line and HTTP print strangers' words through it. It knows nothing of where they end up.
 */

/**
 * Control characters (C0, DEL, C1), line and paragraph separators, bidirectional controls, the byte order mark, lone
 * surrogates.
 */
const hostile = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}\ufeff]/u
const everyHostile = new RegExp(hostile, "gu")

const cut = "…"

/** Whether a text can be printed as it is. */
export const isInert = (text: string): boolean => !hostile.test(text)

/**
 * The text with every hostile character spelt out as `\u{…}`, at most `max` UTF-16 units long (default 300); where
 * something had to go, it ends in `…`. Its cost is bounded by `max`, whatever the length of the text.
 */
export const inert = (text: string, max = 300): string => {
  const pieces: Array<string> = []
  let length = 0
  // One unit more than fits, so that a surrogate pair split here is always among what goes.
  for (const character of text.slice(0, max + 1)) {
    const piece = isInert(character) ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`
    pieces.push(piece)
    length += piece.length
  }
  if (length <= max) return pieces.join("")
  while (length > max - cut.length && pieces.length > 0) length -= pieces.pop()?.length ?? 0
  return pieces.join("") + cut
}

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * JSON in one line that nothing but a JSON reader obeys: what is hostile is written as an escape, and reading it back
 * gives the same value.
 */
export const stringify = (value: unknown): string => JSON.stringify(value).replace(everyHostile, escaped)
