/** What `/refusals` answers: how many messages did not count and why, and whose they were lately (R2, R21). */
import { Schema } from "effect"
import { RefusalView } from "./ServiceView.ts"

export const RefusedCount = Schema.Struct({
  topic: Schema.Literals(["announce", "heartbeat"]),
  reason: Schema.String,
  verdict: RefusalView.fields.verdict,
  count: Schema.Int
})

export const RefusedSigner = Schema.Struct({
  server_id: Schema.String.annotate({ description: "who signed them, in base58" }),
  ...RefusalView.fields
})

export const RefusalList = Schema.Struct({
  counts: Schema.Array(RefusedCount).annotate({ description: "since this server started, those above 0" }),
  signers: Schema.Array(RefusedSigner).annotate({
    description: "whose messages did not count, the last refused first, at most 64; each with its last refusal"
  })
}).annotate({ identifier: "RefusalList" })
export type RefusalList = typeof RefusalList.Type
