//go:build aws

package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/proof/awsmeter"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// commit returns an item like the engine's, with a body of a size.
func commit(workflow string, slot uint32, size int) store.Item {
	i := store.Item{Key: store.Key{Workflow: workflow, Run: 1, Slot: slot}, Body: bytes.Repeat([]byte{'x'}, size)}
	i.Commit, i.Expires = [16]byte{byte(slot >> 8), byte(slot), 1}, noon.AddDate(1, 0, 0)
	return i
}

func opening(workflow string, run uint32) store.Item {
	i := commit(workflow, 0, 194)
	i.Run, i.Summary = run, summary(run, "running", time.Time{})
	i.Summary.Workflow = workflow
	return i
}

// The cost of each call in requests and units, according to the server and to the ports' meter.
// These are the figures of doc.go.
func TestUnits(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			server.Config.APIOptions = append(server.Config.APIOptions, awsmeter.Install(nil, awsmeter.Options{Units: true}))
			client := dynamodb.NewFromConfig(server.Config)
			table := newTable(t, client)
			for name, noList := range map[string]bool{"listed": false, "unlisted": true} {
				s, err := dynamo.New(client, dynamo.Options{Table: table, Namespace: name, NoList: noList})
				if err != nil {
					t.Fatal(err)
				}
				checkUnits(t, s, noList)
			}
		})
	}
}

// step is a call with its cost according to AWS's documentation.
type step struct {
	name string
	call func(ctx context.Context) error
	want awsmeter.Cost
}

// less has what DynamoDB Local reports instead: it counts a transaction as single writes, and
// queries that find nothing as free.
func less(index float64) map[string]awsmeter.Cost {
	return map[string]awsmeter.Cost{
		"a close with a successor":   {Writes: 2, WriteUnits: 2, IndexUnits: 2 * index},
		"a sweep that finds nothing": {StrongReads: 4},
		"a sweep that finds it":      {StrongReads: 4, ReadUnits: 1},
		"the list":                   {EventualReads: 8, ReadUnits: 0.5},
	}
}

