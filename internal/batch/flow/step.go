package flow

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
)

// The bounds of a step.
const (
	// stepTime is how long an attempt at a step may take. The shortest time-out that the functions
	// of activities may have is twice that.
	stepTime = 5 * time.Second
	// beginFor is how long a step begins actions, and waitFor how long it waits for those in
	// progress, both from its beginning.
	beginFor = 2 * time.Second
	waitFor  = 4 * time.Second
	// stepRuns is how many runs a step acts on: a page of the list. countRuns is how many a step of
	// a dry run counts, and countPage how many of those it asks the list for at once.
	stepRuns  = 100
	countRuns = 50_000
	countPage = 1000
	// atOnce is how many actions are in progress at once.
	atOnce = 8
	// mostTries is how often a run is tried while the deployment is too busy.
	mostTries = 3
)

// errNone ends a batch in a deployment that has none.
var errNone = activity.NewError("BatchesOff", "this deployment runs no batches: deploy it with Batches on (WEFT_BATCHES) and with a list").Final()

// stepper takes a step.
type stepper struct {
	stored.Step
	d   Deployment
	end time.Time // no action begins later
	out stored.Stepped
}

// takeStep lists runs and acts on each, for about two seconds.
func takeStep(ctx context.Context, in stored.Step) (stored.Stepped, error) {
	d := deploymentOf(ctx)
	if d == nil {
		return stored.Stepped{}, errNone
	}
	now := time.Now()
	s := &stepper{Step: in, d: d, end: now.Add(beginFor), out: stored.Stepped{Place: in.Place, Ended: in.Ended}}
	ctx, cancel := context.WithDeadline(ctx, now.Add(waitFor))
	defer cancel()
	var err error
	if in.Action == nil {
		err = s.count(ctx)
	} else {
		err = s.act(ctx)
	}
	return s.out, err
}

// count counts the runs of a dry run.
func (s *stepper) count(ctx context.Context) error {
	by := map[stored.Group]int{}
	for !s.out.Ended && s.out.Counts.Matched < countRuns && time.Now().Before(s.end) {
		rows, err := s.list(ctx, countPage)
		if err != nil {
			return err
		}
		for _, r := range rows {
			by[stored.Group{Type: r.Type, Status: r.Status}]++
		}
		s.out.Counts.Matched += len(rows)
	}
	for g, n := range by {
		g.Count = n
		s.out.Groups = append(s.out.Groups, g)
	}
	s.out.Groups = merge(nil, sorted(s.out.Groups))
	return nil
}

// list returns a page of the list, and moves the place.
func (s *stepper) list(ctx context.Context, limit int) ([]Row, error) {
	rows, next, err := s.d.List(ctx, Query{Batch: s.Batch, Filter: s.Filter, Before: s.Before, Place: s.out.Place, Limit: limit})
	if err != nil {
		return nil, err
	}
	s.out.Place, s.out.Ended = next, next == ""
	return rows, nil
}

// act acts on runs: on those that are left, and then on those that the list has next. An error of
// the list after the first action ends the step, and what it did counts.
func (s *stepper) act(ctx context.Context) error {
	todo, most := s.Left, s.most()
	actions := s.pool(ctx)
	for n := 0; ; n++ {
		if len(todo) == 0 && n < most {
			var err error
			if todo, err = s.next(ctx, most-n); err != nil && n == 0 {
				return err
			}
		}
		if len(todo) == 0 || n == most || !s.inTime(ctx, n) {
			break
		}
		actions.begin(todo[0])
		todo = todo[1:]
	}
	s.out.Left = append(actions.finish(), todo...)
	if s.Rate >= 1 && (!s.out.Ended || len(s.out.Left) > 0) {
		s.inTime(ctx, most) // the next step continues at the rate
	}
	return nil
}

// most is how many runs the step acts on: at a rate, those of the time in which it begins actions.
func (s *stepper) most() int {
	switch {
	case s.Rate == 0:
		return stepRuns
	case s.Rate < 1:
		return 1
	}
	return min(int(s.Rate*beginFor.Seconds()), stepRuns)
}

