package engine_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// What a run has caused follows from its log alone: it is the same after each prefix for a reader
// that has read the log at once, for one that went on from an earlier commit, and for one that has
// dropped commits from memory. Each commit adds to it.
func TestCountsFollowFromTheLog(t *testing.T) {
	t.Parallel()
	found := engine.Counts{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		log := p.on(t).Run.Log
		kept, trimmed := engine.NewRun("counts", 1), engine.NewRun("counts", 1)
		before := engine.Counts{}
		for i, c := range log {
			spent := spentWith(t, kept, c)
			appendTo(t, kept, c)
			if c.Status.Closed() && spent != kept.State.Counts {
				t.Fatalf("the row of the commit that closes the run has %+v, and the run %+v", spent, kept.State.Counts)
			}
			appendTo(t, trimmed, c)
			trimmed.Trim(int64(rapid.IntRange(0, 2000).Draw(t, "keep")))
			got := kept.State.Counts
			if scratch := read(t, log[:i+1]).State.Counts; got != scratch || got != trimmed.State.Counts {
				t.Fatalf("after slot %d: %+v; from the beginning %+v; without some commits in memory %+v", i, got, scratch, trimmed.State.Counts)
			}
			checkGrowth(t, before, got)
			if messages := scheduled(kept, log[:i+1]); got.Messages < messages {
				t.Fatalf("after slot %d: %d messages, and its commits schedule %d", i, got.Messages, messages)
			}
			before = got
		}
		found.Records, found.Requests = found.Records+before.Records, found.Requests+before.Requests
	})
	if found.Records == 0 && !testing.Short() {
		t.Error("no attempt failed: the test tests little")
	}
}

// spentWith returns what the row of a commit, the run's next, has of the run's work.
func spentWith(t *rapid.T, run *engine.Run, c *history.Commit) engine.Counts {
	body, err := history.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return *run.Spent(c, len(body))
}

func appendTo(t *rapid.T, run *engine.Run, c *history.Commit) {
	body, err := history.Encode(c)
	if err == nil {
		err = run.Append(c, len(body))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *rapid.T, log []*history.Commit) *engine.Run {
	run := engine.NewRun("counts", 1)
	for _, c := range log {
		appendTo(t, run, c)
	}
	return run
}

// checkGrowth checks what holds for each commit that is no part of a reset: it is one item.
func checkGrowth(t *rapid.T, before, after engine.Counts) {
	if after.Commits != before.Commits+1 || after.Units <= before.Units || after.Stored <= before.Stored || after.Rows > before.Rows+1 {
		t.Fatalf("a commit made %+v of %+v", after, before)
	}
	for name, n := range map[string][2]int64{
		"requests": {before.Requests, after.Requests}, "records": {before.Records, after.Records}, "messages": {before.Messages, after.Messages},
		"sends": {before.Sends, after.Sends}, "kept": {before.Kept, after.Kept}, "reads": {before.Reads, after.Reads}, "read units": {before.ReadUnits, after.ReadUnits},
	} {
		if n[1] < n[0] {
			t.Fatalf("a commit made %d %s of %d", n[1], name, n[0])
		}
	}
	if after.Messages-after.Results < after.Released || after.ReadUnits < after.Reads {
		t.Fatalf("%+v contradicts itself", after)
	}
}

// scheduled returns how many messages the commits of a run have scheduled that a queue can delay.
// The plays have no inline activities.
func scheduled(run *engine.Run, log []*history.Commit) (n int64) {
	for _, c := range log {
		if c.Status.Closed() {
			continue // what it sends depends on what was pending before
		}
		for _, m := range run.Messages(c) {
			if m.Due == 0 || m.Due.Sub(c.Time) <= 15*time.Minute {
				n++
			}
		}
	}
	return n
}

// A log whose beginning is missing has counts, too: they are read before anybody finds that out.
func TestCountsOfADamagedLog(t *testing.T) {
	t.Parallel()
	run := engine.NewRun("counts", 1)
	end := history.Of(&history.WorkflowExecutionTimedOut{})
	for slot, c := range []*history.Commit{
		{FirstEventID: 1, Pending: history.PendingStart, CausationIDs: []history.CausationID{1}},
		{Slot: 1, FirstEventID: 1, Status: history.TimedOut, InputEvents: []history.Event{end}, CausationIDs: []history.CausationID{1}},
	} {
		if err := run.Append(c, 100); err != nil {
			t.Fatalf("slot %d: %v", slot, err)
		}
	}
	if n := run.State.Counts; n.Commits != 2 || n.Rows != 0 {
		t.Errorf("%+v", n)
	}
	empty := engine.NewRun("counts", 1)
	if err := empty.Append(&history.Commit{FirstEventID: 1, InputEvents: []history.Event{history.Of(&history.WorkflowExecutionStarted{WorkflowType: "t"})}}, 100); err != nil {
		t.Fatal(err)
	}
	if err := empty.Append(&history.Commit{Slot: 1, FirstEventID: 2, Status: history.Failed}, 100); err != nil || empty.State.Counts.Rows != 2 {
		t.Errorf("a close without an event: %v, %+v", err, empty.State.Counts)
	}
	if err := empty.Append(&history.Commit{Slot: 9, FirstEventID: 9, Status: history.TimedOut, InputEvents: []history.Event{end}, CausationIDs: []history.CausationID{1}}, 100); err == nil {
		t.Error("a commit that does not follow is counted")
	}
}

// Attempts that failed are counted one by one, and the many that follow after the longest interval
// at once: an activity may fail each second for years.
func TestCountsOfFailedAttempts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, factor := time.Duration(rapid.IntRange(1, 1200).Draw(t, "first"))*time.Second, rapid.SampledFrom([]float64{1, 1.1, 2, 10}).Draw(t, "factor")
		longest, attempts := time.Duration(rapid.IntRange(0, 3600).Draw(t, "longest"))*time.Second, rapid.IntRange(0, 200).Draw(t, "attempts")
		a := &history.ActivityTaskScheduled{Retry: history.RetryPolicy{
			InitialInterval: history.Duration(first), BackoffCoefficient: factor, MaximumInterval: history.Duration(longest), MaximumAttempts: rapid.SampledFrom([]int{0, 1000}).Draw(t, "most"),
		}, ScheduleToStart: history.Duration(rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "scheduleToStart"))}
		if longest == 0 {
			longest = 100 * first
		}
		n := int64(attempts)
		want := engine.Counts{Records: n, Messages: n, Sends: n, Reads: n}
		switch {
		case a.Retry.MaximumAttempts > 0:
			want.Records, want.Reads = 2*n, 2*n
		case a.ScheduleToStart > 0:
			want.Records += min(n, 1)
		}
		for i, delay := 0, float64(first); i < attempts; i, delay = i+1, delay*factor {
			if min(delay, float64(longest)) > float64(15*time.Minute) {
				want.Kept, want.Released = want.Kept+1, want.Released+1
			}
		}
		want.ReadUnits = want.Reads
		var got engine.Counts
		if got.Failed(a, attempts); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
	var n engine.Counts
	if n.Failed(&history.ActivityTaskScheduled{Retry: history.RetryPolicy{InitialInterval: history.Duration(time.Second), BackoffCoefficient: 2}}, 1<<40); n.Messages != 1<<40 {
		t.Errorf("%d messages", n.Messages)
	}
}
