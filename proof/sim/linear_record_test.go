package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/anishathalye/porcupine"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// record is the history of one run: its clients' requests and their answers. Its clock counts
// requests and answers, so what ended before something else began has the lower number. Many
// goroutines may use it.
type record struct {
	fail func(format string, args ...any)

	mu      sync.Mutex
	clock   int64
	ids     []string
	history []porcupine.Operation
}

// never is the end of a try whose real end is unknown.
const never = math.MaxInt64

func (r *record) tick() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	return r.clock
}

// id returns the index of an update's id among all ids.
func (r *record) id(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.ids, id) {
		r.ids = append(r.ids, id)
	}
	return slices.Index(r.ids, id)
}

func (r *record) note(t try, began int64, s said, ended int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, porcupine.Operation{Input: t, Call: began, Output: s, Return: ended})
}

// withheld reports whether a request is refused because its run cannot be read, either for lack of
// a key or because a newer version wrote it. Both are temporary.
func withheld(err error) bool {
	text := fmt.Sprint(err)
	return errors.Is(err, refusal.NotReady) && (strings.Contains(text, "encrypted") || strings.Contains(text, "newer version"))
}

// answered records the answer to a try of an update. It reports whether that settles the update.
func (r *record) answered(t try, began int64, answer *schema.UpdateResponse, err error) bool {
	switch {
	case errors.Is(err, errDied), errors.Is(err, refusal.OutcomeUnknown):
		r.note(t, began, said{what: "unknown"}, never)
		return false
	case errors.Is(err, refusal.Busy), errors.Is(err, refusal.UpdatesInFlight), withheld(err), isPaused(err):
		return false // nothing was done, and nothing will be
	case err != nil:
		r.fail("%+v: %v", t, err)
		return true
	}
	switch {
	case answer.Stage == schema.StageRejected:
		r.note(t, began, said{what: "rejected"}, r.tick())
	case answer.Stage == schema.StageAccepted:
		r.note(t, began, said{what: "unknown"}, never)
	case answer.Failure != nil:
		r.note(t, began, said{what: "failed"}, r.tick())
	default:
		sum, err := decodeInt(answer.Result)
		if err != nil {
			r.fail("%+v: %v", t, err)
		}
		r.note(t, began, said{"done", sum}, r.tick())
	}
	return true
}

// saw records the answer to a query.
func (r *record) saw(began int64, answer history.Payload) {
	ended := r.tick()
	sum, err := decodeInt(answer)
	if err != nil {
		r.fail("query: %v", err)
	}
	r.note(try{kind: "query"}, began, said{"done", sum}, ended)
}

// text prints the history, in the order of its requests.
func (r *record) text() string {
	var b strings.Builder
	slices.SortFunc(r.history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, op := range r.history {
		ended := fmt.Sprint(op.Return)
		if op.Return == never {
			ended = "-"
		}
		fmt.Fprintf(&b, "%4d to %4s  %+v: %+v\n", op.Call, ended, op.Input, op.Output)
	}
	return b.String()
}
