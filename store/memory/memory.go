// Package memory is the store of tests and simulations. It gives the port's guarantees and no
// others, and it checks its callers: it reports a call that breaks a rule of the port, at the
// latest in [Store.Check] at the end of a test.
//
// If the port leaves a choice, this store does what is harder for callers. It keeps the slices that
// it is given, it rounds times as the coarsest adapter does, and it reports that there may be more
// if it need not know.
package memory

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

const (
	// maxBody is the space in an item of DynamoDB that the longest keys leave for a body.
	maxBody = 396 << 10
	// pageBytes is the size of a page.
	pageBytes = 1 << 20
	// overhead is what an item counts for in a page in addition to its body and its workflow's id.
	overhead = 100
)

// Options are the options of a store. The zero value works.
type Options struct {
	// Clock returns the time for DeleteExpired, and does not go back; nil means time.Now.
	Clock func() time.Time
	// Violation is called with the rule of the port that a caller broke; nil panics. It must not
	// call the store.
	Violation func(format string, args ...any)
	// Encoded reports whether a body is encrypted; nil means never. A repeat of an Append may have
	// other encrypted bytes, if the data key was replaced (see internal/codec).
	Encoded func(body []byte) bool
	// MaxBody is the largest body; 0 means about DynamoDB's limit.
	MaxBody int
}

// Store is a store in memory: the log, the attempts, the timers and the list of one namespace. It
// is safe for concurrent use.
type Store struct {
	options Options
	seed    maphash.Seed

	mu        sync.Mutex
	workflows map[string]*workflow
	attempts  map[place]map[int64]*attempt
	timers    []*timer          // by due, then by id
	returned  map[timerKey]bool // the timers that DueTimers has returned, which may be deleted
	rows      map[place]store.Summary
	expiry    expiry
	// commits has the digest of the Append that first used a commit id. It survives the items: an
	// id is used once.
	commits map[[16]byte]uint64
	mark    []byte
	key     []byte           // the deployment's signing key, or nil
	marks   map[string]int64 // by task queue, in microseconds since 1970
	puts    int
}

var _ interface {
	store.Log
	store.Attempts
	store.Timers
	store.Lister
	store.Scanner
} = (*Store)(nil)

// place is a run of a workflow.
type place struct {
	workflow string
	run      uint32
}

// errMisuse is the error of a call that was reported and cannot be carried out.
var errMisuse = errors.New("store/memory: the call breaks a rule of the port")

// New returns an empty store.
func New(o Options) *Store {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Violation == nil {
		o.Violation = func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
	}
	if o.MaxBody == 0 {
		o.MaxBody = maxBody
	}
	return &Store{
		options: o, seed: maphash.MakeSeed(), workflows: map[string]*workflow{}, attempts: map[place]map[int64]*attempt{}, marks: map[string]int64{},
		returned: map[timerKey]bool{}, rows: map[place]store.Summary{}, commits: map[[16]byte]uint64{},
	}
}

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, items ...store.Item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b store.Item) int { return compare(a.Key, b.Key) })
	if !s.inspect(items) {
		return errMisuse
	}
	for _, item := range items {
		if err := s.fits(item.Body); err != nil {
			return err
		}
	}
	for _, item := range items {
		if r := s.workflows[item.Workflow].at(item.Key); r != nil && (item.Over == [16]byte{} || r.item.Commit != item.Over) {
			return &store.Conflict{Existing: r.read()}
		}
	}
	for _, item := range items {
		s.put(item)
	}
	return nil
}

// fits returns an error for a body that is too large.
func (s *Store) fits(body []byte) error {
	if len(body) > s.options.MaxBody {
		return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, len(body), s.options.MaxBody)
	}
	return nil
}

func (s *Store) put(item store.Item) {
	w := s.workflows[item.Workflow]
	if w == nil {
		w = &workflow{ends: map[uint32]uint32{}}
		s.workflows[item.Workflow] = w
	}
	if standing := w.at(item.Key); standing != nil {
		s.expire(w, standing)
		if at := (place{item.Workflow, item.Run}); standing.item.Summary != nil && s.rows[at] == *standing.item.Summary {
			delete(s.rows, at)
		}
	}
	s.puts++
	item.Over = [16]byte{}
	r := &record{item: item, digest: s.digest(item), number: s.puts}
	w.insert(r)
	if item.Summary != nil {
		s.rows[place{item.Workflow, item.Run}] = *item.Summary
	}
	if !item.Expires.IsZero() {
		r.perishable = &perishable{at: item.Expires, remove: func() {
			r.perishable = nil
			s.expire(w, r)
		}}
		s.expiry.add(r.perishable)
	}
}

// expire removes a record that has expired or is deleted. With the last item of a run it removes
// the run's row.
func (s *Store) expire(w *workflow, r *record) {
	s.examine(r)
	s.expiry.drop(r.perishable)
	w.remove(r)
	if !w.has(r.item.Run) {
		delete(s.rows, place{r.item.Workflow, r.item.Run})
	}
}

// Backward implements store.Log.
func (s *Store) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workflows[workflow].backward(before, until, limit), nil
}

// Forward implements store.Log.
func (s *Store) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workflows[from.Workflow].forward(from, limit), nil
}

// Dump returns all items of a workflow, in order.
func (s *Store) Dump(workflow string) []store.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []store.Item
	if w := s.workflows[workflow]; w != nil {
		for _, r := range w.records {
			items = append(items, r.read())
		}
	}
	return items
}

// DeleteExpired deletes one expired item or attempt, and returns false if there is none. pick
// selects one of n, which are in no meaningful order: in a simulation that picks at random, runs
// lose their items as in DynamoDB.
func (s *Store) DeleteExpired(pick func(n int) int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expiry.take(s.options.Clock(), pick)
}

// roundUp returns an expiry as the store keeps it: in whole seconds, and never earlier than given.
func roundUp(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}
