package requests

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// batch is the updates of a workflow that are carried out together: a call that holds the
// workflow's lock, and those that wait behind it.
type batch struct {
	// ctx is that of the first call. The batch is a call in progress, and continues if its caller
	// leaves.
	ctx   context.Context
	first *updateCall
	taken []*lock.Waiter[any]
	t     *session.Session
	ended bool
}

// run carries out the updates, and releases the lock. If the code of one fails, that one and the
// others of its name are carried out alone, so that they do not take the rest down: those that
// waited are given back to their callers.
func (b *batch) run() {
	defer b.first.outlive()
	p := b.first.process
	b.taken = p.Locks.Take(b.first.workflowID, p.Options.UpdatesTogether-1)
	b.t = p.Begin(b.first.workflowID)
	defer b.end()
	if len(b.taken) == 0 {
		b.t.Patience = b.first.wait
	}
	ctx, calls := context.WithoutCancel(b.ctx), b.calls()
	if slices.ContainsFunc(calls, func(c *updateCall) bool { return c.anywhere }) {
		ctx = commit.Anywhere(ctx) // the code runs here for that one, so it does for all
	}
	ctx, cancel := p.World.WithTimeout(ctx, p.Options.SoftLimit)
	defer cancel()
	var alone group
	for ; len(calls) > 0; b.t.View.Fresh = false {
		var err error
		if ctx.Err() == nil {
			err = b.t.Insist(ctx, calls.try)
		} else {
			err = outcome.OfContention() // code has used up the time
		}
		failed, rest := calls.conclude(b.t, err)
		alone, calls = append(alone, failed...), rest
		if len(calls) == 0 {
			calls, alone = b.separate(alone), nil
		}
	}
	session.RecordRun(ctx, b.t)
	b.ended = true
}

// calls returns all calls of the batch.
func (b *batch) calls() group {
	all := group{b.first}
	for _, w := range b.taken {
		all = append(all, w.Call.(*updateCall))
	}
	return all
}

// separate gives the calls that have to be carried out alone back to their callers, and answers the
// others. It returns the call that holds the lock if that has to be carried out alone.
func (b *batch) separate(alone group) (next group) {
	if len(alone) == 0 {
		return nil
	}
	var back, answered []*lock.Waiter[any]
	for _, w := range b.taken {
		if slices.Contains(alone, w.Call.(*updateCall)) {
			back = append(back, w)
		} else {
			answered = append(answered, w)
		}
	}
	b.taken = nil
	b.first.process.Locks.GiveBack(b.first.workflowID, back)
	b.first.process.Locks.Answer(answered)
	if slices.Contains(alone, b.first) {
		next = group{b.first}
	}
	return next
}

// end releases the lock, and answers those that waited.
func (b *batch) end() {
	if !b.ended { // a store has panicked, say
		for _, w := range b.taken {
			w.Call.(*updateCall).err = b.first.process.Problem(&outcome.Unknown{Cause: refusal.ByDefect})
		}
	}
	b.t.Close()
	b.first.process.Locks.Answer(b.taken)
	b.first.returned = b.ended
}

// group is calls that are carried out in one task.
type group []*updateCall

// conclude answers the calls after they were tried, unless they cannot be carried out together. It
// returns those that have to be carried out alone, and the rest.
func (calls group) conclude(t *session.Session, err error) (alone, rest group) {
	if err == nil {
		return nil, nil
	}
	var separate *togetherError
	if errors.As(err, &separate) && len(calls) > 1 {
		return separate.split(calls)
	}
	for _, c := range calls {
		switch {
		case c.settled:
		case c.first != nil && c.first.settled:
			c.answer, c.err = c.first.answer, c.first.err
		default:
			c.err = session.Problem(t, err)
		}
	}
	return nil, nil
}

// togetherError says that calls cannot be carried out together.
type togetherError struct {
	// blamed is the id of the one whose code failed; empty if it is not known whose.
	blamed string
}

// Error implements error.
func (*togetherError) Error() string { return "executor: the updates cannot be carried out together" }

// split returns the calls that have to be carried out alone, because code of the same name has
// failed, and the rest.
func (e *togetherError) split(calls group) (alone, rest group) {
	i := slices.IndexFunc(calls, func(c *updateCall) bool { return c.request.ID == e.blamed })
	if i < 0 {
		return calls, nil
	}
	for _, c := range calls {
		if c.request.Name == calls[i].request.Name {
			alone = append(alone, c)
		} else {
			rest = append(rest, c)
		}
	}
	return alone, rest
}
