package where

import (
	"fmt"
	"strings"
	"testing"
)

// The frames of a panic begin where the code panicked, and end with the author's.
func TestOfPanic(t *testing.T) {
	t.Parallel()
	const head = "goroutine 7 [running]:\nruntime/debug.Stack()\n\truntime/debug/stack.go:26 +0x5e\nexample.com/shop/order.deferred()\n\torder/order.go:9 +0x1\n" +
		"panic({0x1, 0x2})\n\truntime/panic.go:783 +0x132\nruntime.goPanicIndex(0x7, 0x3)\n\truntime/panic.go:115 +0x1\n"
	const scheduler = weft + "engine/coro.(*Scheduler).MustRun(0x1)\n\tengine/coro/scheduler.go:280 +0x1\n"
	const library = "strings.Repeat({0x5, 0x6})\n\tstrings/strings.go:624 +0x1\n"
	const author = "example.com/shop/order.Run({0x5, 0x6})\n\t/home/ada/order.go:41 +0x1\n"
	for name, c := range map[string]struct{ stack, want string }{
		"Weft's below and above":   {head + scheduler + author + scheduler, "order.Run /home/ada/order.go:41"},
		"Weft's between":           {head + author + scheduler + author, "order.Run /home/ada/order.go:41|coro.(*Scheduler).MustRun engine/coro/scheduler.go:280|order.Run /home/ada/order.go:41"},
		"the standard library's":   {head + library + author, "strings.Repeat strings/strings.go:624|order.Run /home/ada/order.go:41"},
		"no frame of the author":   {head + library + scheduler, ""},
		"a goroutine that hangs":   {"goroutine 7 [select]:\n" + author, "order.Run /home/ada/order.go:41"},
		"a line that is no number": {head + "example.com/shop/order.Run()\n\torder.go:99999999999999999999 +0x1\n", ""},
		"many":                     {head + strings.Repeat(author, 30), strings.TrimSuffix(strings.Repeat("order.Run /home/ada/order.go:41|", 20), "|")},
		"nothing":                  {"", ""},
	} {
		var lines []string
		for _, f := range OfPanic(c.stack) {
			lines = append(lines, fmt.Sprint(f))
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
