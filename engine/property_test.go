package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
)

func init() {
	// A failure prints its seed and the program. Files of failures would lie among the golden
	// scripts.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
}

// happening is what happens to a run between two tasks. Its numbers select outcomes for whatever is
// pending then. Two equal runs get equal events from the same happenings.
type happening struct {
	Pass    time.Duration
	Events  []event
	Updates []sent
	Query   bool
	Batch   bool
	Notify  bool // whether somebody subscribes to the end of the run
	Deploy  bool // whether the code that does not crash is deployed
	Retry   bool
}

// event is one input event of a task.
type event struct {
	Kind string
	N    int
}

// sent is an update that is sent.
type sent struct {
	Name    string
	Request request
}

var (
	leaves   = slices.Sorted(maps.Keys(alone))
	branches = []string{"go", "group", "lock", "acquire", "branch", "detached", "handle", "handle"}
	kinds    = []string{
		"complete", "complete", "complete", "complete", "complete", "complete", "complete", "fail", "fail", "timeout",
		"fire", "fire", "fire", "fire", "fire", "signal", "signal", "signal", "signal", "cancel", "end",
	}
)

func drawOps(least, depth int) *rapid.Generator[[]op] {
	one := rapid.Custom(func(t *rapid.T) op {
		if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") > 0 {
			return op{Do: rapid.SampledFrom(leaves).Draw(t, "do"), N: rapid.IntRange(0, 5).Draw(t, "n")}
		}
		return op{
			Do: rapid.SampledFrom(branches).Draw(t, "do"), N: rapid.IntRange(0, 5).Draw(t, "n"),
			Body: drawOps(1, depth-1).Draw(t, "body"),
		}
	})
	return rapid.SliceOfN(one, least, 8)
}

var drawProgram = rapid.Custom(func(t *rapid.T) program {
	return program{
		Handlers: rapid.SliceOfN(drawOps(0, 1), 0, 2).Draw(t, "handlers"),
		Main:     drawOps(3, 3).Draw(t, "main"), Stay: rapid.IntRange(0, 4).Draw(t, "stay") > 0,
	}
})

var drawSent = rapid.Custom(func(t *rapid.T) sent {
	return sent{
		Name:    rapid.SampledFrom([]string{"u0", "u0", "u1", "u1", "unknown"}).Draw(t, "name"),
		Request: request{Refuse: rapid.IntRange(0, 3).Draw(t, "refuse") == 3, N: rapid.IntRange(0, 9).Draw(t, "n")},
	}
})

var drawHappening = rapid.Custom(func(t *rapid.T) happening {
	one := rapid.Custom(func(t *rapid.T) event {
		return event{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), N: rapid.IntRange(0, 5).Draw(t, "n")}
	})
	return happening{
		Pass:    seconds(rapid.IntRange(0, 3).Draw(t, "pass")),
		Events:  rapid.SliceOfN(one, 0, 3).Draw(t, "events"),
		Updates: rapid.SliceOfN(drawSent, 0, 2).Draw(t, "updates"),
		Batch:   rapid.IntRange(0, 3).Draw(t, "batch") == 3,
		Notify:  rapid.IntRange(0, 5).Draw(t, "notify") == 5,
		Query:   rapid.IntRange(0, 9).Draw(t, "query") == 9,
		Deploy:  rapid.IntRange(0, 9).Draw(t, "deploy") == 9,
		Retry:   rapid.IntRange(0, 4).Draw(t, "retry") == 4,
	}
})

// play is a program, what happens to it, and how it is run.
type play struct {
	program program
	script  []happening
	// cold rebuilds the code before each task.
	cold bool
	// before are updates that are sent in a task of their own before a happening. with are those
	// that are sent in the happening's own task.
	before, with map[int]sent
}

// on runs the play on a new harness, which it returns.
func (p *play) on(t *rapid.T) *enginetest.Harness {
	fixed := false
	s := enginetest.Open(t, interpret(&fixed))
	t.Cleanup(func() { fixed = true })
	s.Cold, s.Plain, s.Limits = p.cold, true, engine.Limits{UpdatesInFlight: 3, UpdateBytesInFlight: 45}
	s.Local = looked
	s.Start(p.program)
	for i, h := range p.script {
		if s.Run.State.Status.Closed() {
			break
		}
		if refused, ok := p.before[i]; ok && s.Run.State.Pending == history.PendingNone {
			wantNothing(t, s, s.Step(engine.Task{Updates: []engine.UpdateRequest{p.request(fmt.Sprint("before ", i), refused)}}))
		}
		if h.Deploy && !fixed {
			fixed = true
			s.Deploy()
		}
		if h.Query {
			_, _ = s.Query("peek", nil) // a stuck run does not answer
		}
		if all := s.Activities(); h.Batch && len(all) > 0 && !s.Run.State.Status.Closed() {
			s.Batch(batchOf(s, all[i%len(all)], i))
		}
		if h.Notify && !s.Run.State.Status.Closed() {
			s.Subscribe(&history.CompletionSubscribed{URL: fmt.Sprint("https://caller/", i), RequestID: fmt.Sprint("n", i)})
		}
		p.happen(s, i, h)
	}
	return s
}

