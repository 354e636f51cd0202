package requests

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

const (
	// topicPause is the shortest interval between two reads for one listener.
	topicPause = time.Second
	// topicBytes limits the bytes of the items of an answer. An answer has at least one item.
	topicBytes = 1 << 20
)

// Topics returns the topics of a run: those that have had items, and those that the binding names.
func (s *Reports) Topics(ctx context.Context, of command.Target) (*schema.TopicsResponse, error) {
	answer := &schema.TopicsResponse{WorkflowID: of.Workflow()}
	err := lookIn(ctx, s.Process, besideAfter, s.Process.World.Now().Add(s.Process.Options.SoftLimit), of.Workflow(), of.Run(), func(_ *session.Session, run *engine.Run) error {
		answer.RunID, answer.Topics = run.State.RunID, []schema.TopicSummary{}
		for _, name := range topicNames(s.Process, run) {
			row := schema.TopicSummary{Name: name}
			if t := run.State.Topics[name]; t != nil {
				row.First, row.Next, row.Items, row.Bytes = t.First, t.Next, t.Items, t.Bytes
			}
			answer.Topics = append(answer.Topics, row)
		}
		return nil
	})
	return answer, err
}

// topicNames returns the names of the topics of a run, sorted.
func topicNames(s *session.Process, run *engine.Run) []string {
	names := namesOfRun(s, run).Of(engine.TopicName)
	for name := range run.State.Topics {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// namesOfRun returns what the binding of a run's workflow type names here; nil if that is not
// known, or not the binding that the run has.
func namesOfRun(s *session.Process, run *engine.Run) *engine.Names {
	pinned := run.State.Pinned
	if w := s.Registry.Workflow(run.State.Started.WorkflowType); w != nil && (pinned == "" || pinned == s.Options.Build) {
		return w.Names
	}
	return nil
}

// Topic returns items of a topic, from an offset on, in order. If the command waits and there are
// none, it waits until there is one, or until the run has closed, for as long as the process
// holds the request.
//
//   - The first look of a reader reads at once. Between two reads is a second at least, also if
//     they are those of two requests: one that names the run goes on, and its reader has just read.
//     The reader of a limited wait pauses between its requests, so each of them reads at once.
//   - A commit of this process wakes the reader at once, without a read.
//   - A read is one of what is new in the log. Items of the runs before cost a read for each run
//     back to theirs, and after a reset one for the run that was reset. An answer goes through
//     session.MaxLookBack of them at most: then it names the run that it has reached, and its
//     reader goes on from there.
func (s *Requests) Topic(ctx context.Context, of command.Topic) (*schema.TopicResponse, error) {
	r := &topicReader{held: hold(s.Process, of.Waiting), of: of, runID: of.Run(), others: newOtherRuns()}
	return r.await(ctx)
}

// topicReader is a reader of a topic.
type topicReader struct {
	held
	of     command.Topic
	runID  history.RunID         // empty until it has looked, unless the reader names the run
	page   *schema.TopicResponse // what it has seen
	others otherRuns
}

// await looks until there is something to answer with.
func (r *topicReader) await(ctx context.Context) (*schema.TopicResponse, error) {
	world := r.process.World
	defer r.release()
	due := r.began // the next read
	if r.of.Run() != "" && !r.limited() {
		due = earliest(r.began.Add(topicPause), r.end)
	}
	for {
		watched := r.process.Watchers.Watch(r.of.Workflow())
		err := r.next(ctx, &due)
		now := world.Now()
		over := !now.Before(r.end) || r.page != nil && (r.limited() && due.After(r.end) || !r.stay())
		if errors.Is(err, refusal.Busy) && r.page != nil && over {
			err = nil // what it has seen before stands
		}
		if err != nil || r.page != nil && (over || r.found()) {
			watched.Stop()
			return r.answer(), err
		}
		until := due
		if r.page != nil {
			until = earliest(due, r.end)
		}
		err = waitOnPurpose(ctx, world, until.Sub(now), watched.Changed)
		watched.Stop()
		switch left := err != nil; {
		case left && r.page == nil: // the caller left, or the server stops, before the first look
			return nil, errGone
		case left, r.page != nil && !world.Now().Before(r.end):
			return r.answer(), nil
		}
	}
}

// answer returns what the reader has seen; nil if that is nothing.
func (r *topicReader) answer() *schema.TopicResponse {
	if r.page != nil && !r.found() {
		r.page.RetryAfter = r.again(func(_ time.Time, waited time.Duration) time.Duration { return pauseFor(outlook{}, 0, waited, true) })
	}
	return r.page
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// found reports whether there is something to answer with.
func (r *topicReader) found() bool {
	return len(r.page.Items) > 0 || r.page.Closed || r.page.More || r.page.Withdrawn != nil
}

// next looks at what this process knows, or reads if that is due.
func (r *topicReader) next(ctx context.Context, due *time.Time) error {
	now := r.process.World.Now()
	if now.Before(*due) {
		if err := r.glance(ctx, due.Sub(now)); !errors.Is(err, errReads) {
			return err
		}
	}
	*due = now.Add(topicPause)
	return r.look(ctx)
}

// look reads.
func (r *topicReader) look(ctx context.Context) error {
	patience, end := besideAfter, r.end
	if r.of.Wait() == 0 {
		end = r.process.World.Now().Add(r.process.Options.SoftLimit)
	} else if r.page != nil || r.crowded {
		patience = r.end.Sub(r.process.World.Now())
	}
	return lookIn(ctx, r.process, patience, end, r.of.Workflow(), r.runID, func(t *session.Session, run *engine.Run) error {
		err := r.see(run, &topicPage{of: r.of, session: t, latest: t.Run(), others: &r.others, ctx: ctx})
		if errors.Is(err, outcome.ErrStale) {
			r.others = newOtherRuns() // one of them is being deleted
		}
		return err
	})
}

// errReads says that an answer needs a read.
var errReads = errors.New("it takes a read")

// glance looks at what this process knows, if that has something to answer with. It waits for the
// workflow's lock no longer than this. It returns errReads if the answer needs a read. It never
// says that no run goes on with the topic: another process may have reset the run.
func (r *topicReader) glance(ctx context.Context, wait time.Duration) error {
	t, err := openOnPurpose(context.WithoutCancel(ctx), r.process, wait, r.of.Workflow())
	if err != nil {
		return nil // it reads when that is due
	}
	defer t.Close()
	run := t.Run()
	if run == nil || run.State.RunID != r.runID {
		return nil
	}
	from, _ := r.of.From()
	topic := run.State.Topics[r.of.Name()]
	if topic == nil || topic.Next < from || topic.Next == from && run.State.Next() == "" {
		return nil
	}
	return r.see(run, &topicPage{of: r.of, session: t, latest: run, others: &r.others})
}

// see takes what a run has for the reader.
func (r *topicReader) see(run *engine.Run, p *topicPage) error {
	page, err := p.read(run)
	if err == nil {
		r.page, r.runID = page, run.State.RunID // the same run, also if another one follows
	}
	return err
}