// next returns the next runs of the list, no more than the batch may match.
func (s *stepper) next(ctx context.Context, limit int) (runs []stored.Run, err error) {
	for len(runs) == 0 && !s.out.Ended && !s.out.Over && time.Now().Before(s.end) {
		room := s.Room - s.out.Counts.Matched
		place := s.out.Place
		rows, err := s.list(ctx, max(min(limit, room), 1))
		if err != nil {
			return nil, err
		}
		if room <= 0 && len(rows) > 0 {
			s.out.Over, s.out.Place, s.out.Ended = true, place, false
			return nil, nil
		}
		for _, r := range rows {
			runs = append(runs, r.Run)
		}
		s.out.Counts.Matched += len(rows)
	}
	return runs, nil
}

// inTime waits until the n-th action may begin. It reports whether the step may still begin it.
func (s *stepper) inTime(ctx context.Context, n int) bool {
	if s.Rate >= 1 {
		begun := s.end.Add(-beginFor)
		wait := time.NewTimer(time.Until(begun.Add(time.Duration(float64(n) / s.Rate * float64(time.Second)))))
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return false
		}
	}
	return time.Now().Before(s.end) && ctx.Err() == nil
}

// settled is a run whose action has returned.
type settled struct {
	run stored.Run
	Outcome
}

// pool acts on runs, several at once.
type pool struct {
	s       *stepper
	ctx     context.Context
	free    chan struct{}
	results chan settled
	// working are the runs whose actions have begun and not returned.
	working []stored.Run
	// again are those that have to be tried again.
	again []stored.Run
}

func (s *stepper) pool(ctx context.Context) *pool {
	return &pool{s: s, ctx: ctx, free: make(chan struct{}, atOnce), results: make(chan settled, stepRuns)}
}

// begin begins an action when another one has returned. A step that ends meanwhile leaves the run
// to the next.
func (p *pool) begin(r stored.Run) {
	select {
	case p.free <- struct{}{}:
	case <-p.ctx.Done():
		p.again = append(p.again, r)
		return
	}
	r.Tries++
	p.working = append(p.working, r)
	go func() {
		defer func() { <-p.free }()
		p.results <- settled{r, p.s.d.Act(p.ctx, p.s.Action, r, p.s.Key+"."+r.RunID)}
	}()
}

// finish waits for the actions in progress, until the step's time is over. It returns the runs that
// have to be tried again.
func (p *pool) finish() []stored.Run {
	for len(p.working) > 0 {
		select {
		case done := <-p.results:
			p.settle(done)
			continue
		case <-p.ctx.Done():
		}
		if len(p.results) == 0 {
			break
		}
	}
	for _, r := range p.working {
		p.settle(settled{r, Outcome{Again, "the action took longer than a step"}})
	}
	return p.again
}

// settle counts how an action went.
func (p *pool) settle(done settled) {
	p.working = slices.DeleteFunc(slices.Clone(p.working), func(r stored.Run) bool { return r == done.run })
	out := &p.s.out
	switch done.Verdict {
	case Done:
		out.Counts.Done++
	case Already:
		out.Counts.Already++
	case Refused:
		out.Counts.Refused++
		p.problem(done)
	case Failed:
		out.Counts.Failed++
		p.problem(done)
	case Again:
		if done.run.Tries < mostTries {
			p.again = append(p.again, done.run)
			return
		}
		out.Counts.Failed++
		p.problem(done)
	}
}

func (p *pool) problem(done settled) {
	all := append(p.s.out.Problems, stored.Problem{
		WorkflowID: done.run.WorkflowID, RunID: done.run.RunID, Refused: done.Verdict == Refused, Reason: cut(done.Reason),
	})
	p.s.out.Problems = all[max(len(all)-mostProblems, 0):]
}

// cut shortens a reason.
func cut(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "..."
}

// merge adds groups to others. Those that are too many are in one of their own, without a type.
func merge(all, more []stored.Group) []stored.Group {
	for _, g := range more {
		same := func(o stored.Group) bool { return o.Type == g.Type && o.Status == g.Status }
		if slices.IndexFunc(all, same) < 0 && len(all) >= mostGroups {
			g.Type, g.Status = "", ""
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Count += g.Count
			continue
		}
		all = append(all, g)
	}
	return sorted(all)
}

func sorted(all []stored.Group) []stored.Group {
	slices.SortFunc(all, func(a, b stored.Group) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Status, b.Status))
	})
	return all
}
