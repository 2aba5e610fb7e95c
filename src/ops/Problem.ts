/**
 * What goes wrong at the HTTP door, as RFC 9457 problem details. Each class knows its status and its words; none of
 * them carries anything of this server's insides.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"

export const BadParameter = Schema.Struct({
  parameter: Schema.String,
  /** At most 64 characters of what was found. */
  found: Schema.String,
  allowed: Schema.String
})
export type BadParameter = typeof BadParameter.Type

/** A parameter of the query or the path is not one of those allowed. */
export class InvalidParameter extends HttpApiError.Problem<InvalidParameter>()(
  "InvalidParameter",
  { type: "about:blank", status: 400, title: "Bad Request" },
  { errors: Schema.Array(BadParameter) }
) {
  static of(errors: ReadonlyArray<BadParameter>): InvalidParameter {
    const detail = errors.map((e) => `${e.parameter}: found ${JSON.stringify(e.found)}, allowed is ${e.allowed}`)
    return new InvalidParameter({ detail: detail.join("; "), errors })
  }
}

/** No message of this peer was ever heard here: it has never announced itself to this server (R21). */
export class NeverHeard extends HttpApiError.Problem<NeverHeard>()(
  "NeverHeard",
  { type: "about:blank", status: 404, title: "Not Found" },
  {
    server_id: Schema.String,
    listed: Schema.tag(false),
    reason: Schema.tag("never-announced"),
    connected: Schema.Boolean,
    addresses: Schema.Array(Schema.String)
  }
) {}

/** As many watch streams are open as this server serves. */
export class TooManyWatchers extends HttpApiError.Problem<TooManyWatchers>()("TooManyWatchers", {
  type: "about:blank",
  status: 503,
  title: "Service Unavailable"
}) {}

/** A defect of this server. What it was is in its log, not here. */
export class InternalFailure extends HttpApiError.Problem<InternalFailure>()("InternalFailure", {
  type: "about:blank",
  status: 500,
  title: "Internal Server Error"
}) {}
