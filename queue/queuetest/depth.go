package queuetest

import (
	"errors"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var depthTests = []test{
	{"each message is counted as what it is", depthKinds},
	{"messages behind one in flight wait", depthGroup},
	{"dead letters are counted", depthDead},
	{"counting receives nothing", depthReceivesNothing},
	{"a queue that does not exist has no depth", depthInvalid},
}

// depth demands that a queue has this depth, at once or when its counts have caught up.
func (f *fixture) depth(name string, want queue.Depth) {
	f.Helper()
	inspector, ok := f.queue.(queue.Inspector)
	if !ok {
		f.Fatal("the harness says that the queue counts, and it is no queue.Inspector")
	}
	for {
		got, err := inspector.Depth(f.Context(), name)
		if err == nil && got != want && f.DepthBehind {
			continue
		}
		if err != nil || got != want {
			f.Fatalf("the depth of %s is %+v, %v; want %+v", name, got, err, want)
		}
		return
	}
}

func depthKinds(f *fixture) {
	f.depth(tasks, queue.Depth{})
	f.send(tasks, "", "one", "two", "three")
	f.sendAll(tasks, f.delayed("later", 2))
	f.depth(tasks, queue.Depth{Waiting: 3, Delayed: 1})
	taken := f.take(tasks, 2)
	f.depth(tasks, queue.Depth{Waiting: 1, InFlight: 2, Delayed: 1})
	f.delete(tasks, taken[0])
	f.depth(tasks, queue.Depth{Waiting: 1, InFlight: 1, Delayed: 1})
	f.giveBack(tasks, taken[1])
	f.depth(tasks, queue.Depth{Waiting: 2, Delayed: 1})
	f.advance(2)
	f.depth(tasks, queue.Depth{Waiting: 3})
	f.take(tasks, 1)
	f.advance(1)
	f.depth(tasks, queue.Depth{Waiting: 3})
}

func depthGroup(f *fixture) {
	f.send(orders, "group", "one", "two", "three")
	f.send(orders, "other", "four")
	f.depth(orders, queue.Depth{Waiting: 4})
	taken := f.receive(orders, 1)
	f.depth(orders, queue.Depth{Waiting: 3, InFlight: 1})
	f.delete(orders, taken...)
	f.depth(orders, queue.Depth{Waiting: 3})
}

func depthDead(f *fixture) {
	f.die(fragile, "", "one", "two")
	f.depth(fragile, queue.Depth{})
	f.depth(queue.DeadLetters(fragile), queue.Depth{Waiting: 2})
}

func depthReceivesNothing(f *fixture) {
	f.send(fragile, "", "message")
	for range 2 * limit {
		f.depth(fragile, queue.Depth{Waiting: 1})
	}
	f.expect(fragile, 1, "message")
}

func depthInvalid(f *fixture) {
	if _, err := f.queue.(queue.Inspector).Depth(f.Context(), "nobody"); !errors.Is(err, queue.ErrInvalid) {
		f.Errorf("the depth of a queue that does not exist: %v, want ErrInvalid", err)
	}
}

// die moves messages to the dead letters, and leaves none behind.
func (f *fixture) die(name, group string, bodies ...string) {
	f.Helper()
	f.send(name, group, bodies...)
	for received := 1; received <= limit; received++ {
		if group == "" {
			f.giveBack(name, f.expect(name, received, bodies...)...)
			continue
		}
		f.wholeGroup(name, received, bodies...)
		f.advance(1)
	}
	f.quiet(name, time.Time{})
}

var redriveTests = []test{
	{"dead letters return as new messages", redriveReturns},
	{"a group keeps its order", redriveGroup},
	{"dead letters in flight stay", redriveInFlight},
	{"a message may die again", redriveAgain},
	{"there may be no dead letters", redriveNothing},
	{"a queue without dead letters has none to move", redriveInvalid},
}

// redrive moves the dead letters of a queue back, when an earlier move has ended.
func (f *fixture) redrive(name string) {
	f.Helper()
	redriver, ok := f.queue.(queue.Redriver)
	if !ok {
		f.Fatal("the harness says that the queue moves dead letters, and it is no queue.Redriver")
	}
	err := queue.ErrRedriving
	for errors.Is(err, queue.ErrRedriving) {
		err = redriver.Redrive(f.Context(), name)
	}
	if err != nil {
		f.Fatalf("Redrive of %s: %v", name, err)
	}
}

func redriveReturns(f *fixture) {
	bodies := numbered("message", 12)
	f.die(fragile, "", bodies...)
	f.redrive(fragile)
	f.delete(fragile, f.expect(fragile, 1, bodies...)...)
	f.quiet(queue.DeadLetters(fragile), time.Time{})
	f.quiet(fragile, time.Time{})
}

func redriveGroup(f *fixture) {
	if f.RedriveDrops {
		f.Skip("the harness says that this server drops such messages")
	}
	bodies := numbered("message", 4)
	f.die(fragileOrders, "group", bodies...)
	f.redrive(fragileOrders)
	f.drain(fragileOrders, 1, bodies...)
	f.quiet(queue.DeadLetters(fragileOrders), time.Time{})
}

func redriveInFlight(f *fixture) {
	dead := queue.DeadLetters(fragile)
	f.die(fragile, "", "stays", "returns")
	taken := f.take(dead, 2)
	kept := slices.IndexFunc(taken, func(d queue.Delivery) bool { return string(d.Body) == "stays" })
	f.giveBack(dead, taken[1-kept])
	f.redrive(fragile)
	f.delete(fragile, f.expect(fragile, 1, "returns")...)
	f.delete(dead, taken[kept])
	f.quiet(fragile, time.Time{})
	f.advance(2)
	f.quiet(dead, time.Time{})
}

func redriveAgain(f *fixture) {
	f.die(fragile, "", "message")
	for range 2 {
		f.redrive(fragile)
		for received := 1; received <= limit; received++ {
			f.giveBack(fragile, f.expect(fragile, received, "message")...)
		}
		f.quiet(fragile, time.Time{})
	}
	f.deadLetters(fragile, "message")
}

func redriveNothing(f *fixture) {
	f.send(fragile, "", "message")
	f.redrive(fragile)
	f.delete(fragile, f.expect(fragile, 1, "message")...)
	f.quiet(fragile, time.Time{})
}

func redriveInvalid(f *fixture) {
	for _, name := range []string{"nobody", tasks, queue.DeadLetters(fragile)} {
		if err := f.queue.(queue.Redriver).Redrive(f.Context(), name); !errors.Is(err, queue.ErrInvalid) {
			f.Errorf("Redrive of %s: %v, want ErrInvalid", name, err)
		}
	}
}

var browseTests = []test{
	{"messages are shown in the order of their sending", browseAll},
	{"showing receives nothing", browseReceivesNothing},
	{"a queue that does not exist shows nothing", browseInvalid},
}

// browse demands that a queue shows messages with these bodies.
func (f *fixture) browse(name string, limit int, want ...string) {
	f.Helper()
	browser, ok := f.queue.(queue.Browser)
	if !ok {
		f.Fatal("the harness says that the queue shows messages, and it is no queue.Browser")
	}
	bodies, err := browser.Browse(f.Context(), name, limit)
	var got []string
	for _, body := range bodies {
		got = append(got, string(body))
	}
	if err != nil || !slices.Equal(got, want) {
		f.Fatalf("%s shows %q, %v; want %q", name, brief(got...), err, brief(want...))
	}
}

func browseAll(f *fixture) {
	f.browse(tasks, 5)
	f.send(tasks, "", "one", "two")
	f.sendAll(tasks, f.delayed("three", 1))
	taken := f.take(tasks, 1)
	f.browse(tasks, 5, "one", "two", "three")
	f.browse(tasks, 2, "one", "two")
	f.delete(tasks, taken...)
	f.browse(tasks, 5, slices.DeleteFunc([]string{"one", "two", "three"}, func(body string) bool { return body == string(taken[0].Body) })...)
	f.die(fragileOrders, "group", "four", "five")
	f.browse(queue.DeadLetters(fragileOrders), 5, "four", "five")
}

func browseReceivesNothing(f *fixture) {
	f.send(fragile, "", "message")
	for range 2 * limit {
		f.browse(fragile, 1, "message")
	}
	f.expect(fragile, 1, "message")
}

func browseInvalid(f *fixture) {
	browser := f.queue.(queue.Browser)
	if _, err := browser.Browse(f.Context(), "nobody", 1); !errors.Is(err, queue.ErrInvalid) {
		f.Errorf("Browse of a queue that does not exist: %v, want ErrInvalid", err)
	}
	if _, err := browser.Browse(f.Context(), tasks, 0); !errors.Is(err, queue.ErrInvalid) {
		f.Errorf("Browse of no messages: %v, want ErrInvalid", err)
	}
}
