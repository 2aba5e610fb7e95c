/** Everything that the ops listener serves, as one application. Where it is listened for is OpsServer's. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as Docs from "./Docs.ts"
import * as Metering from "./Metering.ts"
import { OpsApi } from "./OpsApi.ts"
import * as Page from "./Page.ts"

const routes = Layer.mergeAll(
  HttpApiBuilder.layer(OpsApi, { openapiPath: "/openapi.json" }),
  Docs.layer,
  Page.layer,
  Metering.layer
)

/** A peer ID that is too long is told so by its own handler; what is longer than this is no path that there is. */
const maxParamLength = 1_024

/** The application, as long as the scope is open. */
export const application = HttpRouter.toHttpEffect(routes).pipe(
  Effect.provideService(HttpRouter.RouterConfig, { maxParamLength })
)
