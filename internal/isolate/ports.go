package isolate

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// The arguments and results of the calls.
type (
	none     struct{}
	backward struct {
		Workflow      string
		Before, Until store.Key
		Limit         int
	}
	forward struct {
		From  store.Key
		Limit int
	}
	runOf struct {
		Workflow string
		Run      uint32
	}
	dueBefore struct {
		Before time.Time
		Limit  int
	}
	listed struct {
		StartedAfter, StartedBefore time.Time
		Oldest                      bool
		Token                       string
		Limit                       int
	}
	rows struct {
		Runs []store.Summary
		Next string
	}
	scanned struct {
		Items []store.Item
		Next  string
	}
	deleted struct {
		Items    []store.Item
		Attempts []store.Attempt
	}
	mark struct{ Old, New []byte }
	sent struct {
		Queue    string
		Messages []queue.Message
	}
	browsed struct {
		Queue string
		Limit int
	}
	extended struct {
		Queue, Receipt string
		By             time.Duration
	}
)

// serveStore serves the ports of a store.
func serveStore(mux *http.ServeMux, p executor.Ports) {
	handle(mux, "/append", func(ctx context.Context, q []store.Item) (none, error) { return none{}, p.Log.Append(ctx, q...) })
	handle(mux, "/backward", func(ctx context.Context, q backward) (store.Page, error) {
		return p.Log.Backward(ctx, q.Workflow, q.Before, q.Until, q.Limit)
	})
	handle(mux, "/forward", func(ctx context.Context, q forward) (store.Page, error) { return p.Log.Forward(ctx, q.From, q.Limit) })
	handle(mux, "/recordAttempt", func(ctx context.Context, q store.Attempt) (none, error) {
		return none{}, p.Attempts.RecordAttempt(ctx, q)
	})
	handle(mux, "/readAttempts", func(ctx context.Context, q runOf) ([]store.Attempt, error) {
		return p.Attempts.ReadAttempts(ctx, q.Workflow, q.Run)
	})
	handle(mux, "/putTimers", func(ctx context.Context, q []store.Timer) (none, error) { return none{}, p.Timers.PutTimers(ctx, q) })
	handle(mux, "/dueTimers", func(ctx context.Context, q dueBefore) ([]store.Timer, error) {
		return p.Timers.DueTimers(ctx, q.Before, q.Limit)
	})
	handle(mux, "/deleteTimers", func(ctx context.Context, q []store.Timer) (none, error) {
		return none{}, p.Timers.DeleteTimers(ctx, q)
	})
	handle(mux, "/readKey", func(ctx context.Context, _ none) ([]byte, error) { return p.Keys.ReadKey(ctx) })
	handle(mux, "/makeKey", func(ctx context.Context, q []byte) (none, error) { return none{}, p.Keys.MakeKey(ctx, q) })
	handle(mux, "/reserve", func(ctx context.Context, q store.Reservation) (time.Time, error) { return p.Rates.Reserve(ctx, q) })
	serveWalks(mux, p)
}

// serveWalks serves the list and the check over all runs.
func serveWalks(mux *http.ServeMux, p executor.Ports) {
	handle(mux, "/listRuns", func(ctx context.Context, q listed) (rows, error) {
		runs, next, err := p.Lister.ListRuns(ctx, store.Filter{StartedAfter: q.StartedAfter, StartedBefore: q.StartedBefore, Oldest: q.Oldest}, q.Token, q.Limit)
		return rows{runs, next}, err
	})
	handle(mux, "/scan", func(ctx context.Context, q listed) (scanned, error) {
		items, next, err := p.Scanner.Scan(ctx, q.Token, q.Limit)
		return scanned{items, next}, err
	})
	handle(mux, "/delete", func(ctx context.Context, q deleted) (none, error) {
		return none{}, p.Scanner.Delete(ctx, q.Items, q.Attempts)
	})
	handle(mux, "/readMark", func(ctx context.Context, _ none) ([]byte, error) { return p.Scanner.ReadMark(ctx) })
	handle(mux, "/writeMark", func(ctx context.Context, q mark) (none, error) { return none{}, p.Scanner.WriteMark(ctx, q.Old, q.New) })
}

// serveQueue serves the calls of a child to the queues. Only the parent receives and deletes.
func serveQueue(mux *http.ServeMux, p executor.Ports, r queue.Receiver) {
	handle(mux, "/send", func(ctx context.Context, q sent) (none, error) {
		return none{}, p.Queue.Send(ctx, q.Queue, q.Messages...)
	})
	handle(mux, "/extend", func(ctx context.Context, q extended) (none, error) {
		return none{}, r.Extend(ctx, q.Queue, q.Receipt, q.By)
	})
	if p.Inspector != nil {
		handle(mux, "/depth", func(ctx context.Context, q string) (queue.Depth, error) { return p.Inspector.Depth(ctx, q) })
	}
	if p.Redriver != nil {
		handle(mux, "/redrive", func(ctx context.Context, q string) (none, error) { return none{}, p.Redriver.Redrive(ctx, q) })
	}
	if p.Browser != nil {
		handle(mux, "/browse", func(ctx context.Context, q browsed) ([][]byte, error) { return p.Browser.Browse(ctx, q.Queue, q.Limit) })
	}
}

