package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/store"
)

// tornTransaction makes the items of a transaction appear to readers at different times. Its writer
// gets its answer when all have appeared.
var tornTransaction = newFault("store: a transaction appears in parts",
	"DynamoDB Developer Guide, Amazon DynamoDB Transactions: How it works, Isolation levels: a Query, a Scan or a BatchGetItem beside a "+
		"TransactWriteItems is read-committed. It can see the new state of one item of the transaction and the old state of another.",
	0.5, 0.8)

// recovery is the longest time until all items of a transaction have appeared.
const recovery = 3 * time.Second

// torn are the items that reads do not see yet, each with the time until then.
type torn map[store.Key]time.Time

// tear hides some items of an applied transaction. The returned function waits until reads see
// them.
func (s *simulation) tear(items []store.Item, err error) (appear func()) {
	if err != nil || len(items) < 2 || !s.hits(tornTransaction) {
		return func() {}
	}
	r := s.of(tornTransaction)
	hidden, until := make([]int, len(items)), s.now.Add(time.Duration(r.Int64N(int64(recovery))))
	for i := range hidden {
		hidden[i] = i
	}
	r.Shuffle(len(hidden), func(i, j int) { hidden[i], hidden[j] = hidden[j], hidden[i] })
	hidden = hidden[:1+r.IntN(len(items)-1)]
	for _, i := range hidden {
		if s.torn == nil {
			s.torn = torn{}
		}
		s.torn[items[i].Key] = until
		s.log("reads do not see %s yet", items[i].Key)
	}
	return func() {
		s.pause(wait{until: until})
		for _, i := range hidden {
			delete(s.torn, items[i].Key)
		}
	}
}

// seen returns the items that a read sees.
func (s *simulation) seen(items []store.Item) []store.Item {
	if len(s.torn) == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(i store.Item) bool {
		until, hidden := s.torn[i.Key]
		return hidden && s.now.Before(until)
	})
}

// seenPage returns what a read sees of a page. If it sees nothing, next reads the page after an
// item.
func (s *simulation) seenPage(page store.Page, err error, next func(store.Key) (store.Page, error)) (store.Page, error) {
	for err == nil && len(page.Items) > 0 {
		items := s.seen(page.Items)
		if len(items) > 0 || !page.More {
			page.Items = items
			return page, nil
		}
		page, err = next(page.Items[len(page.Items)-1].Key)
	}
	return page, err
}

// noteGaps counts the times at which the workflows of some items have no open run.
func (a *audit) noteGaps(items []store.Item) {
	if workflow := items[0].Workflow; !a.isOpen(workflow) {
		a.gaps[workflow]++
	}
}

// isOpen reports whether a workflow has an open run that has not expired.
func (a *audit) isOpen(workflow string) bool {
	for _, run := range slices.Backward(a.runs[workflow]) {
		if expires := run.State.Expires; !run.State.Status.Closed() && (expires == 0 || a.s.now.Add(time.Minute).Before(expires.Time())) {
			return true
		}
	}
	return false
}

// found wraps a request to a workflow. The answer that there is no open run is correct only if
// there was none at some moment since the request began.
func (s *simulation) found(id string, fn func(context.Context, edge.Service) error) func(context.Context, edge.Service) error {
	return func(ctx context.Context, t edge.Service) error {
		open, gaps := s.audit.isOpen(id), s.audit.gaps[id]
		err := fn(ctx, t)
		if errors.Is(err, refusal.NotFound) && open && gaps == s.audit.gaps[id] && s.audit.isOpen(id) {
			s.fail("a request to %s was answered %v, and the workflow was open all the time", id, err)
		}
		return err
	}
}
