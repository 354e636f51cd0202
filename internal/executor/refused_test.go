package executor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// If a store refuses all requests for an hour, the log has a line at the beginning, one a minute,
// and one when the store accepts requests again. A read that works meanwhile does not end this. As
// many lines say what the store refuses.
func TestRefusedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said testbed.Warnings
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Start(executor.Options{Logger: said.Logger()}, workflow.Bind(relayType, runRelay, workflow.Names(relayAdd, relaySum, relayNote)))
		if _, err := relayType.Start(t.Context(), p.Client, "w", 0); err != nil {
			t.Fatal(err)
		}
		said.Take()
		id := "other"
		hooks.Always(testbed.OnPut, func(func() error) error { return errors.New("the disk is full") })
		minutes := shortform.Or(60, 10)
		for range minutes * 60 {
			if _, err := p.Service.Start(t.Context(), schema.StartRequest{WorkflowID: &id, Type: "relay", Input: []byte("0")}); err == nil {
				t.Fatal("a start succeeded although its put was refused")
			}
			if _, err := p.Client.Describe(t.Context(), "w", ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // on the bubble's clock
		}
		hooks.Always(testbed.OnPut, nil)
		for range 2 {
			if _, err := relayAdd.Call(t.Context(), p.Client, "w", 1); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Split(strings.TrimSpace(said.Take()), "\n")
		const call = `level=WARN msg="a call of the store failed" cause=store verdict=refused operation=Append error="the disk is full"`
		calls := 0
		lines = slices.DeleteFunc(lines, func(line string) bool {
			is := strings.HasPrefix(line, call)
			if is {
				calls++
			}
			return is
		})
		if calls != minutes {
			t.Errorf("%d lines about calls, want %d", calls, minutes)
		}
		refused := `level=WARN msg="a request was refused because a store or a queue failed" cause=store error="executor: the store refuses for now: put: the disk is full"`
		if len(lines) != minutes+1 || lines[0] != refused || lines[1] != refused+" times=60" ||
			lines[minutes] != `level=INFO msg="requests are no longer refused because a store or a queue failed" cause=store times=59` {
			t.Errorf("%d lines, want %d:\n%s", len(lines), minutes+1, strings.Join(lines, "\n"))
		}
	})
}
