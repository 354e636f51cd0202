package sim

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The history of a ledger is a sequence of tries. A try is a request that was sent, including
// repetitions. try is the input of a try.
type try struct {
	kind  string // query, add or addSlow
	id    int    // index of the update's id among all ids
	n     int    // the amount to add
	limit int    // the largest sum that add accepts
}

// said is the answer to a try. If it is unknown, the try may take effect at any time after it was
// sent, or never. Never needs no case of its own, because nobody sees an effect at the end of a
// history.
type said struct {
	what string // done, rejected, failed or unknown
	sum  int    // the result of a query or an update
}

// maxIDs is the largest number of update ids in a history.
const maxIDs = 40

// ledgerState is the state of a ledger: its sum, and the results of its completed updates.
type ledgerState struct {
	sum     int
	results [maxIDs]int16 // 0 is an update that has not completed, and failedResult one that has failed
}

const failedResult = -1

var seed = maphash.MakeSeed()

// ledgerModel is the sequential model of updates and queries of one run. Each takes effect at one
// moment between its request and its answer, one after the other, and each update takes effect
// once.
var ledgerModel = porcupine.Model{
	Init: func() any { return ledgerState{} },
	Step: func(state, input, output any) (bool, any) {
		ok, after := step(state.(ledgerState), input.(try), output.(said))
		return ok, after
	},
	Hash: func(state any) uint64 {
		return maphash.Comparable(seed, state.(ledgerState))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// step plays one try. It reports whether the answer is possible.
func step(l ledgerState, t try, s said) (bool, ledgerState) {
	if t.kind == "query" {
		return s.what == "done" && s.sum == l.sum, l
	}
	known := l.results[t.id] != 0
	fits := t.kind == "addSlow" || l.sum+t.n <= t.limit
	switch {
	case s.what == "rejected":
		return !known && !fits, l
	case s.what == "failed" && !known:
		l.results[t.id] = failedResult
	case !known && fits:
		l.sum += t.n
		l.results[t.id] = int16(l.sum)
	}
	switch s.what {
	case "failed":
		return l.results[t.id] == failedResult, l
	case "done":
		return int(l.results[t.id]) == s.sum && s.sum > 0, l
	}
	return true, l // unknown
}

// lighter returns a history with fewer tries of unknown outcome that is linearizable if and only if
// this one is. Such a try may be in any place, which makes the search long. An update takes effect
// once, so the first of such tries with one id can represent all. If a client received the id's
// result, the update had taken effect by then.
func lighter(history []porcupine.Operation) []porcupine.Operation {
	first, settled := map[int]int64{}, map[int]int64{}
	atMost := func(least map[int]int64, id int, at int64) {
		if before, found := least[id]; !found || at < before {
			least[id] = at
		}
	}
	for _, op := range history {
		switch t, s := op.Input.(try), op.Output.(said); {
		case s.what == "unknown":
			atMost(first, t.id, op.Call)
		case t.kind != "query" && s.what != "rejected":
			atMost(settled, t.id, op.Return)
		}
	}
	var light []porcupine.Operation
	for _, op := range history {
		if op.Output.(said).what == "unknown" {
			id := op.Input.(try).id
			end, found := settled[id]
			if op.Call > first[id] || found && op.Call > end {
				continue
			}
			if found {
				op.Return = end
			}
		}
		light = append(light, op)
	}
	return light
}

// The model accepts correct histories and rejects wrong ones.
func TestLedgerModel(t *testing.T) {
	t.Parallel()
	query := func(call, end int64, sum int) porcupine.Operation {
		return porcupine.Operation{Input: try{kind: "query"}, Call: call, Output: said{"done", sum}, Return: end}
	}
	add := func(call, end int64, id, n int, what string, sum int) porcupine.Operation {
		return porcupine.Operation{Input: try{"add", id, n, 10}, Call: call, Output: said{what, sum}, Return: end}
	}
	for _, c := range []struct {
		name    string
		right   bool
		history []porcupine.Operation
	}{
		{"a query sees what was acknowledged", true, []porcupine.Operation{add(1, 2, 0, 3, "done", 3), query(3, 4, 3)}},
		{"a query does not see what was acknowledged", false, []porcupine.Operation{add(1, 2, 0, 3, "done", 3), query(3, 4, 0)}},
		{"a query sees what is under way", true, []porcupine.Operation{add(1, 9, 0, 3, "done", 3), query(3, 4, 3)}},
		{"a query sees it, and a later one does not", false, []porcupine.Operation{add(1, 9, 0, 3, "done", 3), query(3, 4, 3), query(5, 6, 0)}},
		{"an update of unknown outcome takes effect late", true, []porcupine.Operation{add(1, never, 0, 3, "unknown", 0), query(3, 4, 0), query(5, 6, 3)}},
		{"it takes effect twice", false, []porcupine.Operation{add(1, never, 0, 3, "unknown", 0), query(5, 6, 6)}},
		{"it is sent again, and takes effect once", true, []porcupine.Operation{add(1, never, 0, 3, "unknown", 0), add(5, 6, 0, 3, "done", 3), query(7, 8, 3)}},
		{"both were accepted", false, []porcupine.Operation{add(1, 2, 0, 3, "done", 3), add(5, 6, 0, 3, "done", 6)}},
		{"a rejection above the limit", true, []porcupine.Operation{add(1, 2, 0, 9, "done", 9), add(3, 4, 1, 2, "rejected", 0)}},
		{"a rejection below it", false, []porcupine.Operation{add(1, 2, 0, 8, "done", 8), add(3, 4, 1, 2, "rejected", 0)}},
		{"more than the limit is accepted", false, []porcupine.Operation{add(1, 2, 0, 9, "done", 9), add(3, 4, 1, 2, "done", 11)}},
	} {
		if got := porcupine.CheckOperations(ledgerModel, lighter(c.history)); got != c.right {
			t.Errorf("%s: linearizable: %v", c.name, got)
		}
	}
}
