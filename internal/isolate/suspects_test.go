package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/crash"
	"github.com/seed-41655fb1/weft/queue"
)

// alone returns a pool whose solo child is a process that never ends by itself, and which is always
// free.
func alone(t *testing.T) (*Pool, *process) {
	p := idle(mostWaiting)
	p.o.Log = slog.New(slog.DiscardHandler)
	c := &process{alone: true, ended: make(chan struct{}), inFlight: map[string]flight{}}
	go func() {
		for {
			select {
			case p.solo.next <- c:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return p, c
}

// A suspect has the solo child for itself for a turn. A delivery whose turn has not come is
// postponed, by as much as the others need, and does not wait.
func TestSuspectsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := alone(t)
		for i := range 80 {
			p.suspects.add(fmt.Sprint(i), 0)
		}
		_, end, err := p.reserve(t.Context(), job{workflow: "0", runsCode: true})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, _, err := p.reserve(t.Context(), job{workflow: "1", runsCode: true}); !errors.Is(err, errTaken) || time.Now() != began {
			t.Errorf("a delivery beside a turn: %v after %v, want %v at once", err, time.Since(began), errTaken)
		}
		if off := p.suspects.delay(); off < 80*crash.FirstTurn/2 || off > min(80*crash.FirstTurn, queue.MaxDelay) {
			t.Errorf("it is postponed by %v", off)
		}
		_, endNext, err := p.reserve(t.Context(), job{workflow: "1", runsCode: true, request: true})
		if waited := time.Since(began); err != nil || waited != crash.FirstTurn {
			t.Errorf("a request has its turn after %v, %v, want %v", waited, err, crash.FirstTurn)
		}
		end() // its own turn was over before, so this does not end the next turn
		if len(p.oneByOne) != 1 {
			t.Error("the end of work whose turn was over ended another's turn")
		}
		p.suspects.add("parked", parkedAt)
		began = time.Now()
		if _, _, err := p.reserve(t.Context(), job{workflow: "parked", runsCode: true, request: true}); !errors.Is(err, errParked) || time.Now() != began {
			t.Errorf("a parked workflow, during a turn: %v after %v, want %v at once", err, time.Since(began), errParked)
		}
		endNext()
		if len(p.oneByOne) != 0 {
			t.Error("no suspect runs, and the turn is not free")
		}
	})
}

// A suspect has its whole turn in the solo child, however long that takes to start: the next
// suspect does not begin before.
func TestTurnBeginsInTheSoloChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle(mostWaiting)
		p.suspects.add("a", 0)
		p.suspects.add("b", 0)
		go func() {
			time.Sleep(mostBackoff)
			p.solo.next <- &process{alone: true, ended: make(chan struct{}), inFlight: map[string]flight{}}
		}()
		_, end, err := p.reserve(t.Context(), job{workflow: "a", runsCode: true})
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		if _, _, err := p.reserve(t.Context(), job{workflow: "b", runsCode: true}); !errors.Is(err, errTaken) {
			t.Errorf("another suspect when the first one begins: %v, want %v", err, errTaken)
		}
		time.Sleep(crash.FirstTurn)
		synctest.Wait()
		if len(p.oneByOne) != 0 {
			t.Error("the turn is not over after its time")
		}
	})
}

// The file of suspects is written once for a death, whatever was in flight: the replacement of the
// child waits for it.
func TestDeathIsWrittenOnce(t *testing.T) {
	for _, alone := range []bool{false, true} {
		var log bytes.Buffer
		p := idle(mostWaiting)
		p.o.Log = slog.New(slog.NewTextHandler(&log, nil))
		p.suspects.open(filepath.Join(t.TempDir(), "none", "suspects.json"), "build", p.o.Log) // each write fails, and says so
		c := &process{alone: alone, ended: make(chan struct{}), inFlight: map[string]flight{}}
		for i := range 100 {
			c.inFlight[fmt.Sprint(i)] = flight{n: 1}
		}
		p.inTurn.Store("1")
		p.blameFor(c)
		if n := strings.Count(log.String(), "could not be saved"); n != 1 {
			t.Errorf("solo child %v: %d writes, want 1", alone, n)
		}
	}
}

// A workflow that ends the solo child alone is the only one to blame: all others are cleared, and
// continue in the other children. If several are in flight there, the death counts half against the
// one whose turn it is, and turns get longer.
func TestCulpritClearsOthers(t *testing.T) {
	for _, slow := range []int{0, 1, 2, 3} { // how many deaths are doubtful
		p, _ := alone(t)
		for i := range 3 {
			p.suspects.add(fmt.Sprint(i), 0)
		}
		p.inTurn.Store("2")
		for range slow {
			before := p.suspects.turn()
			c := &process{alone: true, ended: make(chan struct{}), inFlight: map[string]flight{"0": {n: 1}, "2": {n: 1}}}
			p.blameFor(c)
			if turn := p.suspects.turn(); turn != min(4*before, crash.LongestTurn) {
				t.Errorf("a turn is %v after one of %v", turn, before)
			}
		}
		for death := 0; ; death++ {
			if _, parked := p.suspects.state("2"); parked {
				if want := soloDeaths - slow/2; death != want {
					t.Errorf("with %d doubts it is parked after %d deaths, want %d", slow, death, want)
				}
				break
			}
			for i := range 3 {
				suspect, parked := p.suspects.state(fmt.Sprint(i))
				if want := i == 2 || death == 0; suspect != want || parked {
					t.Errorf("with %d doubts, after %d deaths: %d is a suspect: %v, parked: %v", slow, death, i, suspect, parked)
				}
			}
			c := &process{alone: true, ended: make(chan struct{}), inFlight: map[string]flight{"2": {n: 1}}}
			p.blameFor(c)
			p.blameFor(c) // a death counts once
		}
		if turn := p.suspects.turn(); turn != crash.FirstTurn {
			t.Errorf("a turn is %v when the culprit is known", turn)
		}
	}
}

// Limits that no child could keep are refused.
func TestLimits(t *testing.T) {
	for _, l := range []Limits{
		{Children: -1}, {Children: 100_000}, {Children: 1, MemoryMiB: 1}, {Children: 1, MemoryMiB: -1}, {Children: 1, CPUs: -2}, {MemoryMiB: 512}, {CPUs: 1},
	} {
		if CheckLimits(l) == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
	for _, l := range []Limits{{}, {Children: 1}, {Children: 64, MemoryMiB: 512, CPUs: 2}} {
		if err := CheckLimits(l); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
