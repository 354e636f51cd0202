//go:build deploycheck

package operations_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/localstack/operations"
)

// TestOperations plays all cases. It stops at the first one that fails, because that has left its
// fault.
func TestOperations(t *testing.T) {
	ctx, cancel := within(t)
	defer cancel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := operations.Pages(string(text))
	if err != nil {
		t.Fatal(err)
	}
	s := deploy(ctx, t)
	faults, played := s.faults(), 0
	for _, c := range operations.Cases() {
		f, known := faults[c.Name]
		if !known {
			t.Fatalf("the case %s has no fault", c.Name)
		}
		c.Break, c.Repair = f.cause, f.end
		well := t.Run(c.Name, func(t *testing.T) {
			played++
			begun := time.Now()
			if err := c.Play(ctx, s, pages[c.Alarm]); err != nil {
				s.report()
				t.Fatal(err)
			}
			t.Logf("%s: well, in %v", c.Name, time.Since(begun).Round(time.Second))
		})
		if !well {
			return
		}
	}
	if played == 0 {
		t.Errorf("no case has such a name; there are %s", strings.Join(operations.Names(), ", "))
	}
}

// within returns the context in which the test has to end.
func within(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	end, limited := t.Deadline()
	if !limited {
		end = time.Now().Add(time.Hour)
	}
	const toReport = 10 * time.Second
	return context.WithDeadline(t.Context(), end.Add(-toReport))
}
