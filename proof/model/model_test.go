package model

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	only = flag.String("only", "", "explore the shapes, or the variants, whose names contain this")
	all  = flag.Bool("all", false, "explore every shape with as many faults as -faults says")
	nf   = flag.Int("faults", 2, "the number of faults, with -all")
	most = flag.Int("most", 40_000_000, "how many states of a shape to see at most")
)

// TestMain makes the collector run less often, because an exploration creates much garbage and
// keeps little. With -all it may keep gigabytes: above 3 GiB the collector runs more often again.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(3 << 30)
	}
	os.Exit(m.Run())
}

// mostBounded is how many states of a bounded shape are visited.
const mostBounded = 1_000_000

// TestShapes explores each shape. It prints a violation with the shortest way to it; see the
// package documentation.
func TestShapes(t *testing.T) {
	t.Parallel()
	if names := named(); !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, *only) }) {
		t.Fatalf("no shape and no variant has %q in its name; the names are\n%s", *only, strings.Join(names, "\n"))
	}
	for _, h := range shapes() {
		if !strings.Contains(h.name, *only) {
			continue
		}
		if h.large && !*all {
			continue
		}
		if h.faults = h.quick; *all {
			h.faults = uint8(*nf)
		}
		began, limit := time.Now(), *most
		if h.bounded {
			limit = mostBounded
		}
		if testing.Short() {
			limit, h.bounded = 3000, true // what the explorer's goroutines share is seen early
		}
		f := explore(&h, limit, 2)
		t.Logf("%-34s %d faults %9d states %10d steps, %6d ends, %6.1f s", h.name, h.faults, f.states, f.steps, f.ends, time.Since(began).Seconds())
		switch {
		case f.broken != "":
			t.Errorf("%s:\n%s", h.name, strings.Join(f.trace, "\n"))
		case !f.complete && h.bounded:
			t.Logf("%s: not all states were visited", h.name)
		case !f.complete:
			t.Errorf("%s has more than %d states", h.name, *most)
		case f.ends == 0:
			t.Errorf("%s has no state in which nothing more can happen", h.name)
		}
	}
}

// named returns the names of all shapes and variants.
func named() (names []string) {
	for _, h := range shapes() {
		names = append(names, "shape    "+h.name)
	}
	for _, v := range variants() {
		names = append(names, "variant  "+v.name)
	}
	return names
}

// TestVariants explores the protocol without each of its rules: something must break.
func TestVariants(t *testing.T) {
	if testing.Short() {
		t.Skip("TestShapes explores with the race detector, and make test runs this")
	}
	t.Parallel()
	known := shapes()
	for _, v := range variants() {
		if !strings.Contains(v.name, *only) || v.large && !*all {
			continue
		}
		at := slices.IndexFunc(known, func(h shape) bool { return h.name == v.shape })
		if at < 0 {
			t.Fatalf("%s: unknown shape %q", v.name, v.shape)
		}
		h := known[at]
		h.faults, h.kinds, h.off = v.faults, v.kinds, h.off|v.off
		f := explore(&h, *most, 2)
		t.Logf("%-58s %-30s %d faults, %6d states, %2d steps: %s", v.name, h.name, h.faults, f.states, len(f.trace), f.broken)
		if f.broken == "" {
			t.Errorf("%s: nothing breaks in %d states", v.name, f.states)
		}
		if testing.Verbose() {
			t.Log(strings.Join(f.trace, "\n"))
		}
	}
}

// walk follows a shape at random, and returns the events on the way.
func walk(h *shape, random *rand.Rand, most int) (events []Event, texts []string) {
	m := &machine{shape: h, trace: true}
	s := h.first()
	s.told = true
	for range most {
		steps := m.successors(s)
		if len(steps) == 0 {
			break
		}
		next := steps[random.IntN(len(steps))]
		if next.state.broken != "" {
			break
		}
		events, texts = append(events, next.events...), append(texts, next.text)
		s = next.state
	}
	return events, texts
}

// The checker accepts the explorer's traces, because both follow the same rules.
func TestCheckerAcceptsTheModel(t *testing.T) {
	if testing.Short() {
		t.Skip("a walk is one goroutine, and make test runs this")
	}
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, h := range shapes() {
		h.faults = 2
		for range 100 {
			k := NewChecker()
			events, texts := walk(&h, random, 200)
			for _, e := range events {
				if err := k.Accept(e); err != nil {
					t.Fatalf("%s: %v\n%s", h.name, err, strings.Join(texts, "\n"))
				}
			}
		}
	}
}

// Without a rule, the explorer sooner or later does something that the checker rejects.
func TestCheckerRejectsVariants(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		name  string
		off   Rule
		shape string
	}{
		{"a request puts, and then sends", SendBeforePut, "one activity"},
		{"what is done is only deleted", RepairOwed, "two in sequence"},
		{"no fence", FenceBeforeDrop, "one activity"},
		{"an inline step begins a causation id of its own", InlineKeepsCausation, "inline and then not"},
	} {
		known := shapes()
		h := known[slices.IndexFunc(known, func(h shape) bool { return h.name == v.shape })]
		h.faults, h.off = 2, h.off|v.off
		random := rand.New(rand.NewPCG(3, 4))
		rejected := ""
		for walks := 0; walks < 3000 && rejected == ""; walks++ {
			k := NewChecker()
			events, _ := walk(&h, random, 200)
			for _, e := range events {
				if err := k.Accept(e); err != nil {
					rejected = err.Error()
					break
				}
			}
		}
		if t.Logf("%s: %s", v.name, rejected); rejected == "" {
			t.Errorf("%s: every walk was accepted", v.name)
		}
	}
}

// A state that was encoded and decoded has the same successors and the same canonical form.
func TestStatesReplay(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for _, h := range shapes() {
		h.faults = 2
		m := &machine{shape: &h}
		shared := map[string]*Commit{}
		s := h.first()
		for range 200 {
			steps := m.successors(s)
			if len(steps) == 0 {
				break
			}
			if s = steps[random.IntN(len(steps))].state; s.broken != "" {
				break
			}
			body := s.encode(nil)
			s = (&decoder{b: body, shared: shared}).state()
			again := (&decoder{b: s.encode(nil), shared: shared}).state()
			if len(m.successors(s)) != len(m.successors(again)) {
				t.Fatalf("%s: a state that was encoded and decoded has other successors", h.name)
			}
		}
	}
}
