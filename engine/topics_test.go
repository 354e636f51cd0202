package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	Steps        = workflow.NewTopic[string]("steps")
	Noise        = workflow.NewTopic[int]("noise")
	Report       = workflow.NewUpdate[[]string, int64]("report")
	reporterType = workflow.NewWorkflow[int, int]("reporter")
)

// reporter publishes what it is told. "next" continues as new.
func reporter(ctx workflow.Context, laps int) (int, error) {
	Steps.Publish(ctx, fmt.Sprint("lap ", laps))
	Report.Handle(ctx, func(ctx workflow.Context, items []string) (int64, error) {
		for _, item := range items {
			Steps.Publish(ctx, item)
		}
		return Steps.Next(ctx), nil
	}, workflow.Validate(func(items []string) error {
		if len(items) == 0 {
			return errors.New("there is nothing to report")
		}
		return nil
	}))
	for {
		text, err := Poke.Receive(ctx)
		switch {
		case err != nil:
			return laps, err
		case text == "next":
			Steps.Publish(ctx, "on to the next lap")
			return reporterType.ContinueAsNew(ctx, laps+1)
		case text == "end":
			return laps, nil
		case text == "crash":
			Steps.Publish(ctx, "about to crash")
			panic("it crashes")
		case strings.HasPrefix(text, "keep "):
			Steps.Truncate(ctx, Steps.Next(ctx)-2)
		default:
			Noise.Publish(ctx, len(text))
			Steps.Publish(ctx, text)
			Noise.Publish(ctx, -1)
		}
	}
}

// What a topic cannot hold fails the task, and says why. Fixed code goes on.
func TestTopicLimits(t *testing.T) {
	t.Parallel()
	raw := workflow.NewTopic[json.RawMessage]("raw")
	for want, publish := range map[string]func(ctx workflow.Context){
		"has 262145 bytes: the limit is 262144": func(ctx workflow.Context) {
			raw.Publish(ctx, json.RawMessage(`"`+strings.Repeat("x", engine.MaxTopicItem-1)+`"`))
		},
		"cannot be encoded as JSON": func(ctx workflow.Context) { workflow.NewTopic[chan int]("c").Publish(ctx, make(chan int)) },
		`topic "100" is one too many: a run has at most 100`: func(ctx workflow.Context) {
			for i := range 101 {
				workflow.NewTopic[int](fmt.Sprint(i)).Publish(ctx, i)
			}
		},
		"the name of a topic is empty": func(ctx workflow.Context) { workflow.NewTopic[int]("").Publish(ctx, 1) },
	} {
		fixed := false
		s := enginetest.New(t, func(ctx workflow.Context, _ int) (int, error) {
			if !fixed {
				publish(ctx)
			}
			return 0, nil
		}, 0)
		if err := s.Stuck(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if len(s.Run.State.Topics) != 0 {
			t.Errorf("%s: a failed task has published", want)
		}
		fixed = true
		s.Deploy()
		s.Step(engine.Task{})
		if err := s.Outcome(new(int)); err != nil {
			t.Error(want, err)
		}
	}
	s := enginetest.New(t, func(ctx workflow.Context, _ int) (int, error) {
		raw.Publish(ctx, json.RawMessage(`"`+strings.Repeat("x", engine.MaxTopicItem-2)+`"`))
		return 0, nil
	}, 0)
	if err := s.Outcome(new(int)); err != nil || s.Run.State.Topics["raw"].Next != 1 {
		t.Error(err)
	}
}

// Items that one commit cannot hold are those of several tasks, in their order. The limits count
// only when the items are new: the harness replays the run.
func TestManyItemsAreSeveralTasks(t *testing.T) {
	t.Parallel()
	const items = 100
	s := enginetest.Open(t, func(ctx workflow.Context, _ int) (int, error) {
		for i := range items {
			Steps.Publish(ctx, fmt.Sprint(i, strings.Repeat(" ", 1000)))
		}
		return items, nil
	})
	s.Commit = 20 << 10
	s.Start(0)
	for len(s.Timers()) > 0 {
		s.Sleep(1e9)
	}
	if err := s.Outcome(new(int)); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Run.State.Topics["steps"].Batches); n < 5 || n > 10 {
		t.Errorf("%d batches", n)
	}
	got := itemsOf(t, s.Run, "steps")
	for i, item := range got {
		if !strings.HasPrefix(string(item), fmt.Sprintf(`"%d `, i)) {
			t.Fatalf("item %d is %s", i, item)
		}
	}
	if len(got) != items {
		t.Error(len(got))
	}
}

