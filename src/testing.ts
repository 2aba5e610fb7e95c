/**
 * Front door for tests: networks of whole virtual servers that live on the test's clock, so that two hours pass in
 * milliseconds. Nothing here opens a socket, a file or a database.
 */

export { type MemoryNetwork, make as makeMemoryNetwork, type Reception } from "./gossip/GossipMemory.ts"
export type { Place, Weather } from "./gossip/GossipMemoryLinks.ts"
export { announceTopic, heartbeatTopic, type Topic } from "./gossip/Topic.ts"
export type { VirtualServices } from "./testing/VirtualComposition.ts"
export { type Happening, Unexpected, type VirtualHistory } from "./testing/VirtualHistory.ts"
export type { LogLine } from "./testing/VirtualLog.ts"
export {
  type Attacker,
  make as makeVirtualNetwork,
  type Spoken,
  type VirtualNetwork,
  type VirtualNetworkOptions
} from "./testing/VirtualNetwork.ts"
export { peerIdOf } from "./testing/VirtualPeerId.ts"
export type { VirtualServer, VirtualServerOptions } from "./testing/VirtualServer.ts"
export type { VirtualSettings } from "./testing/VirtualSettings.ts"
export * as VirtualWords from "./testing/VirtualWords.ts"