// batchOf returns the next batch of an activity: of its execution, or the first of another one.
func batchOf(s *enginetest.Harness, event int64, i int) *history.ActivityItemsPublished {
	a := &history.ActivityItemsPublished{
		Topic: fmt.Sprint("t", i%2), Count: 1 + i%2, Items: history.JoinItems(make([]history.Payload, 1+i%2)...),
		ScheduledEventID: event, Attempt: 1, Execution: fmt.Sprint("e", i), Batch: 1,
	}
	if last := s.Run.State.Activities[event].Publishing; last != nil {
		if a.Attempt = last.Attempt + i%2; i%2 == 0 {
			a.Execution, a.Batch = last.ID, last.Batch+1
		}
	}
	return a
}

// looked returns the outcome of a local activity, which succeeds, fails, or is retried in another
// task.
func looked(a *engine.LocalActivity) engine.LocalResult {
	r := engine.LocalResult{Number: a.Number, Attempt: a.Attempt}
	switch (a.Number + a.Attempt) % 4 {
	case 0:
		r.Failure = failure.FromError(failure.New("broke", "it broke"))
	case 1:
		r.RetryAt = a.Time.Add(seconds(a.Attempt))
	default:
		r.Result = history.Payload(fmt.Sprintf(`"looked %d"`, a.Number))
	}
	return r
}

func wantNothing(t *rapid.T, s *enginetest.Harness, transition *engine.Transition) {
	if transition.Commit != nil || transition.Failure != nil || transition.Updates[0].Verdict == engine.Accepted {
		t.Fatalf("after %d commits a refused update left %+v, want nothing", len(s.Run.Log), transition)
	}
}

func (p *play) request(id string, u sent) engine.UpdateRequest {
	return engine.UpdateRequest{ID: id, Name: u.Name, Input: history.Payload(fmt.Sprintf(`{"refuse":%v,"n":%d}`, u.Request.Refuse, u.Request.N))}
}

// happen runs the task of a happening, if anything happens at all.
func (p *play) happen(s *enginetest.Harness, i int, h happening) {
	s.Advance(h.Pass)
	task := engine.Task{InputEvents: bring(s, h.Events)}
	for j, u := range h.Updates {
		task.Updates = append(task.Updates, p.request(fmt.Sprint(i, "-", j), u))
	}
	// If a task waits for a retry, any request retries it, which may leave a trace.
	if u, ok := p.with[i]; ok && len(task.InputEvents)+len(task.Updates) > 0 && s.Run.State.Pending == history.PendingNone {
		refused := []engine.UpdateRequest{p.request(fmt.Sprint("with ", i), u)}
		task.Updates = slices.Insert(task.Updates, u.Request.N%(len(task.Updates)+1), refused...)
	}
	alone := len(task.InputEvents)+len(task.Updates) == 0
	task.Confirm = alone && s.Run.State.Refused() != nil
	if !alone || h.Retry && s.Run.State.Streak != nil {
		step(s, task)
	}
}

// step runs a task. Updates that fail together are retried one by one, so that a failing one does
// not fail the others.
func step(s *enginetest.Harness, task engine.Task) {
	transition := s.Step(task)
	if transition.Failure == nil || len(task.InputEvents) > 0 || len(task.Updates) < 2 {
		return
	}
	for _, u := range task.Updates {
		if !s.Run.State.Status.Closed() {
			s.Step(engine.Task{Updates: []engine.UpdateRequest{u}})
		}
	}
}

// bring returns events that resolve what is pending. It resolves each activity and each timer once.
func bring(s *enginetest.Harness, wanted []event) (inputEvents []history.Event) {
	activities, timers := s.Activities(), s.Timers()
	for _, e := range wanted {
		var a history.Attributes
		switch e.Kind {
		case "signal":
			a = s.Signaled(fmt.Sprint("s", e.N%2), fmt.Sprint("signal ", e.N))
		case "end":
			a = s.Signaled("end", nil)
		case "cancel":
			a = &history.WorkflowExecutionCancelRequested{Reason: "enough"}
		case "fire":
			if len(timers) == 0 {
				continue
			}
			a = &history.TimerFired{StartedEventID: timers[0].EventID}
			timers = timers[1:]
		default:
			if len(activities) == 0 {
				continue
			}
			n := e.N % len(activities)
			a = result(e.Kind, activities[n])
			activities = slices.Delete(activities, n, n+1)
		}
		inputEvents = append(inputEvents, history.Of(a))
	}
	return inputEvents
}

