/**
 * JSON that stays text wherever it is shown: what a terminal or a page could obey is written as an escape, and reading
 * it back gives the same value (R5, I09, I10).
 */

// JSON.stringify itself escapes the ASCII controls and lone surrogates.
const live = /[\u007f-\u009f\ufeff\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** One line of JSON without a character that anything but a JSON reader obeys. */
export const stringify = (value: unknown): string => JSON.stringify(value).replace(live, escaped)
