package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	announceTopic  = "/sf-network/services/announce"
	heartbeatTopic = "/sf-network/services/heartbeat"
)

// announcement is what a server says of itself once an hour.
type announcement struct {
	ServerID        string    `json:"server_id"`
	Capabilities    []string  `json:"capabilities"`
	MaxStorage      string    `json:"max_storage"`
	RetentionPolicy string    `json:"retention_policy"`
	Region          string    `json:"region,omitempty"`
	Regions         []string  `json:"regions"`
	UptimeScore     float64   `json:"uptime_score"`
	Healthy         bool      `json:"healthy"`
	Timestamp       time.Time `json:"timestamp"`
	Port            int       `json:"port"`
}

// heartbeat is the verdict of a server's last self-check.
type heartbeat struct {
	ServerID    string    `json:"server_id"`
	Healthy     bool      `json:"healthy"`
	UptimeScore float64   `json:"uptime_score"`
	Timestamp   time.Time `json:"timestamp"`
}

var (
	errMalformed = errors.New("malformed")
	errForged    = errors.New("forged")
)

// decode reads a message of a topic as a server in the field does: encoding/json into a struct, where a missing
// healthy is true, and a server_id that is the peer that signed. The result is an announcement or a heartbeat.
func decode(topic string, from peer.ID, data []byte) (any, error) {
	switch topic {
	case announceTopic:
		message := announcement{Healthy: true}
		if err := json.Unmarshal(data, &message); err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}
		return message, signedBy(from, message.ServerID)
	case heartbeatTopic:
		message := heartbeat{Healthy: true}
		if err := json.Unmarshal(data, &message); err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}
		return message, signedBy(from, message.ServerID)
	default:
		return nil, fmt.Errorf("%w: no such topic: %s", errMalformed, topic)
	}
}

func signedBy(from peer.ID, serverID string) error {
	named, err := peer.Decode(serverID)
	if err != nil {
		return fmt.Errorf("%w: server_id: %w", errMalformed, err)
	}
	if named != from {
		return fmt.Errorf("%w: signed by %s, names %s", errForged, from, named)
	}
	return nil
}
