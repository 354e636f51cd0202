package docs_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// mostFrames is through how many functions an update passes at most, from the body of its request
// to the put.
const mostFrames = 12

// The walk-through of docs/architecture.md names the functions on the stack when an accepted update
// is put, beginning with the one that reads the request's body.
func TestWalkThroughOfAnUpdate(t *testing.T) {
	t.Parallel()
	want := walkThrough(t)
	if len(want) > mostFrames {
		t.Errorf("the walk-through has %d functions, more than %d", len(want), mostFrames)
	}
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		stacks := &stackRecorder{Log: d.Ports.Log}
		d.Ports.Log = stacks
		p := d.Start(executor.Options{}, workflow.Bind(cart.Workflow, cart.Run, cart.Names), cart.Reserve, cart.Charge)
		post := func(path, body string) {
			t.Helper()
			w := httptest.NewRecorder()
			p.Handler.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
			if w.Code >= 300 {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		post("/v1/workflows", `{"type":"cart","workflowId":"a","input":{"owner":"ann"}}`)
		synctest.Wait() // the update's put is the next
		stacks.armed.Store(true)
		post("/v1/workflows/a/updates/addItem", `{"input":{"sku":"tea","quantity":1}}`)
		if got := fromBodyToPut(stacks.taken); !slices.Equal(got, want) {
			t.Errorf("an update passes through\n  %s\nand docs/architecture.md has\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	})
}

// walkStep matches a row of the walk-through: the number, and the function with a link to its file.
var walkStep = regexp.MustCompile("(?m)^\\| \\d+ \\| \\[`([^`]+)`\\]\\(\\.\\./([^)]+)\\) \\|")

// walkThrough returns the functions of the walk-through, each with its file.
func walkThrough(t *testing.T) (all []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range walkStep.FindAllStringSubmatch(string(page), -1) {
		all = append(all, step[1]+" in "+step[2])
	}
	if len(all) == 0 {
		t.Fatal("docs/architecture.md has no walk-through")
	}
	return all
}

// stackRecorder is a log that takes the stacks of all goroutines at the first put after it is
// armed.
type stackRecorder struct {
	store.Log
	armed atomic.Bool
	taken string
}

// Append implements store.Log. Before it takes the stacks it waits until the other goroutines of
// the bubble are blocked: the one that has handed the work over may not have begun to wait for it.
func (r *stackRecorder) Append(ctx context.Context, items ...store.Item) error {
	if r.armed.CompareAndSwap(true, false) {
		synctest.Wait()
		buffer := make([]byte, 1<<20)
		r.taken = string(buffer[:runtime.Stack(buffer, true)])
	}
	return r.Log.Append(ctx, items...)
}

// frame matches a function of this module on a stack, and its file.
var frame = regexp.MustCompile(`(?m)^github\.com/seed-41655fb1/weft/internal/(\S+)\(.*\n\t.*?/(internal/\S+\.go):\d+`)

// bubble matches the bubble of a goroutine, in the first line of its stack.
var bubble = regexp.MustCompile(`^goroutine .*(synctest bubble \d+\])`)

// fromBodyToPut returns the functions on the stacks of an update, beginning with the one that reads
// the request's body. The request waits on one goroutine, and the work is done on another.
// Functions between the put and the store are left out, and so are the goroutines of other tests,
// which are not in the bubble of the one that puts: the first.
func fromBodyToPut(stacks string) (all []string) {
	mine := bubble.FindStringSubmatch(stacks)[1]
	for _, goroutine := range strings.Split(stacks, "\n\n") {
		if first, _, _ := strings.Cut(goroutine, "\n"); !strings.Contains(first, mine) {
			continue
		}
		var part []string
		for _, f := range frame.FindAllStringSubmatch(goroutine, -1) {
			if strings.HasPrefix(f[1], "meter.") || strings.HasPrefix(f[1], "observe/calls.") || strings.HasPrefix(f[1], "observe.") {
				continue
			}
			name := regexp.MustCompile(`\[\.\.\.\]`).ReplaceAllString(filepath.Base(f[1]), "")
			part = append(part, name+" in "+f[2])
		}
		slices.Reverse(part)
		switch i := slices.IndexFunc(part, func(f string) bool { return strings.HasPrefix(f, "httpapi.takes") }); {
		case i >= 0:
			all = append(part[i:], all...)
		case strings.Contains(goroutine, "guard).serve") && strings.Contains(goroutine, "stackRecorder).Append"):
			all = append(all, part...)
		}
	}
	return all
}
