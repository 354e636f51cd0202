package crash

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/runner"
)

func act(id string) runner.CodeRef { return code(runner.CodeActivity, id, 5) }

// suspected opens a recorder whose suspects are these activities.
func suspected(t *testing.T, doubts int, ids ...string) *process {
	t.Helper()
	dir := t.TempDir()
	p := open(t, dir, "b1")
	for _, id := range ids {
		p.Begin(act(id))
	}
	p.die(t)
	p = open(t, dir, "b1")
	p.doubts = doubts
	return p
}

// await lets an activity wait for its turn. The channel gets how long that took.
func (p *process) await(id string) <-chan time.Duration {
	waited := make(chan time.Duration, 1)
	go func() {
		from := time.Now()
		p.Await(act(id))
		waited <- time.Since(from)
	}()
	synctest.Wait()
	return waited
}

// A suspect that waits for its turn, or prepares its run in its turn, is not blamed for a death.
func TestWaitingIsNotRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := code(runner.CodeTask, "other", 0)
	synctest.Test(t, func(t *testing.T) {
		p := open(t, dir, "b1")
		if turn := p.Await(act("a")); turn != runner.NoTurn {
			t.Errorf("code that is not suspected has turn %d", turn)
		}
		p.Begin(act("a"))
		p.Begin(act("b"))
		p.die(t)
		for range 2 * enough {
			p := open(t, dir, "b1")
			p.Await(act("a"))
			p.await("b")
			if turn := p.Await(other); turn != runner.NoTurn {
				t.Errorf("code that is not suspected has turn %d", turn)
			}
			p.End(p.Begin(other))
			p.die(t)
			if p.Parked(act("a")) != "" || p.Parked(act("b")) != "" {
				t.Fatalf("parked without running: %q, %q", p.Parked(act("a")), p.Parked(act("b")))
			}
			time.Sleep(FirstTurn) // b's goroutine of that process ends
		}
	})
}

// A suspect that does not run gives its turn back, and one whose code returns does too. Leave does
// nothing once the code has begun, or if the turn is another's.
func TestTurnsAreGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := suspected(t, 2, "a", "b", "c", "d")
		first := p.Await(act("a"))
		waited := p.await("b")
		p.Leave(first)
		if took := <-waited; took != 0 {
			t.Errorf("b waited for %v after a had left", took)
		}
		waited = p.await("c")
		p.Leave(first) // b has the turn by now
		p.Leave(runner.NoTurn)
		synctest.Wait()
		if len(waited) != 0 {
			t.Error("c has b's turn")
		}
		<-waited                    // b's turn is over
		second := p.Await(act("d")) // c's turn is over
		n := p.Recorder.Begin(act("d"), second)
		waited = p.await("a")
		p.Leave(second) // its code runs
		synctest.Wait()
		if len(waited) != 0 {
			t.Error("a has d's turn while d runs")
		}
		p.End(n)
		if took := <-waited; took != 0 {
			t.Errorf("a waited for %v after d had returned", took)
		}
		p.die(t)
	})
}

// Code that has waited for its turn does not wait when it begins, because its lease has begun. If
// its turn is over by then, it runs beside the others.
func TestNoWaitWithinTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := []string{"a"}
		for i := range 12 {
			ids = append(ids, fmt.Sprint("long", i))
		}
		p := suspected(t, 0, ids...)
		turn := p.Await(act("a"))
		for _, id := range ids[1:] {
			go func() {
				n := p.Recorder.Begin(act(id), p.Await(act(id)))
				time.Sleep(10 * time.Minute)
				p.End(n)
			}()
		}
		time.Sleep(FirstTurn + time.Millisecond) // the writes before the attempt are slow
		from := time.Now()
		n := p.Recorder.Begin(act("a"), turn)
		if took := time.Since(from); took > 0 {
			t.Errorf("a waited for %v within its lease", took)
		}
		p.End(n)
		time.Sleep(time.Hour)
		p.die(t)
	})
}

// A turn has its length, whether the next suspect waits since before the code began or not.
func TestTurnsHaveTheirLength(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := []string{"a", "b", "c", "d"}
		p := suspected(t, 0, ids...)
		from, began := time.Now(), make(chan time.Duration)
		for _, id := range ids {
			go func() {
				turn := p.Await(act(id))
				time.Sleep(10 * time.Millisecond) // its lease, and its begin mark
				n := p.Recorder.Begin(act(id), turn)
				began <- time.Since(from)
				time.Sleep(10 * time.Minute)
				p.End(n)
			}()
		}
		for i := range ids {
			if at := <-began; at < time.Duration(i)*FirstTurn || at > time.Duration(i)*FirstTurn+time.Second {
				t.Errorf("suspect %d began after %v, want about %v", i, at, time.Duration(i)*FirstTurn)
			}
		}
		time.Sleep(time.Hour)
		p.die(t)
	})
}

// A turn that ends because there is no place for a note wakes those who wait for it.
func TestNoPlaceFreesTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := suspected(t, 2, "a", "b")
		for i := range places {
			p.Begin(code(runner.CodeTask, fmt.Sprint("w", i), 0))
		}
		turn := p.Await(act("a"))
		waited := p.await("b")
		if n := p.Recorder.Begin(act("a"), turn); n != noNote {
			t.Fatalf("the note is %d, want none", n)
		}
		if took := <-waited; took != 0 {
			t.Errorf("b waited for %v although the turn was free", took)
		}
		p.die(t)
	})
}

// Nobody waits when there are no suspects any more, and no note is written for code that does not
// run.
func TestNoSuspectsNoWait(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"awaited", "running"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := suspected(t, 2, "a", "b")
				turn, n := p.Await(act("a")), noNote
				if how == "running" {
					n = p.Recorder.Begin(act("a"), turn)
				}
				waited := p.await("b")
				p.Forget("a", 1)
				p.Forget("b", 1)
				p.Leave(turn)
				p.End(n)
				if took := <-waited; took != 0 {
					t.Errorf("b waited for %v although nothing is suspected", took)
				}
				if left, err := readNotes(filepath.Join(p.dir, notesName), "b1"); err != nil || len(left) != 0 {
					t.Errorf("no code runs, and the notes say %v, %v", left, err)
				}
				p.die(t)
			})
		})
	}
}