// A topic with many items suggests to continue as new.
func TestTopicsSuggestContinueAsNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		items, size int
		want        bool
	}{"few": {100, 10, false}, "many": {10_000, 1, true}, "large": {17, 250 << 10, true}} {
		s := enginetest.New(t, func(ctx workflow.Context, _ int) (bool, error) {
			for range c.items {
				Steps.Publish(ctx, strings.Repeat("x", c.size))
			}
			_, err := Poke.Receive(ctx)
			return workflow.InfoOf(ctx).SuggestContinueAsNew, err
		}, 0)
		s.Signal("poke", "x")
		var got bool
		if err := s.Outcome(&got); err != nil || got != c.want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// itemsOf returns the items of a topic that are in the log of a run, and checks their places.
func itemsOf(t interface{ Fatalf(string, ...any) }, run *engine.Run, name string) (items []history.Payload) {
	topic := run.State.Topics[name]
	if topic == nil {
		return nil
	}
	for _, b := range topic.From(0) {
		found := false
		for part := range run.Log[b.Slot].Parts() {
			for _, e := range part.Commands {
				if a, ok := e.Attributes.(*history.TopicItemsPublished); ok && a.Topic == name && a.Offset == b.Offset {
					split, err := history.SplitItems(a.Items, a.Count)
					if err != nil || a.Count != b.Count || b.Copied {
						t.Fatalf("batch %+v: %+v: %v", b, a, err)
					}
					items, found = append(items, split...), true
				}
			}
		}
		if !found {
			t.Fatalf("slot %d has no items %+v", b.Slot, b)
		}
	}
	return items
}

// Over any prefix of any log, the offsets of a topic are dense, each topic knows the places of
// its items, and the items are what the code has published, in its order. The code that is
// rebuilt from the log publishes the same next.
func TestOffsetsAreDense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		broken := true
		s := enginetest.Open(t, func(ctx workflow.Context, laps int) (int, error) {
			if !broken {
				return 0, nil
			}
			return reporter(ctx, laps)
		})
		s.Cold, s.Plain = rapid.Bool().Draw(t, "cold"), true
		s.Start(0)
		want := []string{"lap 0"}
		for i := range rapid.IntRange(0, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				s.Signal("poke", fmt.Sprint("poke ", i))
				want = append(want, fmt.Sprint("poke ", i))
			case 1:
				s.Signal("poke", "keep two")
			case 2:
				items := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "items")
				result, f := s.Update(fmt.Sprint("u", i), "report", items)
				if f != nil || (result.Failure == nil) != (len(items) > 0) {
					t.Fatalf("%v %v", result, f)
				}
				want = append(want, items...)
			case 3:
				s.Deploy()
			case 4:
				_, _ = s.Query("nothing", nil)
			}
		}
		var got []string
		for _, p := range itemsOf(t, s.Run, "steps") {
			var item string
			if err := json.Unmarshal(p, &item); err != nil {
				t.Fatalf("%v", err)
			}
			got = append(got, item)
		}
		if len(got) != len(want) {
			t.Fatalf("%q, want %q", got, want)
		}
		for i := range want {
			if strings.ToValidUTF8(want[i], "\uFFFD") != got[i] {
				t.Fatalf("item %d is %q, want %q", i, got[i], want[i])
			}
		}
		dense(t, s.Run.Log)
	})
}

