//go:build !race

package main

import (
	"fmt"
	"testing"

	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// A process that does not hold a run replays it: it decodes the commits and runs the code. A cold
// replay allocates a fixed number of objects for each activity.
func TestAllocationsOfAReplay(t *testing.T) {
	const n, want = 1000, 14 // activities, and allocations for each: 8 of the commit, the others of the code
	rec, err := measured.Record(measured.Steps.Name(), n, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := testing.AllocsPerRun(5, func() {
		commits, err := rec.Decode()
		if err == nil {
			err = rec.Replay(commits)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if each := int(all) / n; each != want {
		t.Errorf("%d allocations for each activity (%v of all), want %d: if that is intended, say why in the commit", each, all, want)
	}
}

// A request of the local server allocates a fixed number of objects behind HTTP. They include those
// of a durable write.
func TestAllocationsOfAnUpdate(t *testing.T) {
	s, err := local.Open(measured.Registry(), local.Options{Dir: t.TempDir(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := edge.Of(s.Service).Start(t.Context(), schema.StartRequest{WorkflowID: new("w"), Type: measured.Counter.Name(), Input: []byte("10")}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what, input, stage string
		want               float64
	}{
		{"refused", "11", schema.StageRejected, 63},
		{"accepted", "1", schema.StageCompleted, 79},
	} {
		n := 0
		got := testing.AllocsPerRun(500, func() {
			n++
			answer, err := edge.Of(s.Service).Update(t.Context(), "w", "", measured.Add.Name(), schema.UpdateRequest{UpdateID: fmt.Sprint(test.what, n), Input: []byte(test.input)})
			if err != nil || answer.Stage != test.stage {
				t.Fatal(answer, err)
			}
		})
		if got != test.want {
			t.Errorf("an update that is %s allocates %v times, want %v: if that is intended, say why in the commit", test.what, got, test.want)
		}
	}
}
