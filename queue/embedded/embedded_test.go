package embedded_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/embedded"
	"github.com/seed-41655fb1/weft/queue/queuetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Harness{
		New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
			dir, clock := t.TempDir(), queuetest.NewClock()
			var db *disk.DB
			closeDB := func() {
				if db != nil {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			t.Cleanup(closeDB)
			return func() queuetest.Queue {
				closeDB()
				var err error
				if db, err = disk.Open(dir); err != nil {
					t.Fatal(err)
				}
				q, err := embedded.New(db, settings, embedded.Options{Clock: clock.Now, Violation: t.Errorf})
				if err != nil {
					t.Fatal(err)
				}
				clock.OnMove(q.Tick)
				return q
			}, clock
		},
		MaxBody: embedded.MaxBody, Reopens: true,
	})
}
