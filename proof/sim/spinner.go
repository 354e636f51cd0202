package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// spinner continues as new again and again without waiting for anything, so that its chain is
// slowed down (docs/semantics.md). It ends after some runs, because a simulation has to end.
var (
	spinner = workflow.NewWorkflow[spin, int]("spinner")
	wake    = workflow.NewSignal[int]("wake")
)

// spin is the input of a spinner.
type spin struct {
	Left  int  // runs after this one
	Reads bool // it receives its signals; otherwise they are passed from run to run
	Woken int  // the number of signals that it has received
}

func (l *code) spin(ctx workflow.Context, p spin) (int, error) {
	for p.Reads {
		_, ok, err := wake.TryReceive(ctx)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		p.Woken++
	}
	if p.Left == 0 {
		return p.Woken, nil
	}
	p.Left--
	return spinner.ContinueAsNew(ctx, p)
}

// spinnerID is the workflow id of a seed's spinner.
const spinnerID = "spinner"

// startSpinner starts a client in some seeds. The client starts a spinner, wakes it from time to
// time, and may end it.
func (s *simulation) startSpinner() {
	if r := s.stream("spinner"); r.oneIn(8) {
		s.spinning = true
		s.spawn(s.name("client of the spinner"), nil, func() { s.spins(r) })
	}
}

// prompt reports whether a message is delivered as soon as it is visible, as most messages are on
// AWS. Otherwise the runs of a spinner are not quick.
func (s *simulation) prompt(m queue.Message) bool {
	if !s.spinning {
		return false
	}
	d, err := s.audit.decode(m.Body)
	return err == nil && d.WorkflowID == spinnerID
}

// spins is the life of the client of a spinner.
func (s *simulation) spins(r *draws) {
	id, p := spinnerID, spin{Left: 20 + r.IntN(40), Reads: r.IntN(2) == 0}
	_, err := s.insist("start "+id, func(ctx context.Context, t edge.Service) error {
		_, err := t.Start(ctx, schema.StartRequest{WorkflowID: &id, Type: spinner.Name(), Input: encoded(p), RequestID: id})
		return err
	})
	if err != nil {
		s.fail("start of %s: %v", id, err)
	}
	for i := range r.IntN(4) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(6000)) * time.Millisecond)})
		_, err := s.insist("wake "+id, func(ctx context.Context, t edge.Service) error {
			_, err := t.Signal(ctx, id, "", wake.Name(), schema.SignalRequest{Input: []byte("1"), RequestID: fmt.Sprintf("wake-%d", i)})
			return err
		})
		if err != nil && !errors.Is(err, refusal.NotFound) {
			s.fail("signal to %s: %v", id, err)
		}
	}
	if r.IntN(4) < 3 {
		return
	}
	s.pause(wait{until: s.now.Add(time.Duration(r.IntN(6000)) * time.Millisecond)})
	_, err = s.insist("cancel "+id, func(ctx context.Context, t edge.Service) error { return t.Cancel(ctx, id, "", "enough") })
	if err != nil && !errors.Is(err, refusal.NotFound) {
		s.fail("cancel of %s: %v", id, err)
	}
}

// The documented limits of a chain that continues as new too fast (docs/semantics.md): so many runs
// in a row may each last less than a second. The next run then begins a second after the run before
// it.
const (
	quickRuns = 10
	quickRun  = time.Second
)

// checkPace demands that a chain that continues as new without waiting continues, and not too fast
// by the times in its log. A run may begin earlier if something arrives for it, or if the clock of
// a process jumps back between its look at the delay and its commit.
func (a *audit) checkPace() {
	runs := slices.DeleteFunc(slices.Clone(a.runs[spinnerID]), (*engine.Run).Void)
	quick := 0 // quick runs in a row
	for i, run := range runs {
		name := spinnerID + " " + string(run.State.RunID)
		started := run.State.Started
		if started.ContinuedFrom == "" {
			quick = 0
		}
		if i > 0 && quick > quickRuns {
			earliest := begun(runs[i-1]).Add(quickRun)
			a.s.count("a chain that continues too fast is slowed down")
			if first := firstTask(run); first != nil && first.Time < earliest && !brings(first) && a.s.play(clockJumps).count == 0 {
				a.s.fail("%s runs at %v; it should wait until %v, because %d runs before it were quick", name, first.Time.Time(), earliest.Time(), quick)
			}
		}
		if run.State.Status != history.ContinuedAsNew {
			continue
		}
		a.follows(name, run)
		if quick++; run.State.CloseTime >= begun(run).Add(quickRun) {
			quick = 0
		}
	}
}

// begun returns when a run began: after its delay, or earlier if something woke it.
func begun(run *engine.Run) history.Timestamp {
	if end := run.State.StartTime.Add(time.Duration(run.State.Started.StartDelay)); end <= run.State.CloseTime {
		return end
	}
	return run.State.StartTime
}

// firstTask returns the commit of a run's first task, or nil if its code has not run.
func firstTask(run *engine.Run) *history.Commit {
	i := slices.IndexFunc(run.Log, func(c *history.Commit) bool { return c.Task != nil })
	if i < 0 {
		return nil
	}
	return run.Log[i]
}

// brings reports whether a commit has an event that arrived from outside.
func brings(c *history.Commit) bool {
	return slices.ContainsFunc(c.InputEvents, func(e history.Event) bool {
		switch e.Attributes.(type) {
		case *history.WorkflowExecutionSignaled, *history.WorkflowExecutionCancelRequested:
			return c.Opens() == nil
		}
		return false
	})
}
