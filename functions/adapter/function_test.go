package adapter

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// process is a Lambda process. It answers an event and then does what a process does after Lambda
// has received the answer.
type process struct {
	f    *Function
	then func()
}

// Invoke implements lambdahost.Invoker.
func (p *process) Invoke(ctx context.Context, _ string, event []byte) ([]byte, error) {
	given, err := p.f.inner.Stream(ctx, event)
	if err != nil {
		return nil, err
	}
	a := &answer{Answer: given, sent: p.then}
	defer func() { _ = a.Close() }()
	return io.ReadAll(a)
}

// A process whose workflow code hangs first answers and then exits.
func TestHung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hangs := workflow.Bind(workflow.NewWorkflow[int, int]("hangs"), func(workflow.Context, int) (int, error) {
			<-release //weftvet:ignore channel it hangs, as it must not
			return 0, nil
		})
		inner, err := function.New(API, testbed.New(t).Idle(executor.Options{}, append(cart.Registrations(), hangs)...).Process, function.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		var exits []int
		f := &Function{inner}
		gateway := lambdahost.Gateway(&process{f, func() {
			exitIfHung(f, slog.New(slog.DiscardHandler), func(status int) { exits = append(exits, status) })
		}}, string(API))
		send := func(body string) {
			w := httptest.NewRecorder()
			gateway.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/workflows", strings.NewReader(body)))
			if w.Code != http.StatusCreated {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		send(`{"workflowId":"cart-1","type":"cart","input":{"owner":"ada"}}`)
		if exits != nil {
			t.Error("a process without hung code exits")
		}
		send(`{"workflowId":"hung","type":"hangs","input":1}`)
		if !slices.Equal(exits, []int{1}) {
			t.Errorf("a process with hung code exits with %v", exits)
		}
	})
}
