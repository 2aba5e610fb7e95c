/** The handlers of OpsApi with all that they share. What they need of other rooms is the layer's to be given. */
import { Layer } from "effect"
import * as HealthHandlers from "./HealthHandlers.ts"
import { OwnEntry } from "./OwnEntry.ts"
import * as ProblemAnswers from "./ProblemAnswers.ts"
import * as RefusalsHandlers from "./RefusalsHandlers.ts"
import * as SelfHandlers from "./SelfHandlers.ts"
import { ServiceListing } from "./ServiceListing.ts"
import * as ServicesHandlers from "./ServicesHandlers.ts"
import { Surroundings } from "./Surroundings.ts"
import { Watch } from "./Watch.ts"

export const layer = Layer.mergeAll(
  HealthHandlers.layer,
  ServicesHandlers.layer,
  SelfHandlers.layer,
  RefusalsHandlers.layer
).pipe(
  Layer.provideMerge(ProblemAnswers.layer),
  Layer.provideMerge(Layer.merge(ServiceListing.layer, Watch.layer)),
  Layer.provideMerge(Surroundings.layer),
  Layer.provide(OwnEntry.layer)
)
