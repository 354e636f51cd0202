package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/backend"
	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// ask sends a request to an API function, and returns the body of its successful answer.
func ask(t *testing.T, f *Function, method, path, body string) string {
	t.Helper()
	request := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, Body: body, Headers: map[string]string{"content-type": "application/json"}}
	request.RequestContext.HTTP.Method = method
	event, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := f.Invoke(t.Context(), event)
	var got events.APIGatewayV2HTTPResponse
	if err = errors.Join(err, json.Unmarshal(answer, &got)); err != nil || got.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %v, %s", method, path, err, answer)
	}
	return got.Body
}

// Functions with a store and queues of the program's own run a workflow without AWS: there is no
// table, no region and no key.
func TestBackend(t *testing.T) {
	t.Parallel()
	s, q := storememory.New(storememory.Options{}), queuememory.New(queue.Standard("reports"), queuememory.Options{})
	var opened []string
	settings := Settings{Backend: func(_ context.Context, taskQueues []string) (*backend.Backend, error) {
		opened = append(opened, strings.Join(taskQueues, " "))
		return &backend.Backend{Store: s, Queue: q, Blobs: blobmemory.New(nil)}, nil
	}}
	vars := required()
	delete(vars, "WEFT_TABLE")
	vars["WEFT_TASK_QUEUES"] = "reports=https://queues.example.com/reports"
	open := func(role Role) *Function {
		t.Helper()
		f, err := settings.Open(t.Context(), role, aws.Config{}, func(name string) string { return vars[name] }, slog.New(slog.DiscardHandler), cart.Registrations()...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	api, activities := open(API), open(Activity)
	if !slices.Equal(opened, []string{"reports", "reports"}) {
		t.Errorf("opened for the task queues %q", opened)
	}
	ask(t, api, http.MethodPost, "/v1/workflows", `{"type":"cart","workflowId":"cart-1","input":{"owner":"ada"}}`)
	ask(t, api, http.MethodPost, "/v1/workflows/cart-1/updates/addItem", `{"input":{"sku":"tea","quantity":2}}`)
	ask(t, api, http.MethodPost, "/v1/workflows/cart-1/updates/checkout", `{"waitFor":"accepted"}`)
	for q.Ready(queue.Activities) {
		worker(t, q, activities, vars["WEFT_QUEUE_ACTIVITIES"])
	}
	if got := ask(t, api, http.MethodGet, "/v1/workflows/cart-1", ""); !strings.Contains(got, `"completed"`) {
		t.Errorf("the cart is %s", got)
	}
	if got := ask(t, api, http.MethodGet, "/v1/workflows", ""); !strings.Contains(got, "cart-1") {
		t.Errorf("the list is %s", got)
	}
}

// worker replaces the event source mapping of the activity queue.
func worker(t *testing.T, q queue.Queue, f *Function, url string) {
	t.Helper()
	deliveries, err := q.Receive(t.Context(), queue.Activities, queue.MaxBatch)
	if err != nil {
		t.Fatal(err)
	}
	event, err := Batch(url, deliveries)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := f.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	failed, err := Failed(answer)
	if err != nil || len(failed) > 0 {
		t.Fatalf("%q failed, %v", failed, err)
	}
	for _, d := range deliveries {
		if err := q.Delete(t.Context(), queue.Activities, d.Receipt); err != nil {
			t.Fatal(err)
		}
	}
}

// A function whose backend has no store needs the table. A function whose backend cannot be opened
// is not created.
func TestBackendLacks(t *testing.T) {
	t.Parallel()
	vars, closed := required(), 0
	delete(vars, "WEFT_TABLE")
	for want, open := range map[string]backend.Open{
		"WEFT_TABLE is not set": func(context.Context, []string) (*backend.Backend, error) {
			return &backend.Backend{Close: func() error { closed++; return nil }}, nil
		},
		"is nil":           func(context.Context, []string) (*backend.Backend, error) { return nil, nil },
		"no route to host": func(context.Context, []string) (*backend.Backend, error) { return nil, errors.New("no route to host") },
	} {
		_, err := Settings{Backend: open}.Open(t.Context(), API, aws.Config{}, func(name string) string { return vars[name] }, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}

// A function logs which optional ports the backend lacks, and nothing if it has all. It does not
// call store.Expirer.
func TestBackendLacksOptionalPorts(t *testing.T) {
	t.Parallel()
	full := &backend.Backend{Store: storememory.New(storememory.Options{}), Queue: queuememory.New(queue.Standard(), queuememory.Options{}), Blobs: blobmemory.New(nil)}
	bare := &backend.Backend{Store: struct{ store.Store }{full.Store}, Queue: struct{ queue.Queue }{full.Queue}}
	vars := required()
	for given, logged := range map[*backend.Backend]bool{full: false, bare: true} {
		var log bytes.Buffer
		settings := Settings{Backend: func(context.Context, []string) (*backend.Backend, error) { return given, nil }}
		if _, err := settings.Open(t.Context(), API, aws.Config{}, func(name string) string { return vars[name] }, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		for port, want := range map[string]bool{"store.Lister": logged, "blob.Blobs": logged, "queue.Inspector": logged, "queue.Redriver": logged, "store.Expirer": false} {
			if strings.Contains(log.String(), port) != want {
				t.Errorf("the log is %q, want that it names %s: %v", log.String(), port, want)
			}
		}
	}
}

// deploymentWith returns what the API says of a deployment that has a variable.
func deploymentWith(t *testing.T, name, value string) string {
	t.Helper()
	vars := required()
	vars[name] = value
	f, err := Open(API, aws.Config{Region: "us-east-1"}, func(name string) string { return vars[name] }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	event := `{"version":"2.0","rawPath":"/v1/deployment","requestContext":{"http":{"method":"GET","path":"/v1/deployment"}}}`
	out, err := f.Invoke(t.Context(), []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Requests move dead letters back only if WEFT_REDRIVE is on. Messages are counted anyway.
func TestRedriveIsASetting(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "off": false, "on": true} {
		out := deploymentWith(t, "WEFT_REDRIVE", value)
		for feature, on := range map[string]bool{"redrive": want, "queues": true, "deadLetters": false, "versions": false} {
			if text := fmt.Sprintf(`\"%s\":%v`, feature, on); !strings.Contains(out, text) {
				t.Errorf("with WEFT_REDRIVE=%q the deployment is %s, want %s", value, out, text)
			}
		}
	}
}

// Requests start batches unless WEFT_BATCHES is off.
func TestBatchesAreASetting(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": true, "off": false, "on": true} {
		out := deploymentWith(t, "WEFT_BATCHES", value)
		if text := fmt.Sprintf(`\"batches\":%v`, want); !strings.Contains(out, text) {
			t.Errorf("with WEFT_BATCHES=%q the deployment is %s, want %s", value, out, text)
		}
	}
}