func result(kind string, id int64) history.Attributes {
	switch kind {
	case "fail":
		return &history.ActivityTaskFailed{ScheduledEventID: id, Failure: failure.FromError(failure.New("broke", "it broke")), Attempt: 1}
	case "timeout":
		f := &failure.Failure{Kind: failure.KindTimeout, Timeout: failure.StartToClose, Message: "it took too long"}
		return &history.ActivityTaskTimedOut{ScheduledEventID: id, Failure: f, Attempt: 1}
	}
	return &history.ActivityTaskCompleted{ScheduledEventID: id, Result: history.Payload(fmt.Sprintf(`"result %d"`, id)), Attempt: 1}
}

func drawPlay(t *rapid.T) play {
	return play{program: drawProgram.Draw(t, "program"), script: rapid.SliceOfN(drawHappening, 8, 30).Draw(t, "script")}
}

// wantSame checks that two logs are the same, byte for byte.
func wantSame(t *rapid.T, what string, want, got *enginetest.Harness) {
	t.Helper()
	for i := range max(len(want.Bodies), len(got.Bodies)) {
		if i < len(want.Bodies) && i < len(got.Bodies) && bytes.Equal(want.Bodies[i], got.Bodies[i]) {
			continue
		}
		t.Fatalf("%s: slot %d differs\nwant:\n%sgot:\n%s", what, i, want.Text(), got.Text())
	}
}

// For every program and all that happens to it:
//   - Each prefix of its log rebuilds the code such that the next task has the same events.
//   - Event ids have no gaps.
//
// The harness also replays the log when the test ends, in both ways.
func TestEveryPrefixRebuildsTheCode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		s := p.on(t)
		next := int64(1)
		for i, c := range s.Run.Log {
			for _, e := range c.Events() {
				if e.ID != next {
					t.Fatalf("event %d follows event %d", e.ID, next-1)
				}
				next++
			}
			s.Replay(i)
		}
	})
}

// The commit that closes a run has one message for each subscription, and no other commit has any.
// They are the same before and after the commit is in the log.
func TestEachSubscriptionIsNotified(t *testing.T) {
	t.Parallel()
	notified := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		log := p.on(t).Run.Log
		run, want := engine.NewRun("stage", 1), []int64(nil)
		for _, c := range log {
			for _, e := range c.Events() {
				if e.Type() == history.TypeCompletionSubscribed {
					want = append(want, e.ID)
				}
			}
			next := notifications(run, c)
			if err := run.Append(c, 0); err != nil {
				t.Fatal(err)
			}
			if got := notifications(run, c); !slices.Equal(got, next) || c.Status.Closed() && !slices.Equal(got, want) || !c.Status.Closed() && len(got) > 0 {
				t.Fatalf("slot %d, %s, notifies %v, and did %v before it was in the log, want %v", c.Slot, c.Status, got, next, want)
			} else if run.Notified() != (len(got) > 0) && len(want) > 0 {
				t.Fatalf("slot %d, %s, notifies %v, and Notified is %t", c.Slot, c.Status, got, run.Notified())
			} else {
				notified += len(got)
			}
		}
	})
	if notified == 0 && !testing.Short() {
		t.Error("no run has notified anybody: the test tests nothing")
	}
}

// notifications returns the subscriptions that a commit of a run notifies.
func notifications(run *engine.Run, c *history.Commit) (events []int64) {
	for _, m := range run.Messages(c) {
		if m.Kind == engine.NotifyCaller {
			events = append(events, m.EventID)
		}
	}
	return events
}

// A kept instance and one that is rebuilt before each task produce the same log.
func TestKeptOrRebuilt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kept := drawPlay(t)
		rebuilt := kept
		rebuilt.cold = true
		wantSame(t, "rebuilt", kept.on(t), rebuilt.on(t))
	})
}

// Queries leave no trace, although the instance that answered one is kept.
func TestQueriesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		without := drawPlay(t)
		with := without
		with.script = slices.Clone(without.script)
		for i := range with.script {
			with.script[i].Query = rapid.Bool().Draw(t, "query")
		}
		wantSame(t, "with queries", without.on(t), with.on(t))
	})
}

// A refused update leaves no trace, whether it arrives alone or with other events.
func TestRefusedUpdatesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	refused := rapid.Custom(func(t *rapid.T) sent {
		u := drawSent.Draw(t, "update")
		u.Request.Refuse = true
		return u
	})
	rapid.Check(t, func(t *rapid.T) {
		without := drawPlay(t)
		with := without
		at := rapid.IntRange(0, len(without.script)-1)
		with.before = rapid.MapOfN(at, refused, 0, 3).Draw(t, "before")
		with.with = rapid.MapOfN(at, refused, 0, 3).Draw(t, "with")
		wantSame(t, "with updates that are refused", without.on(t), with.on(t))
	})
}
