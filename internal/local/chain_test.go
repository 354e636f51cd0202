package local

import (
	"fmt"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/workflow"
)

// Each run of a long chain is read whole and alone, whatever bytes its number has in a key: when a
// caller looks at it, and when the next run needs to know the requests that it accepted.
func TestLongChain(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	link, lap := workflow.NewWorkflow[int, int]("link"), workflow.NewUpdate[workflow.None, int]("lap")
	types := &engine.Registry{}
	if err := bridge.Register(types, workflow.Bind(link, func(ctx workflow.Context, n int) (int, error) {
		over := false
		lap.Handle(ctx, func(workflow.Context, workflow.None) (int, error) { over = true; return n, nil })
		if err := workflow.Await(ctx, func() bool { return over }); err != nil {
			return 0, err
		}
		return link.ContinueAsNew(ctx, n+1)
	}, workflow.Names(lap))); err != nil {
		t.Fatal(err)
	}
	open := func() (*Server, *client.Client) {
		s, err := Open(types, Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s, client.ForHandler(s.Handler())
	}
	s, c := open()
	if _, err := link.Start(ctx, c, "w", 1); err != nil {
		t.Fatal(err)
	}
	const laps = 131
	call := func(n int) {
		t.Helper()
		if got, err := lap.Call(ctx, c, "w", workflow.None{}, workflow.CallOptions{ID: fmt.Sprint("lap-", n)}); err != nil || got != n {
			t.Fatalf("lap %d: %d, %v", n, got, err)
		}
	}
	latest := func() *schema.Description {
		t.Helper()
		d, err := c.Describe(ctx, "w", "")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ids := map[int]string{}
	for n := 1; n <= laps; n++ {
		if n == 1 || n > 125 {
			ids[n] = string(latest().RunID)
		}
		call(n)
	}
	for n, id := range ids {
		if d, err := edge.Of(s.Service).Describe(ctx, "w", history.RunID(id)); err != nil || d.Status != history.ContinuedAsNew { // the client would try again
			t.Fatalf("run %d: %+v, %v", n, d, err)
		}
	}
	if err := s.Close(); err != nil { // this drops all runs from memory
		t.Fatal(err)
	}
	s, c = open()
	defer func() { _ = s.Close() }()
	call(laps)
	if n := history.RunID(latest().RunID).Number(); n != laps+1 {
		t.Errorf("the update was sent again, and the chain is in run %d, want %d", n, laps+1)
	}
}
