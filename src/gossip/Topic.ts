/** The two GossipSub topics of service discovery, and nothing else about them. Source: specification, "Two topics". */

export const announceTopic = "/sf-network/services/announce"
/** The topic of heartbeats: the verdict of a server's last self-check, every few minutes. */
export const heartbeatTopic = "/sf-network/services/heartbeat"

/** Both, in the order in which they are joined. */
export const topics = [announceTopic, heartbeatTopic] as const
/** One of the two topics. */
export type Topic = (typeof topics)[number]

/** How a topic is called in a label. */
export const topicLabel: Readonly<Record<Topic, "announce" | "heartbeat">> = {
  [announceTopic]: "announce",
  [heartbeatTopic]: "heartbeat"
}
