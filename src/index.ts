/**
 * Front door for libraries: the services and layers that another Effect application composes, and a promise client
 * for programs without Effect.
 */

export { Announcer, OwnAnnouncementRefused } from "./announcing/Announcer.ts"
export { Capabilities } from "./announcing/Capabilities.ts"
export { ConfigurationProblems, Problem } from "./config/ConfigurationProblems.ts"
export type { Preset } from "./config/Resolve.ts"
export { type DatabaseSettings, type ServerSettings, Settings, type SettingsShape } from "./config/Settings.ts"
export { type BootstrapStatus, Connectivity, type ConnectivityStatus } from "./gossip/Connectivity.ts"
export {
  type Appearance,
  type Claim,
  type Connection,
  Gossip,
  type Judge,
  PublishRefused,
  type Received,
  Unverifiable,
  type Verdict,
  type Verified
} from "./gossip/Gossip.ts"
export { BadAddress } from "./gossip/GossipLibp2pAddresses.ts"
export { ExtraServices, type ExtraTransport, ExtraTransports, GossipNode } from "./gossip/GossipLibp2pApplication.ts"
export { type BroughtNode, discoveryServices, UnsuitableNode } from "./gossip/GossipLibp2pBrought.ts"
export { ListenUnavailable } from "./gossip/GossipLibp2pListeners.ts"
export type { DiscoveryServices, Mesh } from "./gossip/GossipLibp2pMesh.ts"
export { type ByteStream, StreamBroken, Streams } from "./gossip/Streams.ts"
export { announceTopic, heartbeatTopic, type Topic } from "./gossip/Topic.ts"
export { CheckFailed, type CheckOutcome, Readiness, type ReadinessReport } from "./health/Readiness.ts"
export type { SelfCheckRecord } from "./health/SelfCheck.ts"
export { BadIdentity, Identity, IdentityNotKept, type IdentityShape } from "./identity/Identity.ts"
export { InvalidPeerId, isPeerId, type PeerId, parse as parsePeerId } from "./identity/PeerId.ts"
export type { DiscoveryConfig } from "./library/DiscoveryConfig.ts"
export * as Discovery from "./library/Layers.ts"
export {
  createDiscovery,
  DiscoveryError,
  type DiscoveryErrorCode,
  type DiscoveryLogLine,
  type DiscoveryOptions,
  type RunningDiscovery
} from "./library/Promised.ts"
export type { Server, ServerState } from "./library/Server.ts"
export { Servers, type ServersEvent } from "./library/Servers.ts"
export type { Fact } from "./logging/FactText.ts"
export { OpsListenUnavailable } from "./ops/OpsListenUnavailable.ts"
export { OpsServer } from "./ops/OpsServer.ts"
export type { Announcement } from "./registry/Announcement.ts"
export type { Heartbeat } from "./registry/Heartbeat.ts"
export type { Filter, Why } from "./registry/Query.ts"
export type { RefusalReason } from "./registry/Refusal.ts"
export type { EvictionRecord, RefusalRecord } from "./registry/Registry.ts"
export { Database, DatabaseRefused } from "./storage/Database.ts"
export { DataDirectory, DataDirectoryInUse, DataDirectoryUnusable } from "./storage/DataDirectory.ts"
export { KeptChecks } from "./storage/KeptChecks.ts"
export { type KeptMessage, type KeptServer, KeptServers, type KeptTimestamps } from "./storage/KeptServers.ts"
