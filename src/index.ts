/**
 * Front door for libraries: the services and layers that another Effect application composes, and a promise client
 * for programs without Effect.
 */
export { Announcer, OwnAnnouncementRefused } from "./announcing/Announcer.ts"
export { Capabilities } from "./announcing/Capabilities.ts"
export * as Discovery from "./Discovery.ts"
export { Readiness } from "./health/Readiness.ts"