// dense checks that the offsets of each topic are dense over each prefix of a log.
func dense(t *rapid.T, log []*history.Commit) {
	next := map[string]int64{}
	run := engine.NewRun(enginetest.WorkflowID, 1)
	for _, c := range log {
		for _, e := range c.Commands {
			if a, ok := e.Attributes.(*history.TopicItemsPublished); ok {
				if a.Offset != next[a.Topic] || a.Count < 1 {
					t.Fatalf("%+v, want offset %d", a, next[a.Topic])
				}
				next[a.Topic] += int64(a.Count)
			}
		}
		if err := run.Append(c, 1); err != nil {
			t.Fatalf("%v", err)
		}
		for name, topic := range run.State.Topics {
			if topic.Next != next[name] || topic.First > topic.Next {
				t.Fatalf("%+v, want %d", topic, next[name])
			}
			at := int64(0)
			for _, b := range topic.Batches {
				if b.Offset != at {
					t.Fatalf("%+v", topic.Batches)
				}
				at += int64(b.Count)
				if from := topic.From(at - 1); from[0] != b {
					t.Fatalf("from %d: %+v, want %+v", at-1, from[0], b)
				}
			}
			if at != topic.Next || len(topic.From(at)) != 0 {
				t.Fatalf("%+v", topic)
			}
		}
	}
}

// A log whose items do not follow each other is corrupt.
func TestItemsOutOfOrder(t *testing.T) {
	t.Parallel()
	run := engine.NewRun("w", 1)
	err := run.Append(&history.Commit{
		FirstEventID: 1, InputEvents: []history.Event{history.Of(&history.WorkflowExecutionStarted{WorkflowType: "reporter"})}, Task: &history.Task{},
		Commands: []history.Event{history.Of(&history.TopicItemsPublished{Topic: "steps", Offset: 1, Count: 1, Items: history.Payload("[1]")})},
	}, 1)
	if !errors.Is(err, engine.ErrCorrupt) {
		t.Error(err)
	}
}

// A run that is retried, or that follows by a cron expression, goes on with the offsets.
func TestTopicsGoOn(t *testing.T) {
	t.Parallel()
	started := &history.WorkflowExecutionStarted{
		WorkflowType: enginetest.Type, Input: history.Payload("1"), Retry: &history.RetryPolicy{InitialInterval: 1, MaximumAttempts: 3},
		Topics: []history.TopicOffset{{Name: "noise", Next: 3, First: 2}, {Name: "steps", Next: 7}},
	}
	s := enginetest.Open(t, func(ctx workflow.Context, _ int) (int, error) {
		if Steps.Next(ctx) != 7 {
			return 0, nil
		}
		Steps.Publish(ctx, "again")
		return 0, failure.New("broke", "it broke")
	})
	transition := s.Bring(started)
	next, _ := transition.Next[0].Attributes.(*history.WorkflowExecutionStarted)
	want := []history.TopicOffset{{Name: "noise", Next: 3, First: 2}, {Name: "steps", Next: 8}}
	if next == nil || !slices.Equal(next.Topics, want) {
		t.Errorf("%+v, want %+v", next, want)
	}
	if s.Run.State.TopicStart("steps") != 7 || s.Run.State.TopicStart("other") != 0 {
		t.Error(s.Run.State.TopicStart("steps"))
	}
}

