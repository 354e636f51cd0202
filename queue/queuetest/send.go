package queuetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var sendTests = []test{
	{"bodies come back as they were", sendBodies},
	{"groups come back as they were", sendGroups},
	{"a batch of the largest size", sendBatch},
	{"a batch of the largest messages", sendLargest},
	{"an empty batch", sendNone},
	{"two messages with one body are two", sendTwins},
	{"queues are separate", sendSeparate},
	{"a received message belongs to the caller", sendOwned},
	{"with a context that has ended", sendEnded},
}

func sendBodies(f *fixture) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	bodies := []string{
		"\x00", " ", "\n", "{}", "\xff\xfe", "<&>\"'", "\u00e9\U0010ffff\ufffe", "\xe2\x82", string(all), strings.Repeat(string(all), 20),
	}
	f.send(tasks, "", bodies...)
	taken := f.expect(tasks, 1, bodies...)
	for i, d := range taken {
		if d.Group != "" {
			f.Errorf("message %d of a standard queue has the group %q", i, d.Group)
		}
	}
	f.delete(tasks, taken...)
	f.quiet(tasks, time.Time{})
	f.send(orders, "group", bodies...)
	f.drain(orders, 1, bodies...)
	f.quiet(orders, time.Time{})
}

func sendGroups(f *fixture) {
	groups := []string{
		"a", "ab", "a/b", "a#b", "a:b", "A", " ", ".", "a\x00", "a\n", "\u00e9", "e\u0301", "\U0010ffff", strings.Repeat("a", 400), strings.Repeat("a", 401),
	}
	want := map[string]string{}
	for i, group := range groups {
		body := fmt.Sprint("message ", i)
		want[body] = group
		f.send(orders, group, body)
	}
	for _, d := range f.take(orders, len(groups)) { // each has its own group, so none blocks another
		if group, ok := want[string(d.Body)]; !ok || d.Group != group {
			f.Errorf("%s has the group %q, want %q", d.Body, d.Group, group)
		}
		delete(want, string(d.Body))
	}
}

func sendBatch(f *fixture) {
	bodies := numbered("message", queue.MaxBatch)
	f.send(tasks, "", bodies...)
	f.delete(tasks, f.expect(tasks, 1, bodies...)...)
	f.send(tasks, "", bodies...)
	if got := f.receive(tasks, 3); len(got) > 3 {
		f.Errorf("%d messages, the limit was 3", len(got))
	} else {
		f.delete(tasks, got...)
		f.delete(tasks, f.take(tasks, len(bodies)-len(got))...)
	}
	f.quiet(tasks, time.Time{})
}

func sendLargest(f *fixture) {
	var bodies []string
	for i := range queue.MaxBatch {
		bodies = append(bodies, fmt.Sprint(i)+strings.Repeat("x", f.MaxBody-1))
	}
	f.send(tasks, "", bodies...)
	f.delete(tasks, f.expect(tasks, 1, bodies...)...)

	for _, name := range []string{tasks, orders} {
		m := queue.Message{Body: bytes.Repeat([]byte("x"), 2*f.MaxBody)}
		if name == orders {
			m.Group = "group"
		}
		if err := f.queue.Send(f.Context(), name, m); !errors.Is(err, queue.ErrTooLarge) {
			f.Errorf("Send of a message that is too large to %s: %v, want ErrTooLarge", name, err)
		}
		f.quiet(name, time.Time{})
	}
}

func sendNone(f *fixture) {
	for _, name := range []string{tasks, orders} {
		if err := f.queue.Send(f.Context(), name); err != nil {
			f.Errorf("Send of no message to %s: %v", name, err)
		}
		if err := f.queue.Delete(f.Context(), name); err != nil {
			f.Errorf("Delete of no message from %s: %v", name, err)
		}
	}
}

func sendTwins(f *fixture) {
	f.send(tasks, "", "twin", "twin")
	f.send(tasks, "", "twin")
	f.delete(tasks, f.expect(tasks, 1, "twin", "twin", "twin")...)
	f.send(tasks, "", "twin")
	f.expect(tasks, 1, "twin")
	f.send(orders, "group", "twin", "twin")
	f.send(orders, "group", "twin")
	f.drain(orders, 1, "twin", "twin", "twin")
	f.send(orders, "group", "twin") // even when its twins have been deleted
	f.drain(orders, 1, "twin")
}

func sendSeparate(f *fixture) {
	names := []string{tasks, fragile, queue.DeadLetters(tasks), queue.DeadLetters(fragile)}
	for _, name := range names {
		f.send(name, "", "for "+name)
	}
	f.send(orders, "group", "for "+orders)
	f.send(fragileOrders, "group", "for "+fragileOrders)
	for _, name := range append(names, orders, fragileOrders) {
		f.expect(name, 1, "for "+name)
		f.quiet(name, f.in(0.5))
	}
}

func sendOwned(f *fixture) {
	f.send(tasks, "", "message")
	for range 3 {
		d := f.expect(tasks, 0, "message")[0]
		clear(d.Body)
		f.giveBack(tasks, d)
	}
}

func sendEnded(f *fixture) {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	if err := f.queue.Send(ctx, tasks, queue.Message{Body: []byte("message")}); err == nil {
		f.expect(tasks, 1, "message") // Send said that it was sent
	}
	if err := f.queue.Send(ctx, orders, queue.Message{Body: []byte("message"), Group: "group"}); err == nil {
		f.expect(orders, 1, "message")
	}
}
