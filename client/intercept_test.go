package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
)

// A client's interceptors stand around each call, the first outermost; what they add to the header goes along.
func TestInterceptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := turntest.New(t).Start(turn.Options{}, turntest.Workload("build-1")...)
		var log []string
		around := func(name string) client.Interceptor {
			return func(ctx context.Context, r client.Request, next func(context.Context) error) error {
				log = append(log, name+" "+r.Operation+" "+r.WorkflowID+" "+r.Name)
				return next(client.WithHeader(ctx, name, r.Operation))
			}
		}
		refuse := errors.New("not today")
		c := client.New("http://in-process", client.Options{HTTP: handled(p.Handler), Interceptors: []client.Interceptor{
			around("outer"), around("inner"), func(ctx context.Context, r client.Request, next func(context.Context) error) error {
				if r.Operation == "terminate" {
					return refuse
				}
				return next(ctx)
			},
		}})
		if _, err := turntest.Counter.Start(t.Context(), c, "a", 10); err != nil {
			t.Fatal(err)
		}
		if err := turntest.Counter.Get(c, "a").Terminate(t.Context(), "enough"); !errors.Is(err, refuse) {
			t.Errorf("it was not refused: %v", err)
		}
		want := []string{"outer start a counter", "inner start a counter", "outer terminate a ", "inner terminate a "}
		if !slices.Equal(log, want) {
			t.Errorf("%q, want %q", log, want)
		}
		h, err := p.Client.History(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Events[0].Attributes.(*history.WorkflowExecutionStarted).Header.MarshalJSON()
		if err != nil || string(got) != `{"inner":"start","outer":"start"}` {
			t.Errorf("the header is %s, %v", got, err)
		}
	})
}

// handled is an HTTP client of a handler in this process.
func handled(h http.Handler) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
