package flow

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
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
	d     Deployment
	world World
	begun time.Time
	out   stored.Stepped
}

// inTime reports whether an action may still begin.
func (s *stepper) inTime() bool { return s.world.Now().Before(s.begun.Add(beginFor)) }

// takeStep lists runs and acts on each, for about two seconds.
func takeStep(ctx context.Context, in stored.Step) (stored.Stepped, error) {
	d := deploymentOf(ctx)
	if d == nil {
		return stored.Stepped{}, errNone
	}
	world := d.World()
	s := &stepper{Step: in, d: d, world: world, begun: world.Now(), out: stored.Stepped{Place: in.Place, Ended: in.Ended}}
	ctx, cancel := world.WithTimeout(ctx, waitFor)
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
	for !s.out.Ended && s.out.Counts.Matched < countRuns && s.inTime() && ctx.Err() == nil {
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

// act acts on runs: on those that are left, and on those that the list has next. An error of the
// list ends the step only if it has no run to act on.
func (s *stepper) act(ctx context.Context) error {
	runs, err := s.collect(ctx)
	if len(runs) == 0 && err != nil {
		return err
	}
	p := &pool{s: s, ctx: ctx, todo: runs, most: s.most()}
	workers := make([]func(), min(atOnce, len(runs), p.most))
	for i := range workers {
		workers[i] = p.work
	}
	if len(workers) > 0 {
		left := s.begun.Add(waitFor).Sub(s.world.Now())
		s.world.Within(min(max(left, 0), waitFor), func() { s.world.Together(workers...) })
	}
	s.out.Left = p.end()
	if s.Rate >= 1 && (!s.out.Ended || len(s.out.Left) > 0) {
		s.await(ctx, p.most) // the next step continues at the rate
	}
	return nil
}

// collect returns the runs that the step acts on. It lists for half of the time in which actions
// begin, so that a filter that selects few runs leaves time for them.
func (s *stepper) collect(ctx context.Context) (runs []stored.Run, err error) {
	runs = s.Left
	until, most := s.begun.Add(beginFor/2), s.most()
	for len(runs) < most && s.world.Now().Before(until) && ctx.Err() == nil {
		more, err := s.next(ctx, most-len(runs), until)
		if err != nil || len(more) == 0 {
			return runs, err
		}
		runs = append(runs, more...)
	}
	return runs, nil
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

// next returns the next runs of the list, no more than the batch may match. It lists until a
// moment.
func (s *stepper) next(ctx context.Context, limit int, until time.Time) (runs []stored.Run, err error) {
	for len(runs) == 0 && !s.out.Ended && !s.out.Over && s.world.Now().Before(until) && ctx.Err() == nil {
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

// await waits until the n-th action may begin. It reports whether the step may still begin it.
func (s *stepper) await(ctx context.Context, n int) bool {
	if s.Rate >= 1 {
		at := s.begun.Add(time.Duration(float64(n) / s.Rate * float64(time.Second)))
		if s.world.Wait(ctx, at.Sub(s.world.Now()), nil) != nil {
			return false
		}
	}
	return s.inTime() && ctx.Err() == nil
}

// pool acts on runs, several at once.
type pool struct {
	s    *stepper
	ctx  context.Context
	most int

	mu    sync.Mutex
	ended bool // the step has, and nothing counts any more
	taken int
	todo  []stored.Run
	// working are the runs that workers have taken and not settled.
	working []*work
	// again are those that have to be tried again.
	again []stored.Run
}

// work is a run that a worker has taken.
type work struct {
	run   stored.Run
	began bool // its action has
}

// work acts on one run after the other.
func (p *pool) work() {
	for {
		w, n := p.take()
		if w == nil || !p.s.await(p.ctx, n) || !p.begin(w) {
			return
		}
		o := p.s.d.Act(p.ctx, p.s.Action, w.run, p.s.Key+"."+w.run.RunID)
		p.settle(w, o)
	}
}

// take returns the next run and its number in the step, or nil if the step takes no more.
func (p *pool) take() (w *work, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || len(p.todo) == 0 || p.taken == p.most {
		return nil, 0
	}
	w, n = &work{run: p.todo[0]}, p.taken
	p.todo, p.taken, p.working = p.todo[1:], p.taken+1, append(p.working, w)
	return w, n
}

// begin notes that the action of a run begins. It returns false if the step has ended.
func (p *pool) begin(w *work) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	w.began = true
	w.run.Tries++
	return true
}

// settle counts how an action went, unless the step has ended.
func (p *pool) settle(w *work, o Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.working = slices.DeleteFunc(p.working, func(other *work) bool { return other == w })
	p.count(w.run, o)
}

// end ends the pool. It returns the runs that are left: those whose actions did not begin, and
// those that have to be tried again.
func (p *pool) end() (left []stored.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, w := range p.working {
		if w.began {
			p.count(w.run, Outcome{Again, "the action took longer than a step"})
		} else {
			left = append(left, w.run)
		}
	}
	return slices.Concat(p.again, left, p.todo)
}

// count counts how the action on a run went.
func (p *pool) count(run stored.Run, o Outcome) {
	out := &p.s.out
	switch o.Verdict {
	case Done:
		out.Counts.Done++
	case Already:
		out.Counts.Already++
	case Refused:
		out.Counts.Refused++
		p.problem(run, o)
	case Failed:
		out.Counts.Failed++
		p.problem(run, o)
	case Again:
		if run.Tries < mostTries {
			p.again = append(p.again, run)
			return
		}
		out.Counts.Failed++
		p.problem(run, o)
	}
}

func (p *pool) problem(run stored.Run, o Outcome) {
	all := append(p.s.out.Problems, stored.Problem{
		WorkflowID: run.WorkflowID, RunID: run.RunID, Refused: o.Verdict == Refused, Reason: cut(o.Reason),
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
