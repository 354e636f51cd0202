package memory_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/queue/queuetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Harness{
		New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
			clock := queuetest.NewClock()
			q := memory.New(settings, memory.Options{Clock: clock.Now, Violation: t.Errorf})
			clock.OnMove(q.Tick)
			t.Cleanup(q.Check)
			return func() queuetest.Queue { return q }, clock // memory survives a reopening
		},
		MaxBody: 768 << 10, Reopens: true, Inspects: true, Redrives: true, Browses: true,
	})
}
