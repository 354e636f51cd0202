// Package missed has what the rules say that they miss. A rule that learns to find it changes what it says.
package missed

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/lib"
	"example.com/shop/missed/limits"
	"github.com/seed-41655fb1/weft/workflow"
)

// shop has things behind interfaces and in variables.
type shop struct {
	clock interface{ Now() time.Time }
	now   func() time.Time
	conn  io.ReadWriter
	log   *slog.Logger
	seed  uint64
	once  sync.Once
	items []int
	names []string
}

func times(ctx workflow.Context, s *shop, at time.Time) bool {
	return s.clock.Now().After(at) || s.now().After(at)
}

func randoms(ctx workflow.Context, s *shop) int { return rand.New(rand.NewPCG(s.seed, s.seed)).IntN(6) }

func channels(ctx workflow.Context, s *shop) {
	s.once.Do(func() {})
	lib.Locked()
}

func maporders(ctx workflow.Context, s *shop, m map[string]int) string {
	most, who := 0, ""
	for k, n := range m {
		if n > most {
			most, who = n, k
		}
		s.name(k)
	}
	for k, n := range m {
		if n == most {
			return who + k
		}
	}
	inverse, text := map[int]string{}, ""
	for k, n := range m {
		inverse[n] = k
		text = fmt.Sprint(text, k)
	}
	keys := maps.Keys(m)
	for k := range keys {
		_ = workflow.Sleep(ctx, time.Duration(m[k]))
	}
	first := text + inverse[0]
	for k := range m {
		if k != "" {
			first = k
			break
		}
	}
	return first + strings.Join(lib.Keys(m), ",")
}

func (s *shop) name(k string) { s.names = append(s.names, k) }

func ios(ctx workflow.Context, s *shop, r io.Reader) error {
	s.log.Info("copying")
	_, err := io.Copy(s.conn, r)
	return err
}

var (
	limit = 3
	held  = &limit
)

func raise(to *int) { *to = 4 }

func init2() {
	raise(&limit)
	*held = 5
}

func globals(ctx workflow.Context) int { return limit + limits.Changed + lib.Cached.Get() }

// count changes what all runs share where it is bound: a receiver looks like one that the workflow has made for itself.
func (s *shop) count(ctx workflow.Context) { s.items = append(s.items, 1) }

func runtimes(ctx workflow.Context, s *shop) string {
	return fmt.Sprintf("%v %s %v", &s.seed, runtime.GOOS, time.Unix(0, 0))
}

var add = workflow.NewUpdate[int, int]("add")

func readonlys(ctx workflow.Context, s *shop) {
	_, set := workflow.NewFuture[int](ctx)
	add.Handle(ctx, nil, workflow.Validate(func(n int) error {
		set(n, nil)
		items := s.items
		items[0] = n
		sorted(items)
		return nil
	}))
	add.Handle(ctx, nil, workflow.Validate(limits.AtMost(ctx, 9)))
	add.Handle(ctx, nil, workflow.Validate(variable(ctx)))
}

func sorted(items []int) { slices.Sort(items) }

func variable(ctx workflow.Context) func(int) error {
	check := func(int) error { return workflow.Sleep(ctx, time.Second) }
	return check
}
