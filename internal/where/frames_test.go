package where

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// fault panics in a function of the standard library.
func fault() string { return strings.Repeat("x", -1) }

func stackOf(fn func()) (stack string) {
	defer func() {
		_ = recover()
		stack = string(debug.Stack())
	}()
	fn()
	return ""
}

func TestOfStack(t *testing.T) {
	t.Parallel()
	const head = "goroutine 7 [running]:\nruntime/debug.Stack()\n\truntime/debug/stack.go:26 +0x5e\n" +
		"github.com/seed-41655fb1/weft/engine/coro.(*Coroutine).main.func1()\n\tgithub.com/seed-41655fb1/weft/engine/coro/coroutine.go:86 +0x1\n" +
		"panic({0x1, 0x2})\n\truntime/panic.go:783 +0x132\n"
	for name, c := range map[string]struct{ stack, place, function string }{
		"a panic":            {stackOf(func() { panic("no") }), "where/frames_test.go:29", "where.TestOfStack.func1"},
		"in the library":     {stackOf(func() { _ = fault() }), "where/frames_test.go:12", "where.fault"},
		"below the engine":   {head + "example.com/shop/order.Run(...)\n\t/home/an author/shop/order/order.go:41\n", "order/order.go:41", "order.Run"},
		"a method":           {head + "example.com/shop/order.(*Order).Pay(0xc1, {0xc2, 0x3})\n\tshop/order/pay.go:7 +0x1d\n", "order/pay.go:7", "order.(*Order).Pay"},
		"a generic":          {head + "main.pay[...](0x1)\n\tpay.go:7 +0x1d\n", "pay.go:7", "main.pay[...]"},
		"Weft's own":         {head + "github.com/seed-41655fb1/weft/internal/schedule/flow.run()\n\tx/flow/run.go:3 +0x1\n", "flow/run.go:3", "flow.run"},
		"an example":         {head + "github.com/seed-41655fb1/weft/examples/order.run()\n\tx/order/run.go:3 +0x1\n", "order/run.go:3", "order.run"},
		"no frame":           {"", "", ""},
		"only Weft's":        {head, "", ""},
		"cut in the line":    {head + "example.com/shop/order.Run()\n\tshop/order/order.go:4... (9000 bytes)", "", ""},
		"a huge line number": {head + "example.com/shop/order.Run()\n\tshop/order/order.go:99999999999999999999 +0x1\n", "", ""},
	} {
		f, ok := OfStack(c.stack)
		if ok != (c.place != "") || ok && (f.Place() != c.place || f.Name() != c.function) {
			t.Errorf("%s: %v, %q in %q; want %q in %q\n%s", name, ok, f.Place(), f.Name(), c.place, c.function, c.stack)
		}
	}
}

func TestOfCallers(t *testing.T) {
	t.Parallel()
	var pcs []uintptr
	slices.SortFunc([]int{2, 1}, func(a, b int) int {
		pcs = make([]uintptr, 16)
		pcs = pcs[:runtime.Callers(1, pcs)]
		return a - b
	})
	var names []string
	for _, f := range OfCallers(pcs) {
		names = append(names, f.Name())
	}
	if want := []string{"where.TestOfCallers.func1", "where.TestOfCallers"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if all := Frames(pcs); len(all) <= len(names) {
		t.Errorf("%v are all frames", all)
	}
	if OfCallers(nil) != nil {
		t.Error("there are frames of nothing")
	}
}

// A module whose path has no dot is the author's.
func TestStandard(t *testing.T) {
	t.Parallel()
	for function, want := range map[string]bool{
		"strings.Repeat": true, "encoding/json.Marshal": true, "vendor/golang.org/x/net/idna.ToASCII": true, "iter.Pull[...].func1": true,
		"main.main": false, "github.com/other/x.Do": false, weft + "workflow.Sleep": false, "gopkg.in/yaml%2ev3.Unmarshal": false,
	} {
		if standard(function) != want {
			t.Errorf("%s is standard: %v", function, !want)
		}
	}
}
