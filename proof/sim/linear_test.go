package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// observed is a simulation whose clients record each request to its only run, and each answer.
type observed struct {
	*simulation
	record
	program program
}

const theRun = "w0"

// watch plays a simulation with a few clients on one run, and with all faults of other simulations.
// A history that is not linearizable is a failure.
func watch(s *simulation) *observed {
	o := watched(s)
	if len(o.wrong) == 0 && !porcupine.CheckOperations(ledgerModel, lighter(o.history)) {
		s.fail("the history is not linearizable:\n%s", o.text())
	}
	return o
}

func watched(s *simulation) *observed {
	s.begin()
	random := s.stream("plan")
	s.plan = plan{
		processes: 2 + random.IntN(2), workflows: 1, faults: []float64{0, 0.01, 0.03, 0.06}[random.IntN(4)],
		cacheEntries: []int{1000, 1000, -1}[random.IntN(3)], slow: []float64{0, 0.01, 0.03}[random.IntN(3)],
		duplicates: []float64{0, 0.1}[random.IntN(2)], deployAfter: 100 + random.IntN(1000), most: 1,
	}
	s.planSettings()
	violation := func(format string, args ...any) { s.fail("contract broken: "+format, args...) }
	now := func() time.Time { return s.now }
	s.store = storememory.New(storememory.Options{Clock: now, Violation: violation, Encoded: isEncoded})
	s.queue = queuememory.New(queue.Standard(taskQueues...), queuememory.Options{Clock: now, Violation: violation})
	s.audit, s.list, s.sweepAt = newAudit(s), newList(s), s.now.Add(outbox.SweepEvery)
	o := &observed{simulation: s, record: record{fail: s.fail}, program: program{Steps: random.IntN(3), Fan: random.IntN(4), Most: 5 + random.IntN(30)}}
	s.audit.programs[theRun] = o.program
	for range s.plan.processes {
		s.boot(1)
	}
	for c := range 2 + random.IntN(3) {
		s.spawn(s.name("client %d", c), nil, func() { o.client(c) })
	}
	s.startPauses()
	s.loop()
	s.end()
	return o
}

// client is the life of a client. It sends requests one after the other, repeats some whose outcome
// is unknown, and uses some ids that other clients use too.
func (o *observed) client(number int) {
	r := o.ofClient(theRun, number)
	o.start(theRun, fmt.Sprint("start-", number), o.program)
	for op := range 3 + r.IntN(5) {
		id := fmt.Sprintf("%d-%d", number, op)
		switch r.IntN(8) {
		case 0, 1, 2:
			o.send(r, "add", id, 1+r.IntN(9))
		case 3:
			o.send(r, "add", "shared", 4)
		case 4:
			o.send(r, "addSlow", id, 1+r.IntN(9))
		default:
			o.look()
		}
		o.pause(wait{until: o.now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)})
	}
}

// send sends an update, up to three times.
func (o *observed) send(r *draws, kind, id string, n int) {
	o.audit.adding(theRun, id, n)
	input, _ := json.Marshal(n) // a number always encodes
	t := try{kind, o.id(id), n, o.program.Most}
	for range 1 + r.IntN(3) {
		var answer *schema.UpdateResponse
		began := o.tick()
		_, err := o.call(nil, kind+" "+id, func(ctx context.Context, s edge.Service) (err error) {
			answer, err = s.Update(ctx, theRun, "", kind, schema.UpdateRequest{UpdateID: id, Input: input, Timeout: timeout(5 * time.Second)})
			return err
		})
		if o.answered(t, began, answer, err) {
			return
		}
	}
}

// look queries the sum.
func (o *observed) look() {
	var answer *schema.QueryResponse
	began := o.tick()
	_, err := o.call(nil, "query", func(ctx context.Context, s edge.Service) (err error) {
		answer, err = s.Query(ctx, theRun, "", total.Name(), nil)
		return err
	})
	if err != nil {
		return // the query has seen nothing
	}
	o.saw(began, answer.Result)
}

// TestLinearizable records histories of updates and queries of one run, through several processes
// and with faults, and demands that each update and each query took effect at one moment between
// its request and its answer. A failure prints its seed; replay it with
//
//	go test ./proof/sim -run TestLinearizable -seed=N -seeds=1
func TestLinearizable(t *testing.T) {
	t.Parallel()
	seen, tries, together := map[string]int{}, 0, 0
	q := &search{t: t, game: histories, look: func(v any) {
		for _, op := range v.(*observed).history {
			tries++
			seen[op.Input.(try).kind+" "+op.Output.(said).what]++
			if op.Return > op.Call+1 && op.Return != never {
				together++
			}
		}
	}}
	q.run()
	t.Logf("%d histories, %d tries, %d of them at the same time as others: %v", len(q.steps), tries, together, seen)
	if n := len(q.steps); n >= 100 && q.counts["an operator pauses a run"] < n/20 {
		t.Errorf("%d pauses are too few for a result", q.counts["an operator pauses a run"])
	}
	for _, kind := range []string{"query done", "add done", "add rejected", "add unknown", "addSlow done"} {
		if n := len(q.steps); n >= 100 && seen[kind] < n/10 {
			t.Errorf("%d tries were of the kind %q, too few for a result", seen[kind], kind)
		}
	}
}

// Leaving tries out does not change the verdict, neither for real histories nor for histories with
// one wrong answer.
func TestLighter(t *testing.T) {
	t.Parallel()
	wrong := 0
	seeds, least := shortform.Or(60, 15), shortform.Or(100, 25)
	for seed := range uint64(seeds) {
		o := watched(&simulation{seed: seed})
		if strings.Count(o.text(), "unknown") > 6 {
			continue // the search would take too long
		}
		for i := range o.history {
			answer := o.history[i].Output.(said)
			spoilt := slices.Clone(o.history)
			spoilt[i].Output = said{answer.what, answer.sum + 1}
			for _, history := range [][]porcupine.Operation{o.history, spoilt} {
				want := porcupine.CheckOperations(ledgerModel, history)
				if got := porcupine.CheckOperations(ledgerModel, lighter(history)); got != want {
					t.Fatalf("seed %d, answer %d: linearizable is %v, and without some tries %v:\n%s", seed, i, want, got, o.text())
				} else if !got {
					wrong++
				}
			}
		}
	}
	if wrong < least {
		t.Errorf("only %d histories were wrong", wrong)
	}
}
