package assembly

import (
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Store is all that a store keeps, except for the list of workflows.
type Store interface {
	store.Log
	store.Attempts
	store.Timers
	store.Keys
	store.Rates
	store.Scanner
}

// PortsOf returns the ports over a store, its list of workflows and a queue. Without a list nobody
// can ask for one.
func PortsOf(s Store, list store.Lister, q queue.Sender) executor.Ports {
	return executor.Ports{Log: s, Attempts: s, Timers: s, Lister: list, Keys: s, Rates: s, Scanner: s, Eraser: s, Queue: q}
}
