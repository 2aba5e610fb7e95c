/** What this server says it offers. */
import { Context } from "effect"

/**
 * The announcement's `capabilities`: up to 64 names of up to 256 characters. By default what every Ricochet server
 * offers; an application built on this one provides its own list. Source: specification, "Two topics".
 */
export const Capabilities: Context.Reference<ReadonlyArray<string>> = Context.Reference<ReadonlyArray<string>>(
  "ricochet-discovery/announcing/Capabilities",
  { defaultValue: () => ["store-and-forward", "mailbox", "document-sync"] }
)
