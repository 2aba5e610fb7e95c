/** Colours for text on a terminal. It knows nothing of what the text says, nor whether the terminal shows them. */

const codes = { bold: "1", dim: "2", red: "31", green: "32", yellow: "33", blue: "34" } as const

export type Colour = keyof typeof codes

/** Puts a colour around a text; without a colour it leaves the text as it is. */
export type Paint = (colour: Colour | undefined, text: string) => string

/** For pipes and files, and for whoever asked for no colours. */
export const plain: Paint = (_, text) => text

const coloured: Paint = (colour, text) => (colour === undefined ? text : `\u001b[${codes[colour]}m${text}\u001b[0m`)

export const painter = (hasColours: boolean): Paint => (hasColours ? coloured : plain)
