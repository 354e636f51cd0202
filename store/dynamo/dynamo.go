package dynamo

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/awstry"
	"github.com/seed-41655fb1/weft/store"
)

// Options are the options of a store. The zero value works.
type Options struct {
	// Table is the table's name; empty is "weft".
	Table string
	// Namespace is the part of the table that the store may use: it is the prefix of all its keys.
	// It consists of letters, digits, "_", "." and "-"; empty means "default".
	Namespace string
	// NoList leaves opened and closed runs out of the list. Each of those commits then costs one
	// index write less.
	NoList bool
	// Clock returns the time by which the list hides expired runs; nil means time.Now. Nothing else
	// here uses the time.
	Clock func() time.Time
	// Report is called for each damaged item that a list, a scan or a sweep skipped; nil logs it
	// with slog.Default. The error names the item's key, and nothing of its contents.
	Report func(error)
	// Others is called with the name of another namespace whose runs a scan met, at most once an
	// hour for each; nil logs it with slog.Default. A namespace that was changed by mistake leaves
	// its runs behind.
	Others func(namespace string)
	// TryTimeout is how long one try of a request, including its answer, may take. Then a read is
	// sent again on another connection, and a write's outcome is unknown. It doubles, up to
	// fourfold, while consecutive requests get no answer. 0 means 2 s.
	TryTimeout time.Duration
}

// tryTimeout is the default of Options.TryTimeout: about a hundred times what DynamoDB takes, and a
// tenth of what a request to Weft may take.
const tryTimeout = 2 * time.Second

// Store stores histories in a table. It is safe for concurrent use. Nothing depends on its state.
type Store struct {
	client    *dynamodb.Client
	table     string
	namespace string
	lists     bool
	clock     func() time.Time
	report    func(error)
	others    func(error) // of the name of another namespace
	marks     sync.Map    // the last seen mark of each task queue, in microseconds: it only saves writes
}

var _ interface {
	store.Log
	store.Attempts
	store.Timers
	store.Scanner
	store.Rates
} = (*Store)(nil)

// isNamespace reports whether a text consists of 1 to 128 letters, digits, and "_.-". A regular
// expression would add a quarter of a millisecond to each cold start.
func isNamespace(s string) bool {
	return len(s) > 0 && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune(namespaceCharacters, r)
	})
}

const namespaceCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// New returns the store of a namespace in an existing table (see [CreateTable]). It sends nothing.
// The client's retry settings do not matter: the store retries by itself, because it has to know of
// each request whether it may have been applied.
func New(client *dynamodb.Client, o Options) (*Store, error) {
	if o.Table == "" {
		o.Table = "weft"
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if !isNamespace(o.Namespace) {
		return nil, fmt.Errorf("store/dynamo: the namespace %q is not made of 1 to 128 letters, digits, '_', '.' and '-'", o.Namespace)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Report == nil {
		o.Report = func(err error) { slog.Error("a stored item is damaged, and was skipped", "error", err) }
	}
	if o.Others == nil {
		o.Others = func(namespace string) {
			slog.Warn("the table has runs of another namespace, which this deployment does not continue: if its own was changed, change it back", "namespace", namespace)
		}
	}
	others := seldom(func(err error) { o.Others(err.Error()) }, o.Clock)
	client = dynamodb.New(client.Options(), func(c *dynamodb.Options) {
		c.HTTPClient = awstry.Wrap(c.HTTPClient, awstry.For(o.TryTimeout, tryTimeout))
	})
	return &Store{client: client, table: o.Table, namespace: o.Namespace, lists: !o.NoList, clock: o.Clock, report: seldom(o.Report, o.Clock), others: others}, nil
}

// reportEvery is the shortest time between two reports of the same damage: a sweep meets a damaged
// timer each minute. mostReported is how many reports are remembered; then all are forgotten.
const (
	reportEvery  = time.Hour
	mostReported = 1000
)

// seldom returns a function that passes an error to report, unless it did so recently.
func seldom(report func(error), clock func() time.Time) func(error) {
	var mu sync.Mutex
	last := map[string]time.Time{}
	return func(err error) {
		mu.Lock()
		text, now := err.Error(), clock()
		at, known := last[text]
		again := !known || now.Sub(at) >= reportEvery
		if again {
			if len(last) == mostReported {
				clear(last)
			}
			last[text] = now
		}
		mu.Unlock()
		if again {
			report(err)
		}
	}
}

// Lister returns the list of the namespace's runs, or nil if there is none.
func (s *Store) Lister() store.Lister {
	if !s.lists {
		return nil
	}
	return &list{s}
}