func checkUnits(t *testing.T, s *dynamo.Store, noList bool) {
	t.Helper()
	index := 1.0
	if noList {
		index = 0
	}
	changing, large := opening("order", 1), opening("order", 1)
	changing.Slot, changing.Commit, changing.Summary.Attributes = 4, [16]byte{7}, "some"
	large.Slot, large.Commit, large.Summary.Memo = 5, [16]byte{8}, string(bytes.Repeat([]byte{'m'}, 3000))
	closing, successor := opening("order", 1), opening("order", 2)
	closing.Slot, closing.Commit, closing.Summary = 3, [16]byte{9}, summary(1, "completed", noon)
	log, attempts, timers, scanner := meter.Log(s), meter.Attempts(s), meter.Timers(s), meter.Scanner(s)
	appending := func(items ...store.Item) func(context.Context) error {
		return func(ctx context.Context) error { return log.Append(ctx, items...) }
	}
	timer := []store.Timer{{ID: "a", Due: noon, Body: bytes.Repeat([]byte{'x'}, 300)}}
	steps := []step{
		{"a commit that opens a run", appending(opening("order", 1)), awsmeter.Cost{Writes: 1, WriteUnits: 1, IndexUnits: index}},
		{"a commit of 194 bytes", appending(commit("order", 1, 194)), awsmeter.Cost{Writes: 1, WriteUnits: 1}},
		{"a commit of 800 bytes", appending(commit("order", 2, 800)), awsmeter.Cost{Writes: 1, WriteUnits: 1}},
		{"a commit that changes what the list has", appending(changing), awsmeter.Cost{Writes: 1, WriteUnits: 1, IndexUnits: index}},
		{"the same, with a memo of 3,000 bytes", appending(large), awsmeter.Cost{Writes: 1, WriteUnits: 4, IndexUnits: 4 * index}},
		{"a lost race", appending(commit("order", 2, 194)), awsmeter.Cost{Lost: 1}},
		{"a close with a successor", appending(closing, successor), awsmeter.Cost{Writes: 2, WriteUnits: 4, IndexUnits: 2 * index}},
		{"a commit of 2,000 bytes", appending(commit("other", 0, 2000)), awsmeter.Cost{Writes: 1, WriteUnits: 3}},
		{"a record of an attempt", func(ctx context.Context) error {
			return attempts.RecordAttempt(ctx, store.Attempt{Workflow: "order", Run: 1, Event: 5, Number: 1, Body: []byte("x")})
		}, awsmeter.Cost{Writes: 1, WriteUnits: 1}},
		{"the attempts", func(ctx context.Context) error { _, err := attempts.ReadAttempts(ctx, "order", 1); return err }, awsmeter.Cost{StrongReads: 1, ReadUnits: 1}},
		{"a sweep that finds nothing", func(ctx context.Context) error {
			_, err := timers.DueTimers(ctx, noon, 100)
			return err
		}, awsmeter.Cost{StrongReads: 4, ReadUnits: 4}},
		{"a timer", func(ctx context.Context) error { return timers.PutTimers(ctx, timer) }, awsmeter.Cost{Writes: 1, WriteUnits: 1}},
		{"a sweep that finds it", func(ctx context.Context) error {
			_, err := timers.DueTimers(ctx, noon.Add(time.Second), 100)
			return err
		}, awsmeter.Cost{StrongReads: 4, ReadUnits: 4}},
		{"its deletion", func(ctx context.Context) error { return timers.DeleteTimers(ctx, timer) }, awsmeter.Cost{Writes: 1, WriteUnits: 1}},
		{"a deletion of 2,000 bytes", func(ctx context.Context) error {
			return scanner.Delete(ctx, []store.Item{commit("other", 0, 0)}, nil)
		}, awsmeter.Cost{Writes: 1, WriteUnits: 3}},
		{"a deletion of what was listed", func(ctx context.Context) error {
			return scanner.Delete(ctx, []store.Item{opening("order", 1)}, nil)
		}, awsmeter.Cost{Writes: 1, WriteUnits: 1, IndexUnits: index}},
		{"the mark", func(ctx context.Context) error { return scanner.WriteMark(ctx, nil, []byte("x")) }, awsmeter.Cost{Writes: 1, WriteUnits: 1}},
		{"a look at the mark", func(ctx context.Context) error { _, err := scanner.ReadMark(ctx); return err }, awsmeter.Cost{StrongReads: 1, ReadUnits: 1}},
		{"a scan", func(ctx context.Context) error { _, _, err := scanner.Scan(ctx, "", 1); return err }, awsmeter.Cost{EventualReads: 1, ReadUnits: 0.5}},
	}
	if !noList {
		steps = append(steps, step{"the list", func(ctx context.Context) error {
			_, _, err := s.Lister().ListRuns(ctx, store.Filter{}, "", 100)
			return err
		}, awsmeter.Cost{EventualReads: 8, ReadUnits: 4}})
	}
	for _, n := range []int{3, 100, 1000} {
		steps = append(steps, history(t, s, n, noList))
	}
	for item, want := range map[*store.Item][2]int{ // in units, as the steps with these items
		new(opening("order", 1)): {1, 1}, new(commit("order", 1, 194)): {1, 0}, new(commit("order", 2, 800)): {1, 0},
		&changing: {1, 1}, &large: {4, 4}, new(commit("other", 0, 2000)): {3, 0},
	} {
		row, err := 0, error(nil)
		var bytes int
		if bytes, row, err = dynamo.Size(map[bool]string{true: "unlisted", false: "listed"}[noList], *item, !noList); noList {
			want[1] = 0
		}
		if got := [2]int{(bytes + 1023) / 1024, (row + 1023) / 1024}; got != want || err != nil {
			t.Errorf("%v has %d bytes and a row of %d, %v; want %v units", item.Key, bytes, row, err, want)
		}
	}
	for _, step := range steps {
		ctx, ports := meter.With(t.Context())
		ctx, m := awsmeter.With(ctx)
		err := step.call(ctx)
		got, p := m.Cost(), ports.Cost()
		t.Logf("%s (list: %v): %+v", step.name, !noList, got)
		if local, ok := less(index)[step.name]; got != step.want && !(ok && got == local) {
			t.Errorf("%s cost %+v, want %+v (%v)", step.name, got, step.want, err)
		}
		if p.Writes != got.Writes || p.Lost != got.Lost || p.Reads != got.StrongReads && got.StrongReads == 1 {
			t.Errorf("%s: the ports count %v, the requests %+v", step.name, p, got)
		}
	}
}

