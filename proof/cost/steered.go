package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/workflow"
)

// What operators steer: a workflow whose code fails while it is broken, and one whose activity
// fails at its first attempt.
var (
	brittle = workflow.NewWorkflow[workflow.None, int]("brittle")
	balky   = workflow.NewWorkflow[workflow.None, string]("balky")

	broken atomic.Bool
	balk   = activity.New("balk", func(ctx context.Context, _ activity.None) (string, error) {
		if activity.InfoOf(ctx).Attempt == 1 {
			return "", errors.New("the first attempt fails")
		}
		return "done", nil
	}, activity.Options{Retry: activity.Retry{InitialInterval: 5 * time.Second}})
)

func runBrittle(_ workflow.Context, _ workflow.None) (int, error) {
	if broken.Load() { //weftvet:ignore global it stands for code that is repaired
		panic("the code is broken")
	}
	return 1, nil
}

func runBalky(ctx workflow.Context, _ workflow.None) (string, error) {
	return balk.Run(ctx, activity.None{})
}

// scheduledFirst is the event that schedules an activity in the first task of a run.
const scheduledFirst = 5

// steered returns the requests by which operators see and steer runs.
func steered() []operation {
	const waitFor = 20 * time.Second
	started := func(ctx context.Context, d *deployment, id string) error {
		_, err := counter.Start(ctx, d.Client, id, workflow.None{})
		return err
	}
	pause := func(ctx context.Context, d *deployment, id string) error {
		return d.Client.Pause(ctx, id, client.PauseOptions{})
	}
	return []operation{
		{name: "description of a run", budget: counts{reads: 1}, times: 5, prepare: started, run: func(ctx context.Context, d *deployment, id string) error {
			_, err := d.Describe(ctx, id, "")
			return err
		}},
		{name: "where its code waits", budget: counts{reads: 1}, times: 5, prepare: started, run: func(ctx context.Context, d *deployment, id string) error {
			_, err := d.Waits(ctx, id, "")
			return err
		}},
		{name: "wait of 20 s for an event that does not come, held", budget: counts{reads: 16}, times: 1, busy: waitFor, prepare: started, run: func(ctx context.Context, d *deployment, id string) error {
			return d.get(ctx, "/v1/workflows/"+id+"/history", fmt.Sprintf("from=1000&wait=%v", waitFor))
		}},
		{name: failing, budget: counts{writes: 2, reads: 3, messages: 1}, times: 5, ends: true, run: func(ctx context.Context, d *deployment, id string) error {
			broken.Store(true)
			defer broken.Store(false)
			if _, err := brittle.Start(ctx, d.Client, id, workflow.None{}); err != nil {
				return err
			}
			broken.Store(false)
			return d.Client.Retry(ctx, id, "")
		}},
		{name: "start, an activity fails, retried by a request, end", budget: counts{writes: 4, reads: 7, messages: 3}, times: 1, ends: true, run: func(ctx context.Context, d *deployment, id string) error {
			run, err := balky.Start(ctx, d.Client, id, workflow.None{})
			if err == nil {
				err = d.attempted(ctx, id)
			}
			if err == nil {
				err = d.Client.RetryActivity(ctx, id, run.RunID, scheduledFirst)
			}
			return err
		}},
		{name: "completion of an activity by hand", budget: counts{writes: 1, reads: 2}, times: 5, ends: true, prepare: func(ctx context.Context, d *deployment, id string) error {
			run, err := asker.Start(ctx, d.Client, id, job{})
			if err != nil {
				return err
			}
			<-asked
			d.runs.Store(id, run.RunID)
			return nil
		}, run: func(ctx context.Context, d *deployment, id string) error {
			run, _ := d.runs.Load(id)
			_, err := d.CompleteByHand(ctx, id, run.(string), scheduledFirst, history.Payload(`"done"`), "it was delivered by hand")
			return err
		}},
		{name: "pause", budget: counts{writes: 1, reads: 1}, times: 5, prepare: started, run: pause},
		{name: "resumption", budget: counts{writes: 1, reads: 1}, times: 5, prepare: func(ctx context.Context, d *deployment, id string) error {
			if err := started(ctx, d, id); err != nil {
				return err
			}
			return pause(ctx, d, id)
		}, run: func(ctx context.Context, d *deployment, id string) error {
			return d.Client.Resume(ctx, id, client.PauseOptions{})
		}},
	}
}

// counting returns the count of a list that has only closed runs.
func counting() operation {
	return operation{name: "count of " + measured.Commas(strconv.Itoa(listedRuns)) + " closed runs, by status", times: 1, run: func(ctx context.Context, d *deployment, _ string) error {
		counts, err := d.Count(ctx, client.CountOptions{GroupBy: "ExecutionStatus"})
		if err == nil && counts.Count != listedRuns {
			err = fmt.Errorf("%d runs were counted", counts.Count)
		}
		return err
	}}
}

// listedRuns is how many runs are counted.
const listedRuns = 1000

// fill puts closed runs into the list, without counting that.
func (d *deployment) fill(ctx context.Context) error {
	table, err := dynamo.New(d.tables, dynamo.Options{Table: d.name})
	if err != nil {
		return err
	}
	began := time.Now().Add(-time.Hour)
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(8)
	for n := range listedRuns {
		puts.Go(func() error {
			started := began.Add(time.Duration(n) * time.Second)
			row := store.Summary{Workflow: fmt.Sprintf("order-%d", n), Run: 1, RunID: "1-0123456789abcdef", Type: "order", Status: "running", Started: started}
			item := store.Item{Key: store.Key{Workflow: row.Workflow, Run: 1}, Commit: [16]byte{1}, Body: []byte("x"), Summary: &row}
			if err := table.Append(ctx, item); err != nil {
				return err
			}
			closed := row
			closed.Status, closed.Closed = "completed", started.Add(time.Minute)
			item.Slot, item.Summary = 1, &closed
			return table.Append(ctx, item)
		})
	}
	return puts.Wait()
}

// get sends a request to the api function, and reads its answer.
func (d *deployment) get(ctx context.Context, path, query string) error {
	event := map[string]any{
		"version": "2.0", "rawPath": path, "rawQueryString": query,
		"requestContext": map[string]any{"http": map[string]any{"method": "GET", "path": path}},
	}
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	var answer struct{ StatusCode int }
	if body, err = d.Invoke(ctx, string(function.API), body); err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err == nil && answer.StatusCode != 200 {
		err = fmt.Errorf("%s?%s: %s", path, query, body)
	}
	return err
}

// attempted waits until an attempt at an activity of a workflow has failed, without counting that.
func (d *deployment) attempted(ctx context.Context, id string) error {
	table, err := dynamo.New(d.tables, dynamo.Options{Table: d.name})
	if err != nil {
		return err
	}
	for {
		all, err := table.ReadAttempts(ctx, id, 1)
		if err != nil || len(all) > 0 && d.active.Load() == 0 {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
