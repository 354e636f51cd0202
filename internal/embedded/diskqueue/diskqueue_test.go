package diskqueue_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskqueue"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/queuetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, bodyBytes := range map[string]int64{"bodies in memory": 0, "bodies in the file": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance(t, bodyBytes)
		})
	}
}

func conformance(t *testing.T, bodyBytes int64) {
	t.Helper()
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
				q, err := diskqueue.New(db, settings, diskqueue.Options{Clock: clock.Now, Violation: t.Errorf, BodyBytes: bodyBytes})
				if err != nil {
					t.Fatal(err)
				}
				clock.OnMove(q.Tick)
				return q
			}, clock
		},
		MaxBody: diskqueue.MaxBody, Reopens: true, Inspects: true, Redrives: true, Browses: true,
	})
}

// A message that ends the process at each delivery moves to the dead letters. Each process counts a
// receive before it delivers the message, except for the first receive. No process delivers a
// message that has reached its limit.
func TestMessageThatEndsTheProcess(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	settings := map[string]queue.Settings{"q": {MaxReceives: 3}, queue.DeadLetters("q"): {}}
	deliveries := 0
	for life := range 10 {
		crashed := "" // a copy of the directory at the crash
		db, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		q, err := diskqueue.New(db, settings, diskqueue.Options{Violation: t.Errorf})
		if err == nil && life == 0 {
			err = errors.Join(q.Send(ctx, "q", queue.Message{Body: []byte("poison")}, queue.Message{Body: []byte("good")}), db.Write(func(*disk.Tx) error { return nil }))
			crashed = copyOf(t, dir) // without the count of the first receive
		}
		if err == nil && life > 0 {
			err = q.Send(ctx, "q", queue.Message{Body: []byte("probe")})
		}
		if err != nil {
			t.Fatal(err)
		}
		for probe := false; !probe; {
			got, err := q.Receive(ctx, "q", 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range got {
				switch string(m.Body) {
				case "poison":
					deliveries++
				default:
					probe = true
					if err := q.Delete(ctx, "q", m.Receipt); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if life > 0 {
			crashed = copyOf(t, dir)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		dir = crashed
	}
	if deliveries != 4 {
		t.Errorf("the message was delivered %d times; want once more than its limit of 3", deliveries)
	}
}

// A task queue in the file exists even if it is in no settings: its messages are not lost, and do
// not prevent the start.
func TestTaskQueueThatIsLeft(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	for _, asked := range [][]string{{"reports"}, nil} {
		db, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		q, err := diskqueue.New(db, queue.Standard(asked...), diskqueue.Options{Violation: t.Errorf})
		if err != nil {
			t.Fatal(err)
		}
		if got := q.TaskQueues(); len(got) != 1 || got[0] != "reports" {
			t.Errorf("the task queues are %q", got)
		}
		if len(asked) > 0 {
			err = q.Send(ctx, queue.ForTasks("reports"), queue.Message{Body: []byte("a message")})
		} else if got, e := q.Receive(ctx, queue.ForTasks("reports"), 1); e != nil || string(got[0].Body) != "a message" {
			t.Errorf("%v, %v; want what was sent", got, e)
		}
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A timer that ends the process each time is received at most once more than its limit, even if the
// sweep that sent it has not deleted it yet. Each process sends it again, and its first receive
// waits for the disk.
func TestTimerThatEndsTheProcess(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	settings := map[string]queue.Settings{queue.Timers: {MaxReceives: 3, Visibility: time.Hour}, queue.DeadLetters(queue.Timers): {}}
	deliveries := map[string]int{}
	for life := range 12 {
		db, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		q, err := diskqueue.New(db, settings, diskqueue.Options{Violation: t.Errorf})
		if err != nil {
			t.Fatal(err)
		}
		if life < 3 { // then the timer's deletion has reached the disk
			if err := q.Send(ctx, queue.Timers, queue.Message{Body: fmt.Append(nil, "sent in life ", life)}); err != nil {
				t.Fatal(err)
			}
		}
		for q.Ready(queue.Timers) {
			got, err := q.Receive(ctx, queue.Timers, 1)
			if err != nil {
				t.Fatal(err)
			}
			deliveries[string(got[0].Body)]++
		}
		crashed := copyOf(t, dir) // the directory when a handler ends the process
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		dir = crashed
	}
	if len(deliveries) != 3 {
		t.Errorf("%v was delivered, want what three lives sent", deliveries)
	}
	for body, n := range deliveries {
		if n > 4 {
			t.Errorf("%q was delivered %d times; want at most once more than its limit of 3", body, n)
		}
	}
}

// copyOf copies the directory of an open database as it was at one moment. The database deletes,
// creates and grows files on its own, so copyOf repeats the copy until no file has changed
// meanwhile.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	for {
		to := t.TempDir()
		before, err := sizes(dir)
		if err == nil {
			err = os.CopyFS(to, os.DirFS(dir))
		}
		after, errAfter := sizes(dir)
		switch err = errors.Join(err, errAfter); {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		case err == nil && maps.Equal(before, after):
			return to
		}
	}
}

// sizes returns the size of each file under dir, by path.
func sizes(dir string) (map[string]int64, error) {
	found := map[string]int64{}
	return found, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			found[path] = info.Size()
		}
		return err
	})
}