// A batch of an activity is a commit without a task. Everything that was pending stays pending: a
// retry of a failed task, a start delay, a pause, a task that a reset has left. It schedules no
// message, and no code sees it but by the next offset.
func TestBatchKeepsWhatIsPending(t *testing.T) {
	t.Parallel()
	broken := true
	s := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) {
		future := Process.Start(ctx, "a")
		for range 2 {
			text, err := Poke.Receive(ctx)
			if err != nil {
				return "", err
			}
			if broken {
				panic("it is broken")
			}
			Steps.Publish(ctx, fmt.Sprint(text, " after ", Steps.Next(ctx)))
		}
		return future.Get(ctx)
	}, 0)
	number := 0
	batch := func() {
		t.Helper()
		number++
		before := *s.Run.State
		s.Batch(&history.ActivityItemsPublished{Topic: "steps", Count: 2, Items: history.Payload("[1,2]"), ScheduledEventID: s.Activities()[0], Attempt: 1, Execution: "e", Batch: number})
		after := s.Run.State
		if after.Pending != before.Pending || after.LastTask != before.LastTask || after.Streak != before.Streak || after.Paused != before.Paused || after.Topics["steps"].Next == 0 {
			t.Errorf("pending %d, and was %d", after.Pending, before.Pending)
		}
		if all := s.Run.Messages(s.Run.Last()); len(all) > 0 {
			t.Errorf("it schedules %+v", all)
		}
	}
	batch()
	s.Signal("poke", "one") // the task fails
	batch()
	if s.Run.State.Pending != history.PendingRetry {
		t.Fatal(s.Run.State.Pending)
	}
	retry := engine.Message{Kind: engine.RetryTask, Commit: s.Run.State.LastTask.ID}
	if !s.Run.Needed(&retry) {
		t.Error("the retry of the task is no longer needed")
	}
	keep(t, s, s.Run.Pause(s.Writer(), history.Of(&history.WorkflowExecutionPaused{})))
	batch()
	broken = false
	s.Bring(&history.WorkflowExecutionUnpaused{})
	s.Deploy() // the code is rebuilt from the log, in which batches are between tasks
	s.Signal("poke", "two")
	last := &history.ActivityItemsPublished{Topic: "steps", Count: 1, Items: history.Payload("[3]"), ScheduledEventID: s.Activities()[0], Attempt: 1, Execution: "e", Batch: 4}
	s.Bring(last, &history.ActivityTaskCompleted{ScheduledEventID: s.Activities()[0], Result: history.Payload(`"done"`), Attempt: 1})
	var result string
	if err := s.Outcome(&result); err != nil || result != "done" {
		t.Fatal(result, err)
	}
	var got []string
	for _, c := range s.Run.Log {
		for _, e := range slices.Concat(c.InputEvents, c.Commands) {
			switch a := e.Attributes.(type) {
			case *history.ActivityItemsPublished:
				got = append(got, fmt.Sprint(a.Offset, string(a.Items)))
			case *history.TopicItemsPublished:
				got = append(got, fmt.Sprint(a.Offset, string(a.Items)))
			case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // have no items
			}
		}
	}
	want := []string{"0[1,2]", "2[1,2]", "4[1,2]", `6["one after 6"]`, `7["two after 7"]`, "8[3]"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// After a batch a refused update leaves the code in memory, as before: nothing waits for a task.
func TestBatchKeepsTheCodeWarm(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) {
		Report.Handle(ctx, func(workflow.Context, []string) (int64, error) { return 0, nil }, workflow.Validate(func([]string) error { return errors.New("no") }))
		return Process.Run(ctx, "a")
	}, 0)
	s.Batch(&history.ActivityItemsPublished{Topic: "steps", Count: 1, Items: history.Payload("[1]"), ScheduledEventID: s.Activities()[0], Attempt: 1, Execution: "e", Batch: 1})
	in := s.Code()
	if u, f := s.Update("u", "report", []string{"x"}); f != nil || u.Verdict == engine.Accepted || s.Code() != in {
		t.Error(u, f, "or the code was dropped")
	}
}

// Batches of two executions never interleave: the first batch of one takes over, unless the
// other is of a later attempt. What is out of turn does not fold, and is not accepted.
func TestBatchesInTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		last           *engine.Execution
		id             string
		attempt, batch int
		want           bool
	}{
		{nil, "a", 1, 1, true},
		{nil, "a", 1, 2, false},
		{&engine.Execution{ID: "a", Attempt: 1, Batch: 1}, "a", 1, 2, true},
		{&engine.Execution{ID: "a", Attempt: 1, Batch: 1}, "a", 1, 1, false},
		{&engine.Execution{ID: "a", Attempt: 1, Batch: 1}, "a", 1, 3, false},
		{&engine.Execution{ID: "a", Attempt: 1, Batch: 4}, "b", 1, 1, true},
		{&engine.Execution{ID: "a", Attempt: 1, Batch: 4}, "b", 2, 1, true},
		{&engine.Execution{ID: "a", Attempt: 1, Batch: 4}, "b", 2, 5, false},
		{&engine.Execution{ID: "a", Attempt: 2, Batch: 4}, "b", 1, 1, false},
	} {
		if got := c.last.Follows(c.id, c.attempt, c.batch); got != c.want {
			t.Errorf("%+v, then %+v: %t", c.last, c, got)
		}
	}
	s := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) { return Process.Run(ctx, "a") }, 0)
	a := &history.ActivityItemsPublished{Topic: "steps", Count: 1, Items: history.Payload("[1]"), ScheduledEventID: s.Activities()[0], Attempt: 1, Execution: "e", Batch: 2}
	c := s.Run.Batch(s.Writer(), a)
	if err := s.Run.Accepts(c); !errors.Is(err, engine.ErrCorrupt) {
		t.Error(err)
	}
	if err := s.Run.Append(c, 1); !errors.Is(err, engine.ErrCorrupt) {
		t.Error(err)
	}
}

