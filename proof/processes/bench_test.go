package processes_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/workflow"
)

var (
	counter = workflow.NewWorkflow[workflow.None, int]("counter")
	add     = workflow.NewUpdate[int, int]("add")
)

// count adds the inputs of updates, and refuses those below 0.
// endless is a number that count validates without end.
const endless = 1 << 30

func count(ctx workflow.Context, _ workflow.None) (int, error) {
	total := 0
	add.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
		total += n
		return total, nil
	}, workflow.Validate(func(n int) error {
		if n < 0 {
			return errors.New("below 0")
		}
		//lint:ignore SA5002 a test is about this
		for n == endless {
		}
		return nil
	}))
	err := workflow.Await(ctx, func() bool { return false })
	return total, err
}

// quiet sends a request, and returns the status of its answer.
func (s *server) quiet(b *testing.B, path, body string) int {
	r, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return 0
	}
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode
}

// BenchmarkIsolation compares a server of one process with one that isolates: go test -bench
// Isolation ./proof/processes
func BenchmarkIsolation(b *testing.B) {
	for _, children := range []int{0, 2} {
		b.Run(fmt.Sprintf("children=%d", children), func(b *testing.B) {
			s := serve(b, children)
			if got := s.quiet(b, "/v1/workflows", `{"workflowId":"counter","type":"counter"}`); got != http.StatusCreated {
				b.Fatalf("start: %d", got)
			}
			for _, want := range []struct {
				name      string
				n, status int
			}{{"accepted", 1, http.StatusOK}, {"refused", -1, http.StatusUnprocessableEntity}} {
				b.Run("update="+want.name, func(b *testing.B) {
					for b.Loop() {
						if got := s.quiet(b, "/v1/workflows/counter/updates/add", fmt.Sprintf(`{"input":%d}`, want.n)); got != want.status {
							b.Fatalf("%d, want %d", got, want.status)
						}
					}
				})
			}
			var last atomic.Int64
			run := func(b *testing.B) {
				n := int(last.Add(1))
				id := fmt.Sprintf("good-%d", n)
				if got := s.quiet(b, "/v1/workflows", fmt.Sprintf(`{"workflowId":%q,"type":"good","input":%d}`, id, n)); got != http.StatusCreated {
					b.Errorf("start: %d", got)
				}
				if got, err := good.Get(s.c, id).Result(b.Context()); err != nil || got != 2*n {
					b.Errorf("%d, %v", got, err)
				}
			}
			b.Run("run=one", func(b *testing.B) {
				for b.Loop() {
					run(b)
				}
			})
			b.Run("run=many", func(b *testing.B) {
				const callers = 16 // for each processor
				b.SetParallelism(callers)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						run(b)
					}
				})
			})
		})
	}
}