// history puts a run of n commits, and returns a step that loads it.
func history(t *testing.T, s *dynamo.Store, n int, noList bool) step {
	t.Helper()
	workflow := fmt.Sprint("history-", n)
	for slot := range uint32(n) {
		if err := s.Append(t.Context(), commit(workflow, slot, 194)); err != nil {
			t.Fatal(err)
		}
	}
	log := meter.Log(s)
	// The check takes 6 of the 278 bytes of an item. 1,000 items take 69 units with it and took 68
	// without: docs/decisions/0036-checksums.md.
	units := map[int]float64{3: 1, 100: 7, 1000: 69}[n]
	if noList && n == 1000 {
		units = 70 // the namespace has a longer name
	}
	return step{fmt.Sprintf("the load of %d commits", n), func(ctx context.Context) error {
		page, err := log.Backward(ctx, workflow, store.Key{}, store.Key{}, 0)
		if len(page.Items) != n || page.More {
			return fmt.Errorf("%d items, more %v: %w", len(page.Items), page.More, err)
		}
		return err
	}, awsmeter.Cost{StrongReads: 1, ReadUnits: units}}
}

// The store or the server refuses an item as too large, from one size on.
func TestLargestItem(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			client := dynamodb.NewFromConfig(server.Config)
			s, err := dynamo.New(client, dynamo.Options{Table: newTable(t, client)})
			if err != nil {
				t.Fatal(err)
			}
			const limit = 400 << 10
			var refused []int
			for size := limit - 100; size < limit-60; size++ {
				err := s.Append(t.Context(), commit("order", uint32(size), size))
				if err != nil && !errors.Is(err, store.ErrTooLarge) {
					t.Fatalf("a body of %d bytes: %v", size, err)
				}
				if err == nil && len(refused) > 0 {
					t.Errorf("a body of %d bytes is taken, and one of %d was not", size, refused[0])
				}
				if err != nil {
					refused = append(refused, size)
				}
			}
			if len(refused) == 0 || len(refused) == 40 {
				t.Errorf("%d of 40 sizes were refused", len(refused))
			}
		})
	}
}

// The cost of a filter that selects nothing: it reads each row between its moments, and for a
// changed run a row for each change.
func TestUnitsOfFilters(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			server.Config.APIOptions = append(server.Config.APIOptions, awsmeter.Install(nil, awsmeter.Options{Units: true}))
			client := dynamodb.NewFromConfig(server.Config)
			s, err := dynamo.New(client, dynamo.Options{Table: newTable(t, client)})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 500 {
				open := opening(fmt.Sprint("order-", n), 1)
				open.Summary.Started = noon.Add(time.Duration(n) * time.Second)
				closed := open
				row := *open.Summary
				row.Status, row.Closed = "completed", noon.Add(time.Hour)
				closed.Slot, closed.Commit, closed.Summary = 1, [16]byte{1, 1}, &row
				if err := errors.Join(s.Append(t.Context(), open), s.Append(t.Context(), closed)); err != nil {
					t.Fatal(err)
				}
			}
			none := func(*store.Summary) bool { return false }
			for name, c := range map[string]struct {
				filter store.Filter
				least  float64
				most   float64
			}{
				"all 500":     {store.Filter{Where: none}, 25, 40},
				"the last 50": {store.Filter{Where: none, StartedAfter: noon.Add(449500 * time.Millisecond)}, 4, 8},
			} {
				ctx, m := awsmeter.With(t.Context())
				if runs, next, err := s.Lister().ListRuns(ctx, c.filter, "", 100); len(runs) > 0 || next != "" || err != nil {
					t.Fatalf("%d runs, %q, %v", len(runs), next, err)
				}
				units := m.Cost().ReadUnits
				if t.Logf("%s: %v read units", name, units); units < c.least || units > c.most {
					t.Errorf("%s: %v read units, want %v to %v", name, units, c.least, c.most)
				}
			}
		})
	}
}
