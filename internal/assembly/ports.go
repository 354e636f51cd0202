package assembly

import (
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Store is everything that a store keeps, except the list of workflows.
type Store interface {
	store.Log
	store.Attempts
	store.Timers
	store.Keys
	store.Rates
	store.Scanner
}

// PortsOf returns the ports over a store, its list of workflows and a queue. If list is nil, the
// deployment cannot list workflows.
func PortsOf(s Store, list store.Lister, q queue.Sender) executor.Ports {
	return executor.Ports{Log: s, Attempts: s, Timers: s, Lister: list, Keys: s, Rates: s, Scanner: s, Eraser: s}.Over(q)
}
