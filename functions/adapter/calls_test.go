package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/blob"
	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

var errDenied = errors.New("access denied")

// The services of a function that refuse one of their methods.
type (
	deniedStore  struct{ *storememory.Store }
	deniedQueue  struct{ *queuememory.Queue }
	deniedExtend struct{ *queuememory.Queue }
	deniedBlobs  struct {
		blob.Blobs
		denied atomic.Bool
	}
)

func (deniedStore) Append(context.Context, ...store.Item) error          { return errDenied }
func (deniedQueue) Send(context.Context, string, ...queue.Message) error { return errDenied }
func (deniedExtend) Extend(context.Context, string, string, time.Duration) error {
	return errDenied
}

// Put fails once: its caller tries again.
func (d *deniedBlobs) Put(ctx context.Context, key string, body []byte) error {
	if !d.denied.Swap(true) {
		return errDenied
	}
	return d.Blobs.Put(ctx, key, body)
}

// kmsDenies is KMS without a permission.
type kmsDenies struct{}

func (kmsDenies) Do(r *http.Request) (*http.Response, error) {
	body := `{"__type":"AccessDeniedException","message":"no"}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}},
	}, nil
}

// summing is a telemetry that adds up the failures of calls.
type summing struct {
	observe.Tracer
	mu  sync.Mutex
	all map[string]bool
}

// Observe implements observe.Sink.
func (s *summing) Observe(_ context.Context, e observe.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := e.(*observe.CallFailure); is {
		observe.Measure(e, func(m *observe.Metric, _ float64) { s.all[m.Name] = true })
	}
}

func (*summing) Request(ctx context.Context, _ *observe.Request) (context.Context, func()) {
	return ctx, func() {}
}

func (*summing) Attempt(ctx context.Context, _ *observe.Attempt) (context.Context, func()) {
	return ctx, func() {}
}
func (*summing) TraceParent(context.Context) string { return "" }
func (*summing) Flush(context.Context) error        { return nil }
func (*summing) Close(context.Context) error        { return nil }

// A function counts the failed calls of each service that it uses, in any of its ports.
func TestFailedCalls(t *testing.T) {
	t.Parallel()
	const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	large := `"` + strings.Repeat("x", 500<<10) + `"`
	for what, test := range map[string]struct {
		backend func(b *backend.Backend, s *storememory.Store, q *queuememory.Queue)
		vars    map[string]string
		owner   string
		want    []string
	}{
		"none": {backend: func(*backend.Backend, *storememory.Store, *queuememory.Queue) {}},
		"store": {
			backend: func(b *backend.Backend, s *storememory.Store, _ *queuememory.Queue) { b.Store = deniedStore{s} },
			want:    []string{"CallFailures", "StoreRefused"},
		},
		"queue": {
			backend: func(b *backend.Backend, _ *storememory.Store, q *queuememory.Queue) { b.Queue = deniedQueue{q} },
			want:    []string{"CallFailures", "QueueRefused"},
		},
		"the time of a message": {
			backend: func(b *backend.Backend, _ *storememory.Store, q *queuememory.Queue) { b.Queue = deniedExtend{q} },
			vars:    map[string]string{"WEFT_VISIBILITY": "1h", "WEFT_TIMEOUT": "60s"},
			want:    []string{"CallFailures", "QueueRefused"},
		},
		"large payloads": {
			backend: func(b *backend.Backend, _ *storememory.Store, _ *queuememory.Queue) {
				b.Blobs = &deniedBlobs{Blobs: b.Blobs}
			},
			owner: large, want: []string{"CallFailures", "PayloadFailures"},
		},
		"encryption": {
			backend: func(*backend.Backend, *storememory.Store, *queuememory.Queue) {},
			vars:    map[string]string{"WEFT_PAYLOAD_KEY": key}, want: []string{"CallFailures", "PayloadFailures"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, q := storememory.New(storememory.Options{}), queuememory.New(queue.Standard(), queuememory.Options{})
			b := &backend.Backend{Store: s, Queue: q, Blobs: blobmemory.New(nil)}
			test.backend(b, s, q)
			sums := &summing{all: map[string]bool{}}
			settings := Settings{
				Backend:   func(context.Context, []string) (*backend.Backend, error) { return b, nil },
				Telemetry: func(context.Context, observe.Settings) (observe.Telemetry, error) { return sums, nil },
			}
			vars := required()
			maps.Copy(vars, test.vars)
			open := func(role Role) *Function {
				c := aws.Config{
					Region: "us-east-1", BaseEndpoint: aws.String("http://aws.invalid"), HTTPClient: kmsDenies{},
					Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
						return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
					}),
				}
				f, err := settings.Open(t.Context(), role, c, func(name string) string { return vars[name] }, slog.New(slog.DiscardHandler), cart.Registrations()...)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			api, activities := open(API), open(Activity)
			try(t, api, "/v1/workflows", `{"type":"cart","workflowId":"cart-1","input":{"owner":"ada"}}`)
			try(t, api, "/v1/workflows/cart-1/updates/addItem", `{"input":{"sku":"tea","quantity":2}}`)
			if test.owner != "" {
				try(t, api, "/v1/workflows", `{"type":"cart","workflowId":"cart-2","input":{"owner":`+test.owner+`}}`)
			}
			try(t, api, "/v1/workflows/cart-1/updates/checkout", `{"waitFor":"accepted"}`)
			for q.Ready(queue.Activities) {
				worker(t, q, activities, vars["WEFT_QUEUE_ACTIVITIES"])
			}
			want := map[string]bool{}
			for _, name := range test.want {
				want[name] = true
			}
			if diff := cmp.Diff(want, sums.all); diff != "" {
				t.Errorf("- want, + what was counted:\n%s", diff)
			}
		})
	}
}

// try posts a request to an API function, whose answer does not matter.
func try(t *testing.T, f *Function, path, body string) {
	t.Helper()
	request := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, Body: body, Headers: map[string]string{"content-type": "application/json"}}
	request.RequestContext.HTTP.Method = http.MethodPost
	event, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Invoke(t.Context(), event); err != nil {
		t.Fatal(err)
	}
}
