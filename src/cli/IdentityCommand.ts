/** `ricochet identity`: the peer ID that other servers know this one by. */
import { Console, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import { Settings } from "../config/Settings.ts"
import * as Identity from "../identity/Identity.ts"
import * as Logging from "../logging/Logging.ts"
import { configuration, identityFlags, toggle } from "./ServerFlags.ts"

/** There is no key yet, and none was to be made. */
export class NoIdentity extends Schema.TaggedError<NoIdentity>()("NoIdentity", { dataDirectory: Schema.String }) {
  readonly exitCode = 78
  override get message() {
    return `no identity in ${this.dataDirectory} yet; a server creates one at its first start, or this command with --create`
  }
}

export const identityCommand = Command.make(
  "identity",
  {
    create: toggle("create", "Create a key in the data directory where there is none."),
    ...identityFlags
  },
  Effect.fn("identity")(function* ({ create, ...given }) {
    const { settings } = yield* configuration(given)
    const identity = yield* Effect.gen(function* () {
      const found = yield* Identity.find
      if (Option.isSome(found)) return found.value
      if (create) return yield* Identity.create
      return yield* new NoIdentity({ dataDirectory: settings.storage.dataDirectory })
    }).pipe(Effect.provideService(Settings, settings))
    yield* Console.log(identity.peerId)
  }, Effect.provide(Logging.layerRemarks))
).pipe(
  Command.withDescription(
    "Print the peer ID that other servers know this one by. It reads the key alone and asks no server. Exit code 78 when there is no key, or one that cannot be used."
  ),
  Command.withShortDescription("Print the peer ID of this server")
)
