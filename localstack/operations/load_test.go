//go:build deploycheck

package operations_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/localstack/check/gifts"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow of the shop, as its package orders declares it.
type (
	order struct {
		Customer string `json:"customer"`
		Seconds  int    `json:"seconds"`
	}
	line struct {
		Thing    string `json:"thing"`
		Quantity int    `json:"quantity"`
		Cents    int    `json:"cents"`
	}
	receipt struct {
		Cents   int    `json:"cents"`
		Payment string `json:"payment"`
	}
)

var (
	orders = workflow.NewWorkflow[order, receipt]("order")
	add    = workflow.NewUpdate[line, int]("add")
	pay    = workflow.NewSignal[string]("pay")
)

const (
	// patience is how long a caller waits for an answer.
	patience = 25 * time.Second
	// settle is how long the runs may take to end when all alarms have ended: a message that became
	// a dead letter is sent again after five minutes.
	settle = 8 * time.Minute
	// callers is how many callers there are at most. More requests are not sent.
	callers = 30
	// updates is how many updates a minute sends, and perOrder in how many minutes an order gets
	// them.
	updates, perOrder = 2, 5
	// longTimer is for how many seconds an order waits whose timer is in the table: the deployment
	// has a LongTimer of 5s.
	longTimer = 6
)

// load sends orders, and knows what was acknowledged.
type load struct {
	client *client.Client
	free   chan struct{}
	calls  sync.WaitGroup // of callers
	others sync.WaitGroup

	mu      sync.Mutex
	paused  bool // nobody calls
	minutes int
	gifts   int // that were started
	busy    map[string]bool
	open    []*placed // orders whose start was acknowledged
	refused map[string]int
}

// placed is a run whose start was acknowledged.
type placed struct {
	id           string
	ends         func(context.Context) (cents int, err error) // returns when it has ended
	ordered      bool                                         // it is an order that waits for its payment
	acknowledged []string                                     // the ids of updates
}

func newLoad(c *client.Client) *load {
	return &load{client: c, free: make(chan struct{}, callers), busy: map[string]bool{}, refused: map[string]int{}}
}

// stop returns when no call runs any more. No other may begin.
func (l *load) stop() {
	l.calls.Wait()
	l.others.Wait()
}

// begin runs a call, unless there are too many already.
func (l *load) begin(ctx context.Context, call func(context.Context)) {
	select {
	case l.free <- struct{}{}:
	default:
		return
	}
	l.calls.Go(func() {
		defer func() { <-l.free }()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		call(ctx)
	})
}

// once runs a call, unless the last one with this name still runs.
func (l *load) once(name string, call func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[name] {
		return
	}
	l.busy[name] = true
	l.others.Go(func() {
		call()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy[name] = false
	})
}

// minute sends what callers send in a minute.
func (l *load) minute(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused {
		return
	}
	n := l.minutes
	l.minutes++
	if n%perOrder == 0 {
		l.begin(ctx, func(ctx context.Context) { l.place(ctx, fmt.Sprint("order-", n), 86400) })
		l.begin(ctx, func(ctx context.Context) { l.place(ctx, fmt.Sprint("timer-", n), 1) })
		l.begin(ctx, func(ctx context.Context) { l.place(ctx, fmt.Sprint("long-timer-", n), longTimer) })
		l.begin(ctx, func(ctx context.Context) { _ = l.wrap(ctx, 2) })
	}
	var last *placed
	for _, o := range l.open {
		if o.ordered {
			last = o
		}
	}
	if last == nil {
		return
	}
	for i := range updates {
		l.begin(ctx, func(ctx context.Context) { l.update(ctx, last, fmt.Sprintf("add-%d-%d", n, i)) })
	}
}

// place starts an order, which ends by its timer unless it waits for a day.
func (l *load) place(ctx context.Context, id string, seconds int) {
	run, err := orders.Start(ctx, l.client, id, order{"ada", seconds})
	_ = l.started(err, &placed{id: id, ordered: seconds > longTimer, ends: func(ctx context.Context) (int, error) {
		got, err := run.Result(ctx)
		return got.Cents, err
	}})
}

// wrap starts a run with so many activities at once.
func (l *load) wrap(ctx context.Context, n int) error {
	l.mu.Lock()
	l.gifts++
	id := fmt.Sprint("gifts-", l.gifts)
	l.mu.Unlock()
	run, err := gifts.Workflow.Start(ctx, l.client, id, n)
	return l.started(err, &placed{id: id, ends: func(ctx context.Context) (int, error) {
		got, err := run.Result(ctx)
		if err == nil && got != n {
			err = fmt.Errorf("%d gifts, want %d", got, n)
		}
		return 0, err
	}})
}

// started notes that a run has started, or why it has not.
func (l *load) started(err error, p *placed) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.refused[err.Error()]++
		return err
	}
	l.open = append(l.open, p)
	return nil
}

// update adds to an order.
func (l *load) update(ctx context.Context, o *placed, id string) {
	_, err := add.Call(ctx, l.client, o.id, line{"tea", 1, 1}, client.UpdateOptions{ID: id})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.refused[err.Error()]++
		return
	}
	o.acknowledged = append(o.acknowledged, id)
}

// pause has callers stop, or continue.
func (l *load) pause(stop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = stop
}

// audit pays all orders, and demands that each ends and has each update that was acknowledged. It
// forgets them. Nobody calls meanwhile.
func (l *load) audit(ctx context.Context) error {
	l.pause(true)
	defer l.pause(false)
	l.calls.Wait()
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	l.mu.Lock()
	open := l.open
	l.open = nil
	l.mu.Unlock()
	var errs []error
	updates := 0
	for _, o := range open {
		if err := l.settle(ctx, o); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.id, err))
		}
		updates += len(o.acknowledged)
	}
	if updates == 0 {
		errs = append(errs, errors.New("no update was acknowledged: the audit shows nothing"))
	}
	return errors.Join(errs...)
}

func (l *load) settle(ctx context.Context, o *placed) error {
	if o.ordered {
		if err := pay.Send(ctx, l.client, o.id, "card"); err != nil {
			return err
		}
	}
	cents, err := o.ends(ctx)
	if err != nil {
		return err
	}
	h, err := l.client.History(ctx, o.id, "")
	if err != nil {
		return err
	}
	accepted := map[string]bool{}
	for _, e := range h.Events {
		if a, ok := e.Attributes.(*history.WorkflowExecutionUpdateAccepted); ok {
			accepted[a.UpdateID] = true
		}
	}
	for _, id := range o.acknowledged {
		if !accepted[id] {
			return fmt.Errorf("the update %s was acknowledged and is not in the history", id)
		}
	}
	if o.ordered && cents != len(accepted) {
		return fmt.Errorf("the receipt has %d cents for %d updates", cents, len(accepted))
	}
	return nil
}
