/** The HTTP API from the other side: a typed client made of the same definition. It knows nothing of the server's code. */
import { Context, Layer } from "effect"
import type { HttpClient } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { OpsApi } from "./OpsApi.ts"

export class OpsClient extends Context.Service<OpsClient, HttpApiClient.ForApi<typeof OpsApi>>()(
  "ricochet-discovery/ops/OpsClient"
) {
  /** A client of the server whose ops listener is at that URL, such as `http://127.0.0.1:9090`. */
  static readonly layer = (baseUrl: string): Layer.Layer<OpsClient, never, HttpClient.HttpClient> =>
    Layer.effect(OpsClient, HttpApiClient.make(OpsApi, { baseUrl }))
}
