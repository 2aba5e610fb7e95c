/**
 * Which of the metrics that GossipSub and libp2p keep of themselves are shown: a closed list with closed sets of label
 * values, for both name hundreds, some with labels that strangers fill (R19, O01). Names are theirs, but for suffixes
 * that the conventions of Prometheus keep for something else.
 */
import { topicLabel } from "./Topic.ts"

export interface Family {
  /** A counter ends in `_total`, everything else is a gauge. */
  readonly name: string
  readonly help: string
  /** Without one, whatever labels the library gives are added up. */
  readonly label?: Label
}

interface Label {
  readonly name: string
  /** What the library says, to what is shown. The rest is shown as `other`, if there is an `other`. */
  readonly values: Readonly<Record<string, string>>
}

const label = (name: string, ...values: ReadonlyArray<string>): Label => ({
  name,
  values: Object.fromEntries(values.map((value) => [value, value]))
})

/** GossipSub takes no other topics. */
const topic: Label = { name: "topic", values: topicLabel }
const protocols = ["/meshsub/1.2.0", "/meshsub/1.1.0", "/meshsub/1.0.0"] as const
const rpcs = label("type", "FIND_NODE", "GET_VALUE", "PUT_VALUE", "GET_PROVIDERS", "ADD_PROVIDER", "PING", "other")
const direction = label("direction", "inbound", "outbound")

/** By the names that the library has for them. */
export const gossipSubFamilies: Readonly<Record<string, Family>> = {
  gossipsub_mesh_peer_count: { name: "gossipsub_mesh_peers", help: "Peers in the mesh of each topic.", label: topic },
  gossipsub_peers_per_protocol_count: {
    name: "gossipsub_peers",
    help: "Peers that speak GossipSub, by protocol version.",
    label: label("protocol", ...protocols, "other")
  },
  gossipsub_peers_by_score_threshold_count: {
    name: "gossipsub_peers_by_score_threshold",
    help: "Peers whose score is at or above each threshold.",
    label: label("threshold", "graylist", "publish", "gossip", "mesh")
  },
  gossipsub_score: {
    name: "gossipsub_score",
    help: "Scores of all peers: least, mean and greatest.",
    label: label("of", "min", "avg", "max")
  },
  gossipsub_scoring_penalties_total: {
    name: "gossipsub_scoring_penalties_total",
    help: "Penalties given to peers, by kind.",
    label: label("penalty", "graft_backoff", "broken_promise", "message_deficit", "IP_colocation", "other")
  },
  gossipsub_heartbeat_skipped: {
    name: "gossipsub_heartbeat_skipped_total",
    help: "Rounds of GossipSub left out because the one before took too long."
  },
  gossipsub_peer_churn_events_disconnected_total: {
    name: "gossipsub_peer_churn_events_disconnected_total",
    help: "Peers that left a mesh because they disconnected.",
    label: topic
  },
  gossipsub_peer_churn_events_bad_score_total: {
    name: "gossipsub_peer_churn_events_bad_score_total",
    help: "Peers put out of a mesh because of their score.",
    label: topic
  },
  gossipsub_peer_churn_events_prune_total: {
    name: "gossipsub_peer_churn_events_prune_total",
    help: "Peers that left a mesh of their own will.",
    label: topic
  },
  gossipsub_peer_churn_events_excess_total: {
    name: "gossipsub_peer_churn_events_excess_total",
    help: "Peers put out of a mesh that had too many.",
    label: topic
  },
  gossipsub_msg_received_prevalidation_total: {
    name: "gossipsub_msg_received_prevalidation_total",
    help: "Messages received, copies included.",
    label: topic
  },
  gossipsub_pre_validation_duplicate_total: {
    name: "gossipsub_pre_validation_duplicate_total",
    help: "Messages received once more.",
    label: topic
  },
  gossipsub_msg_received_invalid_total: {
    name: "gossipsub_msg_received_invalid_total",
    help: "Messages that GossipSub refused before this server judged them, by reason.",
    label: label("error", "invalid_signature", "invalid_seqno", "invalid_peerid", "transform_failed", "other")
  },
  gossipsub_msg_forward_count_total: {
    name: "gossipsub_msg_forward_total",
    help: "Messages of others handed on.",
    label: topic
  },
  gossipsub_msg_forward_peers_total: {
    name: "gossipsub_msg_forward_peers_total",
    help: "Peers that messages of others were handed on to, added up over messages.",
    label: topic
  },
  gossipsub_msg_publish_peers_total: {
    name: "gossipsub_msg_publish_peers_total",
    help: "Peers that own messages were sent to, added up over messages.",
    label: topic
  },
  gossipsub_rpc_recv_bytes_total: { name: "gossipsub_rpc_recv_bytes_total", help: "Bytes received." },
  gossipsub_rpc_sent_bytes_total: { name: "gossipsub_rpc_sent_bytes_total", help: "Bytes sent." },
  gossipsub_rpc_recv_count_total: { name: "gossipsub_rpc_recv_total", help: "RPCs received." },
  gossipsub_rpc_sent_count_total: { name: "gossipsub_rpc_sent_total", help: "RPCs sent." },
  gossipsub_rpc_recv_err_count_total: {
    name: "gossipsub_rpc_recv_err_total",
    help: "RPCs received that could not be handled."
  },
  gossipsub_rpc_data_err_count_total: {
    name: "gossipsub_rpc_data_err_total",
    help: "RPCs received that could not be read."
  },
  gossipsub_rpc_rcv_not_accepted_total: {
    name: "gossipsub_rpc_rcv_not_accepted_total",
    help: "RPCs dropped unread, because of their sender's score."
  },
  gossipsub_iwant_promise_broken: {
    name: "gossipsub_iwant_promise_broken_total",
    help: "Messages that a peer said it had and did not send."
  },
  gossipsub_cache_size: {
    name: "gossipsub_cache_size",
    help: "Entries in what GossipSub remembers.",
    label: label(
      "cache",
      "seenCache",
      "mcache",
      "score",
      "backoff",
      "gossipTracer.promises",
      "peers",
      "streamsOutbound"
    )
  }
}

