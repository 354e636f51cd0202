package queuetest

import (
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var delayTests = []test{
	{"a message is invisible for its delay", delayOne},
	{"each message of a batch has its own delay", delayMixed},
	{"messages are delivered when due, whichever was sent first", delayOrder},
	{"a delay does not count as a receive", delayReceived},
}

// delayed returns a message with a delay of this many visibility time-outs.
func (f *fixture) delayed(body string, timeouts float64) queue.Message {
	return queue.Message{Body: []byte(body), Delay: time.Duration(timeouts * float64(f.Visibility))}
}

func delayOne(f *fixture) {
	due := f.in(2)
	f.sendAll(tasks, f.delayed("message", 2))
	f.quiet(tasks, due)
	f.advance(1.5)
	f.quiet(tasks, due)
	f.advance(0.5)
	f.delete(tasks, f.expect(tasks, 1, "message")...)
	f.quiet(tasks, time.Time{})
}

func delayMixed(f *fixture) {
	later, last := f.in(1), f.in(2)
	f.sendAll(tasks, f.delayed("later", 1), f.delayed("now", 0), f.delayed("last", 2))
	f.delete(tasks, f.expect(tasks, 1, "now")...)
	f.quiet(tasks, later)
	f.advance(1)
	f.delete(tasks, f.expect(tasks, 1, "later")...)
	f.quiet(tasks, last)
	f.advance(1)
	f.expect(tasks, 1, "last")
}

func delayOrder(f *fixture) {
	var dues [6]time.Time
	for i := range dues {
		at := (i * 5) % len(dues)
		dues[at] = f.in(1 + float64(at))
		f.sendAll(tasks, f.delayed(fmt.Sprint("message ", at), 1+float64(at)))
	}
	for i, due := range dues {
		f.advance(0.5)
		f.quiet(tasks, due)
		f.advance(0.5)
		f.delete(tasks, f.expect(tasks, 1, fmt.Sprint("message ", i))...)
	}
}

func delayReceived(f *fixture) {
	f.sendAll(fragile, f.delayed("message", 1))
	f.advance(1)
	for received := 1; received <= limit; received++ {
		f.giveBack(fragile, f.expect(fragile, received, "message")...)
	}
	f.deadLetters(fragile, "message")
}
