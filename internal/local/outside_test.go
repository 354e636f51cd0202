package local

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	backendport "github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/embedded"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// unreachable is a store whose mark cannot be read while err is set.
type unreachable struct {
	store.Store
	err error
}

func (u *unreachable) ReadMark(ctx context.Context) ([]byte, error) {
	if u.err != nil {
		return nil, u.err
	}
	return u.Store.ReadMark(ctx)
}

// withToken returns the server's handler for a caller that shows the token.
func withToken(s *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+s.token.text)
		s.Handler().ServeHTTP(w, r)
	})
}

// A server over a program's own store and queues runs workflows, and a server that is started over
// them again continues the workflows. The data directory has the token and the crash records.
func TestBackend(t *testing.T) {
	t.Parallel()
	dir, kept := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "kept")
	mark := &unreachable{}
	open := func(ctx context.Context, taskQueues []string) (*backendport.Backend, error) {
		if !slices.Equal(taskQueues, []string{"reports"}) {
			t.Errorf("the task queues are %q", taskQueues)
		}
		b, err := embedded.Open(kept, taskQueues...)
		if err == nil {
			mark.Store = b.Store
			b.Store = mark
		}
		return b, err
	}
	with := func(do func(s *Server, c *client.Client)) {
		t.Helper()
		s, err := Open(testbed.Registry(t, cart.Registrations()...), Options{
			Dir: dir, Backend: open, LargePayloads: true, Auth: true, TaskQueues: map[string]limits.TaskQueue{"reports": {}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		worked := make(chan struct{})
		go func() {
			defer close(worked)
			s.Work(ctx)
		}()
		do(s, client.ForHandler(withToken(s)))
		stop()
		<-worked
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	with(func(s *Server, c *client.Client) {
		total, err := cart.AddItem.Call(t.Context(), c, "cart-1", cart.Item{SKU: "tea", Quantity: 2},
			workflow.CallOptions{Start: cart.Workflow.WithStart(cart.Start{Owner: "ada"})})
		if err != nil || total.Items != 2 {
			t.Errorf("%+v, %v", total, err)
		}
		if _, err := cart.AddItem.Call(t.Context(), c, "cart-1", cart.Item{SKU: "tea"}); !errors.Is(err, cart.ErrQuantity) {
			t.Errorf("none of something: %v", err)
		}
		server := httptest.NewServer(s.Handler())
		defer server.Close()
		answer(t, http.MethodGet, server.URL+"/readyz", "", http.StatusOK, "ok")
		mark.err = errors.New("no route to host")
		answer(t, http.MethodGet, server.URL+"/readyz", "", http.StatusServiceUnavailable, "does not answer")
		mark.err = nil
	})
	with(func(_ *Server, c *client.Client) {
		receipt, err := cart.Checkout.Call(t.Context(), c, "cart-1", workflow.None{})
		if err != nil || receipt.Items != 2 {
			t.Errorf("%+v, %v", receipt, err)
		}
	})
	if _, err := os.Stat(filepath.Join(dir, "token")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tables")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory has tables: %v", err)
	}
}

// A server does not open without what it needs, and closes what it had opened.
func TestBackendLacks(t *testing.T) {
	t.Parallel()
	closed := 0
	for want, open := range map[string]backendport.Open{
		"no route to host": func(context.Context, []string) (*backendport.Backend, error) {
			return nil, errors.New("no route to host")
		},
		"is nil": func(context.Context, []string) (*backendport.Backend, error) { return nil, nil },
		"no store, or no queue": func(context.Context, []string) (*backendport.Backend, error) {
			return &backendport.Backend{Close: func() error { closed++; return nil }}, nil
		},
		"no blobs": func(context.Context, []string) (*backendport.Backend, error) {
			b, err := embedded.Open(t.TempDir())
			if err != nil {
				return nil, err
			}
			b.Blobs = nil
			return b, nil
		},
	} {
		s, err := Open(registry(t), Options{Backend: open, LargePayloads: true})
		if err == nil {
			err = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}

// A server logs which optional ports the backend lacks, and nothing if it has all.
func TestBackendLacksOptionalPorts(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		var log bytes.Buffer
		s, err := Open(registry(t), Options{Log: slog.New(slog.NewTextHandler(&log, nil)), LargePayloads: true, Backend: func(_ context.Context, taskQueues []string) (*backendport.Backend, error) {
			b, err := embedded.Open(t.TempDir(), taskQueues...)
			if err == nil && bare {
				b.Store, b.Queue = struct{ store.Store }{b.Store}, struct{ queue.Queue }{b.Queue}
			}
			return b, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, port := range []string{"store.Lister", "store.Expirer", "queue.Inspector", "queue.Redriver"} {
			if strings.Contains(log.String(), port) != bare {
				t.Errorf("a bare store: %v, the log is %q", bare, log.String())
			}
		}
	}
}