/** By the names that the library has for them. */
export const libp2pFamilies: Readonly<Record<string, Family>> = {
  libp2p_connection_manager_connections: {
    name: "libp2p_connection_manager_connections",
    help: "Connections, open and being opened.",
    label: label("state", "inbound", "outbound", "inbound pending", "outbound pending")
  },
  libp2p_connection_manager_dials_total: {
    name: "libp2p_connection_manager_dials_total",
    help: "Connections that were begun.",
    label: direction
  },
  libp2p_connection_manager_dial_errors_total: {
    name: "libp2p_connection_manager_dial_errors_total",
    help: "Connections that were begun and failed.",
    label: direction
  },
  libp2p_dial_queue: {
    name: "libp2p_dial_queue",
    help: "Peers to be dialled: all, those being dialled, and those that wait.",
    label: label("of", "size", "running", "queued")
  },
  libp2p_tcp_dialer_events_total: {
    name: "libp2p_tcp_dialer_events_total",
    help: "What came of dialling over TCP.",
    label: label("event", "connect", "error", "timeout", "abort")
  },
  libp2p_noise_xxhandshake_successes_total: {
    name: "libp2p_noise_xxhandshake_successes_total",
    help: "Noise handshakes that succeeded."
  },
  libp2p_noise_xxhandshake_error_total: {
    name: "libp2p_noise_xxhandshake_error_total",
    help: "Noise handshakes that failed."
  },
  libp2p_noise_decrypt_errors_total: {
    name: "libp2p_noise_decrypt_errors_total",
    help: "Packets that could not be decrypted."
  },
  libp2p_kad_dht_routing_table_size: {
    name: "libp2p_kad_dht_routing_table_size",
    help: "Peers in Kademlia's routing table."
  },
  libp2p_kad_dht_inbound_rpc_requests_total: {
    name: "libp2p_kad_dht_inbound_rpc_requests_total",
    help: "Questions of others to Kademlia here.",
    label: rpcs
  },
  libp2p_kad_dht_inbound_rpc_errors_total: {
    name: "libp2p_kad_dht_inbound_rpc_errors_total",
    help: "Questions of others to Kademlia here that failed.",
    label: rpcs
  },
  libp2p_kad_dht_outbound_rpc_requests_total: {
    name: "libp2p_kad_dht_outbound_rpc_requests_total",
    help: "Questions of Kademlia here to others.",
    label: rpcs
  },
  libp2p_kad_dht_outbound_rpc_errors_total: {
    name: "libp2p_kad_dht_outbound_rpc_errors_total",
    help: "Questions of Kademlia here to others that failed.",
    label: rpcs
  }
}