// ports are the ports of the parent, as a child calls them.
type ports struct{ c *http.Client }

// Append is store.Log's. If the parent does not answer, the error wraps store.ErrUnknown: the items
// may be put.
func (p ports) Append(ctx context.Context, items ...store.Item) error {
	_, err := call[[]store.Item, none](ctx, p.c, "/append", items)
	return unknown(err)
}

// unknown marks the error of a write that was not answered.
func unknown(err error) error {
	if errors.Is(err, errBroken) {
		return errors.Join(store.ErrUnknown, err)
	}
	return err
}

// Backward is store.Log's.
func (p ports) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	return call[backward, store.Page](ctx, p.c, "/backward", backward{workflow, before, until, limit})
}

// Forward is store.Log's.
func (p ports) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	return call[forward, store.Page](ctx, p.c, "/forward", forward{from, limit})
}

// RecordAttempt is store.Attempts'.
func (p ports) RecordAttempt(ctx context.Context, a store.Attempt) error {
	_, err := call[store.Attempt, none](ctx, p.c, "/recordAttempt", a)
	return err
}

// ReadAttempts is store.Attempts'.
func (p ports) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	return call[runOf, []store.Attempt](ctx, p.c, "/readAttempts", runOf{workflow, run})
}

// PutTimers is store.Timers'.
func (p ports) PutTimers(ctx context.Context, timers []store.Timer) error {
	_, err := call[[]store.Timer, none](ctx, p.c, "/putTimers", timers)
	return err
}

// DueTimers is store.Timers'.
func (p ports) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	return call[dueBefore, []store.Timer](ctx, p.c, "/dueTimers", dueBefore{before, limit})
}

// DeleteTimers is store.Timers'.
func (p ports) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	_, err := call[[]store.Timer, none](ctx, p.c, "/deleteTimers", timers)
	return err
}

// ListRuns is store.Lister's. The filter's function runs here: ListRuns asks for rows until it has
// enough.
func (p ports) ListRuns(ctx context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	for {
		got, err := call[listed, rows](ctx, p.c, "/listRuns", listed{f.StartedAfter, f.StartedBefore, f.Oldest, token, limit - len(runs)})
		if err != nil {
			return nil, "", err
		}
		for i := range got.Runs {
			if f.Where == nil || f.Where(&got.Runs[i]) {
				runs = append(runs, got.Runs[i])
			}
		}
		if token = got.Next; token == "" || len(runs) == limit {
			return runs, token, nil
		}
	}
}

// Scan is store.Scanner's.
func (p ports) Scan(ctx context.Context, cursor string, limit int) (items []store.Item, next string, err error) {
	got, err := call[listed, scanned](ctx, p.c, "/scan", listed{Token: cursor, Limit: limit})
	return got.Items, got.Next, err
}

// Delete is store.Eraser's.
func (p ports) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	_, err := call[deleted, none](ctx, p.c, "/delete", deleted{items, attempts})
	return err
}

// ReadMark is store.Scanner's.
func (p ports) ReadMark(ctx context.Context) ([]byte, error) {
	return call[none, []byte](ctx, p.c, "/readMark", none{})
}

// WriteMark is store.Scanner's.
func (p ports) WriteMark(ctx context.Context, old, to []byte) error {
	_, err := call[mark, none](ctx, p.c, "/writeMark", mark{old, to})
	return err
}

// ReadKey is store.Keys'.
func (p ports) ReadKey(ctx context.Context) ([]byte, error) {
	return call[none, []byte](ctx, p.c, "/readKey", none{})
}

// MakeKey is store.Keys'.
func (p ports) MakeKey(ctx context.Context, key []byte) error {
	_, err := call[[]byte, none](ctx, p.c, "/makeKey", key)
	return err
}

// Reserve is store.Rates'. If the parent does not answer, the error wraps store.ErrUnknown: the
// mark may have moved.
func (p ports) Reserve(ctx context.Context, s store.Reservation) (time.Time, error) {
	at, err := call[store.Reservation, time.Time](ctx, p.c, "/reserve", s)
	return at, unknown(err)
}

// Send is queue.Sender's.
func (p ports) Send(ctx context.Context, name string, messages ...queue.Message) error {
	_, err := call[sent, none](ctx, p.c, "/send", sent{name, messages})
	return err
}

// Extend is queue.Receiver's.
func (p ports) Extend(ctx context.Context, name, receipt string, d time.Duration) error {
	_, err := call[extended, none](ctx, p.c, "/extend", extended{name, receipt, d})
	return err
}

// Depth is queue.Inspector's.
func (p ports) Depth(ctx context.Context, name string) (queue.Depth, error) {
	return call[string, queue.Depth](ctx, p.c, "/depth", name)
}

// Redrive is queue.Redriver's.
func (p ports) Redrive(ctx context.Context, name string) error {
	_, err := call[string, none](ctx, p.c, "/redrive", name)
	return err
}

// Browse is queue.Browser's.
func (p ports) Browse(ctx context.Context, name string, limit int) ([][]byte, error) {
	return call[browsed, [][]byte](ctx, p.c, "/browse", browsed{name, limit})
}