// A run that a reset has opened has the offsets of the batches, and its activities begin anew:
// the first attempt of the new run publishes although a later one of the old run has.
func TestResetOfBatches(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) {
		future := Process.Start(ctx, "a")
		if _, err := Poke.Receive(ctx); err != nil {
			return "", err
		}
		return future.Get(ctx)
	}, 0)
	batch := func(attempt int, execution string) *history.ActivityItemsPublished {
		return &history.ActivityItemsPublished{Topic: "steps", Count: 1, Items: history.Payload("[1]"), ScheduledEventID: s.Activities()[0], Attempt: attempt, Execution: execution, Batch: 1}
	}
	s.Batch(batch(3, "old"))
	s.Signal("poke", "x")
	s.Batch(batch(4, "older"))
	commits, err := s.Run.Reset(s.Writer(), &engine.Reset{EventID: s.Run.Log[2].TaskScheduledID(), MaxCommit: 1 << 20, MaxTotal: 1 << 20}, s.Run.Commits())
	if err != nil {
		t.Fatal(err)
	}
	run := engine.NewRun(enginetest.WorkflowID, 2)
	for _, c := range commits {
		if err := run.Append(c, 1); err != nil {
			t.Fatal(err)
		}
	}
	topic := run.State.Topics["steps"]
	if topic.Next != 2 || len(topic.Batches) != 1 || !topic.Batches[0].Copied || topic.Items != 0 || len(topic.Withdrawn) != 1 {
		t.Errorf("%+v", topic)
	}
	w := s.Writer()
	if err := run.Append(run.Batch(w, batch(1, "new")), 1); err != nil || run.State.Topics["steps"].Next != 3 {
		t.Error(err, run.State.Topics["steps"])
	}
}

// An execution ends its attempt unless another one has published since it knows, or a later attempt
// has.
func TestLetsEnd(t *testing.T) {
	own, first := engine.Execution{ID: "own", Attempt: 2}, engine.Execution{ID: "first", Attempt: 2, Batch: 3}
	for _, c := range []struct {
		name      string
		published *engine.Execution
		since     engine.Execution
		want      bool
	}{
		{"nobody has published", nil, engine.Execution{}, true},
		{"an earlier attempt", &engine.Execution{ID: "old", Attempt: 1, Batch: 4}, engine.Execution{}, true},
		{"an earlier attempt, since", &engine.Execution{ID: "old", Attempt: 1, Batch: 4}, engine.Execution{ID: "old", Attempt: 1, Batch: 3}, true},
		{"itself", &engine.Execution{ID: "own", Attempt: 2, Batch: 7}, own, true},
		{"another one", &engine.Execution{ID: "first", Attempt: 2, Batch: 1}, own, false},
		{"another one, and it has published nothing", &engine.Execution{ID: "first", Attempt: 2, Batch: 1}, engine.Execution{}, false},
		{"another one, before it began", &engine.Execution{ID: "first", Attempt: 2, Batch: 3}, first, true},
		{"another one, before it began and since", &engine.Execution{ID: "first", Attempt: 2, Batch: 4}, first, false},
		{"a later attempt", &engine.Execution{ID: "next", Attempt: 3, Batch: 1}, own, false},
		{"a later attempt, before it began", &engine.Execution{ID: "next", Attempt: 3, Batch: 1}, engine.Execution{ID: "next", Attempt: 3, Batch: 1}, false},
	} {
		if got := c.published.LetsEnd(2, c.since); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
