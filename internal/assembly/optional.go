package assembly

import (
	"log/slog"
	"strings"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Optional are the optional ports of a program's own backend that a process uses.
type Optional struct {
	// Store is the program's store; nil means that Weft has one of its own.
	Store store.Store
	// Deletes reports whether the process deletes what has expired.
	Deletes bool
	// Queue is the program's queues; nil means Weft's own.
	Queue queue.Queue
	// NoBlobs reports whether the process has no place for large payloads, and was not told to do
	// without.
	NoBlobs bool
}

// LogMissing logs one line that names the optional ports that a backend lacks, and what does not
// work without them. It logs nothing if the backend has all of them. A wrapper that embeds the
// interface store.Store lacks them although the store that it wraps has them.
func (o Optional) LogMissing(log *slog.Logger) {
	var missing []string
	if _, ok := o.Store.(store.Lister); o.Store != nil && !ok {
		missing = append(missing, "store.Lister: workflows and schedules cannot be listed")
	}
	if _, ok := o.Store.(store.Expirer); o.Store != nil && o.Deletes && !ok {
		missing = append(missing, "store.Expirer: expired runs are not deleted, unless the store's service does it")
	}
	if o.Queue != nil {
		missing = append(missing, missingOfQueue(o.Queue)...)
	}
	if o.NoBlobs {
		missing = append(missing, "blob.Blobs: payloads of more than 256 KiB are refused")
	}
	if len(missing) > 0 {
		log.Warn("the program's backend lacks optional ports", "missing", strings.Join(missing, "; "))
	}
}

// missingOfQueue returns the optional parts that queues lack, and what does not work without them.
func missingOfQueue(q queue.Queue) (missing []string) {
	if _, ok := q.(queue.Inspector); !ok {
		missing = append(missing, "queue.Inspector: messages are not counted")
	}
	if _, ok := q.(queue.Redriver); !ok {
		missing = append(missing, "queue.Redriver: dead letters are not moved back on request")
	}
	return missing
}
