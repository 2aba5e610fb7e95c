/** The two GossipSub topics of service discovery, and nothing else about them. Source: specification, "Two topics". */

export const announceTopic = "/sf-network/services/announce"
export const heartbeatTopic = "/sf-network/services/heartbeat"

export const topics = [announceTopic, heartbeatTopic] as const
export type Topic = (typeof topics)[number]

/** How a topic is called in a label. */
export const topicLabel: Readonly<Record<Topic, "announce" | "heartbeat">> = {
  [announceTopic]: "announce",
  [heartbeatTopic]: "heartbeat"
}
