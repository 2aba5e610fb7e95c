package main

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// silence is how long a server may say nothing and still be listed.
const silence = 2 * time.Hour

// entry is what is believed of one server.
type entry struct {
	announcement
	LastHeard time.Time `json:"last_heard"`
}

// registry keeps an entry for each server heard to announce.
type registry struct {
	mutex   sync.Mutex
	entries map[peer.ID]entry
}

func newRegistry() *registry {
	return &registry{entries: map[peer.ID]entry{}}
}

// note takes an accepted message in. A heartbeat of a server that has not announced changes nothing.
func (r *registry) note(from peer.ID, message any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch said := message.(type) {
	case announcement:
		r.entries[from] = entry{announcement: said, LastHeard: time.Now()}
	case heartbeat:
		known, announced := r.entries[from]
		if !announced {
			return
		}
		known.Healthy, known.UptimeScore, known.Timestamp = said.Healthy, said.UptimeScore, said.Timestamp
		known.LastHeard = time.Now()
		r.entries[from] = known
	}
}

// available lists the servers whose last verdict passed and that were heard lately, highest score first.
func (r *registry) available() []entry {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	listed := []entry{}
	for _, known := range r.entries {
		if known.Healthy && time.Since(known.LastHeard) <= silence {
			listed = append(listed, known)
		}
	}
	slices.SortFunc(listed, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.UptimeScore, a.UptimeScore), cmp.Compare(a.ServerID, b.ServerID))
	})
	return listed
}
