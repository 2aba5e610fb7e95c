/** What the clocks of the other servers say of this server's own (R10, B03). */
import { Schema } from "effect"
import type { ClockVerdict } from "../registry/OwnClock.ts"

export const ClockView = Schema.Struct({
  state: Schema.Literals(["unknown", "agrees", "ahead", "behind"]).annotate({
    description: "ahead or behind when most servers heard within the hour say so by more than 30 seconds"
  }),
  by_seconds: Schema.Finite.annotate({ description: "by how much it is off; 0 while it agrees" }),
  disagreeing: Schema.Int.annotate({ description: "servers that say so" }),
  heard: Schema.Int.annotate({ description: "servers asked" })
}).annotate({ identifier: "Clock" })
export type ClockView = typeof ClockView.Type

export const clockView = ({ byMillis, disagreeing, heard, state }: ClockVerdict): ClockView => ({
  state,
  by_seconds: Math.round(byMillis) / 1000,
  disagreeing,
  heard
})
