/** The version of this package, from the one place where it is written. */
import { createRequire } from "node:module"
import { Schema } from "effect"

const Package = Schema.Struct({ version: Schema.String })

export const { version } = Schema.decodeUnknownSync(Package)(createRequire(import.meta.url)("../../package.json"))
