package requests

import (
	"cmp"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// otherBytes limits the stored bytes of the logs of other runs that a request keeps. It reads
// commits again that it needs and lacks.
const otherBytes = 4 << 20

// errTooFar says that an answer would need more than session.MaxLookBack other runs.
var errTooFar = errors.New("the run is too far")

// otherRuns are the runs beside the latest that a request has read. They have closed, so they never
// change.
type otherRuns struct {
	// runs has nil for a run that is gone.
	runs  map[history.RunID]*engine.Run
	bytes int64 // of their logs
	left  int   // how many more may be read
}

func newOtherRuns() otherRuns { return otherRuns{runs: map[history.RunID]*engine.Run{}} }

// begin begins an answer of a run, which has been read.
func (o *otherRuns) begin(run *engine.Run) {
	o.left = session.MaxLookBack
	if run.State.Status.Closed() {
		o.runs[run.State.RunID] = run
	}
}

// add keeps a run, and as much of its log as there is room for.
func (o *otherRuns) add(id history.RunID, run *engine.Run) {
	o.left--
	o.runs[id] = run
	if run == nil {
		return
	}
	room := max(0, otherBytes-o.bytes)
	if run.Trim(room); run.State.Bytes <= room {
		o.bytes += run.State.Bytes
	}
}

// run returns another run of the workflow; nil if it is gone. It reads each run once. It returns
// errTooFar if the answer has read as many as it may.
func (p *topicPage) run(id history.RunID) (*engine.Run, error) {
	if id == p.latest.State.RunID {
		return p.latest, nil
	}
	run, ok := p.others.runs[id]
	switch {
	case ok:
		return run, nil
	case p.ctx == nil:
		return nil, errReads
	case p.others.left == 0:
		return nil, errTooFar
	}
	run, err := p.session.View.Other(p.ctx, id)
	if err == nil {
		p.others.add(id, run)
	}
	return run, err
}

// originOf returns the first run of the chain of a run. Runs that continue it have the same, and so
// have runs that a reset has made of them.
func originOf(run *engine.Run) history.RunID {
	return cmp.Or(run.State.Started.FirstRunID, run.State.RunID)
}

// first returns the offset before which a run's items, or those of the runs that follow it, have
// been truncated. If the latest run is not of the chain, the last one of the chain is found from
// the run on: it may be too far to find it, and then what was truncated until there counts.
func (p *topicPage) first(run *engine.Run) (int64, error) {
	name := p.of.Name()
	first := topicOf(run, name).First
	if originOf(p.latest) == originOf(run) {
		return max(first, topicOf(p.latest, name).First), nil
	}
	for next := run.State.Next(); next != ""; next = run.State.Next() {
		follows, err := p.run(next)
		if err != nil && !errors.Is(err, errTooFar) {
			return 0, err
		}
		if follows == nil {
			break
		}
		run, first = follows, max(first, topicOf(follows, name).First)
	}
	p.others.left = session.MaxLookBack // these do not count for the items
	return first, nil
}

// holder returns the run that has the item at an offset, or that a reset has made of it: this one,
// or one that it continues. If the runs that had the item are gone, it raises the offset.
//
// anchor is the run with which the reader goes on: the holder, if following the runs from there
// leads to this run. After a reset it may not. If the holder is too far, the error is errTooFar,
// and anchor is the run that was reached. A reader that goes on there comes to the item as well,
// and is told what a reset has withdrawn.
func (p *topicPage) holder(run *engine.Run, from *int64) (holder, anchor *engine.Run, err error) {
	holder, anchor = run, run
	for {
		start := holder.State.TopicStart(p.of.Name())
		if *from >= start {
			return holder, anchor, nil
		}
		before, err := p.run(holder.State.Started.ContinuedFrom)
		if err != nil {
			return holder, holder, err
		}
		if before == nil {
			*from, p.answer.First = start, start
			return holder, anchor, nil
		}
		if anchor == holder && before.State.Next() == holder.State.RunID {
			anchor = before
		}
		holder = before
	}
}

// follower returns the run that goes on with the topics of a closed one, or empty. If that is by a
// reset, it returns the new run as well.
func (p *topicPage) follower(run *engine.Run) (next history.RunID, reset *engine.Run, err error) {
	next = run.State.Next()
	if a, ok := run.State.Close.(*history.WorkflowExecutionTerminated); next != "" && (!ok || a.ResetEventID == 0) {
		return next, nil, nil
	}
	if next != "" {
		if reset, err = p.run(next); reset != nil || err != nil {
			return next, reset, err
		}
		// It is gone, but a run that goes on from it may be there.
	}
	return p.resetOf(run)
}

// resetOf returns the run that goes on with the topics of a closed one which does not name it,
// because it was reset after it had closed. Only the latest run can be reset, so that is the next
// one that is there, if it is of the same chain. reset is nil if it is not the run that the reset
// has opened, because that is gone.
func (p *topicPage) resetOf(run *engine.Run) (next history.RunID, reset *engine.Run, err error) {
	for number := run.Number + 1; number < p.latest.Number; number++ {
		if number-run.Number > session.MaxLookBack {
			break // so many numbers without a run: the latest has the items as well
		}
		if p.ctx == nil {
			return "", nil, errReads
		}
		first, err := p.session.View.Reader.FirstCommit(p.ctx, p.of.Workflow(), number)
		if err != nil {
			return "", nil, err
		}
		if first == nil || first.Status == history.Void || first.Opens() == nil {
			continue
		}
		opens := first.Opens()
		if cmp.Or(opens.FirstRunID, first.RunID) != originOf(run) {
			return "", nil, nil
		}
		if opens.OriginalRunID == "" {
			return first.RunID, nil, nil
		}
		r, err := p.run(first.RunID)
		if err != nil {
			return "", nil, err
		}
		if r != nil {
			return first.RunID, asResetOf(r, run), nil
		}
	}
	if p.latest.Number <= run.Number || originOf(p.latest) != originOf(run) {
		return "", nil, nil
	}
	return p.latest.State.RunID, asResetOf(p.latest, run), nil
}

// asResetOf returns a run if a reset has made it of another one, and nil otherwise.
func asResetOf(run, base *engine.Run) *engine.Run {
	if reset := run.State.Reset; reset != nil && reset.BaseRunID == base.State.RunID {
		return run
	}
	return nil
}
