package client_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/client"
)

// Concurrent callers reuse their connections for later calls, also after refusals.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	const callers, calls = 64, 5
	var opened atomic.Int64
	var arrived sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait() // each caller now has a connection of its own
		if r.URL.Query().Get("runId") == "refused" {
			http.Error(w, "not now", http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(`{"result":1}`))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c := client.New(server.URL)
	for call := range calls {
		arrived.Add(callers)
		var all sync.WaitGroup
		for i := range callers {
			runID := ""
			if (i+call)%2 == 0 {
				runID = "refused"
			}
			all.Go(func() { _, _ = c.Query(t.Context(), "w", runID, "q", nil) })
		}
		all.Wait()
	}
	if n := opened.Load(); n != callers {
		t.Errorf("%d connections for %d callers, each with %d calls; want one for each", n, callers, calls)
	}
}

// Several sets of options are merged field by field.
func TestSetsOfOptions(t *testing.T) {
	t.Parallel()
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	c := client.New(server.URL, client.Options{Token: "secret"}, client.Options{Header: http.Header{"X-Tenant": {"acme"}}}, client.Options{HTTP: server.Client()})
	_ = c.Cancel(t.Context(), "w", "", "") // there is no answer
	if got.Get("Authorization") != "Bearer secret" || got.Get("X-Tenant") != "acme" {
		t.Errorf("the request was %v", got)
	}
}
