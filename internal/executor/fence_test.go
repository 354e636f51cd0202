package executor_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// deafLog is a log that applies no put and answers none.
type deafLog struct{ store.Log }

func (deafLog) Append(context.Context, ...store.Item) error { return store.ErrUnknown }

// The message of a start whose put never lands makes the start's run void, even if the workflow has
// an earlier run.
func TestFenceAfterAnEarlierRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		var said testbed.Warnings
		p := d.Start(executor.Options{Logger: said.Logger()}, counters()...)
		closeRun(t, p, "w")
		log := d.Ports.Log
		d.Ports.Log = deafLog{log}
		deaf := d.Idle(executor.Options{}, counters()...)
		d.Ports.Log = log
		if _, err := testbed.Counter.Start(t.Context(), deaf.Client, "w", 1, workflow.StartOptions{StartDelay: time.Second}); err == nil {
			t.Fatal("a start succeeded although its put was not applied")
		}
		time.Sleep(5 * time.Minute)
		if text := said.Take(); strings.Contains(text, "panicked") || !strings.Contains(text, "fenced") {
			t.Errorf("the processes logged:\n%s", text)
		}
		if _, err := testbed.Counter.Start(t.Context(), p.Client, "w", 2, workflow.StartOptions{}); err != nil {
			t.Errorf("a start after the void run: %v", err)
		}
		p.Stop()
	})
}

// frozenLog is the log of a process that blocks before its puts until thaw is closed.
type frozenLog struct {
	store.Log
	thaw chan struct{}
}

func (l frozenLog) Append(ctx context.Context, items ...store.Item) error {
	<-l.thaw
	return l.Log.Append(ctx, items...)
}

// countedQueue counts the messages that are sent.
type countedQueue struct {
	queue.Sender
	sent *atomic.Int64
}

func (q countedQueue) Send(ctx context.Context, name string, messages ...queue.Message) error {
	q.sent.Add(int64(len(messages)))
	return q.Sender.Send(ctx, name, messages...)
}

// A message whose commit does not land is copied ever more rarely. Its slot is fenced when the
// grace has passed, however long the grace is.
func TestCopiesUpToTheFence(t *testing.T) {
	t.Parallel()
	for grace, most := range map[time.Duration]int64{10 * time.Second: 5, time.Minute: 13, 5 * time.Minute: 20, time.Hour: 31} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			var said testbed.Warnings
			var sent atomic.Int64
			d.Ports.Queue = countedQueue{d.Ports.Queue, &sent}
			p := d.Start(executor.Options{Logger: said.Logger(), Grace: grace}, counters()...)
			log := d.Ports.Log
			thaw, ended := make(chan struct{}), make(chan struct{})
			d.Ports.Log = frozenLog{log, thaw}
			frozen := d.Idle(executor.Options{}, counters()...)
			d.Ports.Log = log
			begun := time.Now()
			go func() {
				defer close(ended)
				_, _ = testbed.Counter.Start(t.Context(), frozen.Client, "w", 1, workflow.StartOptions{StartDelay: time.Second})
			}()
			synctest.Wait()
			own := sent.Load()
			time.Sleep(time.Until(begun.Add(grace - time.Second)))
			if text := said.Take(); strings.Contains(text, "fenced") {
				t.Errorf("%v: the slot was fenced within the grace", grace)
			}
			copies := sent.Load() - own
			time.Sleep(4 * time.Second)
			if text := said.Take(); !strings.Contains(text, "fenced") {
				t.Errorf("%v: the slot was not fenced soon after the grace: %s", grace, text)
			}
			if own != 1 || copies > most || copies < 2 {
				t.Errorf("%v: %d messages have %d copies, want one message and at most %d copies", grace, own, copies, most)
			}
			close(thaw)
			<-ended
			p.Stop()
		})
	}
}
