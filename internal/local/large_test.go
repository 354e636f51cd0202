package local

import (
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	repeat = workflow.NewWorkflow[int, string]("repeat")
	length = workflow.NewQuery[workflow.None, int]("length")
)

// repeating returns a result of n bytes, and a few more.
func repeating(ctx workflow.Context, n int) (string, error) {
	length.Handle(ctx, func(workflow.None) (int, error) { return n, nil })
	return strings.Repeat("x", n), nil
}

// The limit of a run's payloads is the one from the time when it was opened, and a replay has the
// same outcome. A run that failed because its result was too large is still failed after large
// payloads are allowed, and the other way round.
func TestPayloadLimitOfARun(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	const n = 300 << 10
	with := func(large bool, do func(c *client.Client)) {
		t.Helper()
		s, err := Open(testbed.Registry(t, workflow.Bind(repeat, repeating, workflow.Names(length))), Options{Dir: dir, LargePayloads: large})
		if err != nil {
			t.Fatal(err)
		}
		do(client.ForHandler(s.Handler()))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	start := func(id string) func(c *client.Client) {
		return func(c *client.Client) {
			if _, err := repeat.Start(ctx, c, id, n); err != nil {
				t.Error(err)
			}
		}
	}
	with(false, start("small"))
	with(true, start("large"))
	for _, large := range []bool{false, true} {
		with(large, func(c *client.Client) {
			if got, err := length.Ask(ctx, c, "small", workflow.None{}); err != nil || got != n {
				t.Errorf("a replay of the run of a small limit: %d, %v", got, err)
			}
			_, err := repeat.Get(c, "small").Result(ctx)
			if err == nil || !strings.Contains(err.Error(), "the limit is 262144") || !strings.Contains(err.Error(), "--large-payloads") {
				t.Errorf("its result: %v", err)
			}
		})
	}
	with(true, func(c *client.Client) {
		if got, err := length.Ask(ctx, c, "large", workflow.None{}); err != nil || got != n {
			t.Errorf("a replay of the run of a large limit: %d, %v", got, err)
		}
		if got, err := repeat.Get(c, "large").Result(ctx); err != nil || len(got) != n {
			t.Errorf("its result: %d bytes, %v", len(got), err)
		}
	})
}
