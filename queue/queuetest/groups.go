package queuetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// groups tracks which receiver handles which messages of each group.
type groups struct {
	mu     sync.Mutex
	holder map[string]int // how many receivers have messages of the group
	next   map[string]int // the number of the next message
	failed map[string]bool
}

// parallelFIFO gives every fifth message back once, with all messages behind it in its batch.
func parallelFIFO(f *fixture) {
	const names, each, receivers = 12, 20, 8
	for n := range each {
		for start := 0; start < names; start += queue.MaxBatch {
			var batch []queue.Message
			for g := start; g < min(start+queue.MaxBatch, names); g++ {
				batch = append(batch, queue.Message{Body: fmt.Append(nil, n), Group: fmt.Sprint("group ", g)})
			}
			f.sendAll(orders, batch...)
		}
	}
	g := &groups{holder: map[string]int{}, next: map[string]int{}, failed: map[string]bool{}}
	w := f.work(orders, names*each)
	w.do(receivers, func(batch []queue.Delivery) (done int) {
		parts := byGroup(batch)
		for name := range parts {
			g.hold(w, name)
		}
		for name, part := range parts {
			done += g.handle(w, name, part)
		}
		return done
	})
	if f.Failed() {
		return
	}
	f.advance(1)
	f.quiet(orders, time.Time{})
	for name, next := range g.next {
		if next != each {
			f.Errorf("%d of %d messages of %s were handled", next, each, name)
		}
	}
}

func byGroup(batch []queue.Delivery) map[string][]queue.Delivery {
	parts := map[string][]queue.Delivery{}
	for _, d := range batch {
		parts[d.Group] = append(parts[d.Group], d)
	}
	return parts
}

// handle handles the messages of one group in a batch. Its last call to the queue frees the group,
// so it records that the group is free before that.
func (g *groups) handle(w *work, name string, part []queue.Delivery) (done int) {
	g.mu.Lock()
	back := len(part) // the messages from this index on are given back
	for i, d := range part {
		n := g.next[name]
		if string(d.Body) != fmt.Sprint(n) {
			w.wrong("message %s of %s was delivered, want %d", d.Body, name, n)
		}
		if key := fmt.Sprint(name, n); n%5 == 4 && !g.failed[key] {
			g.failed[key] = true
			back = i
			break
		}
		g.next[name]++
	}
	g.mu.Unlock()
	yield(20) // so that others could get in the way
	for i, d := range part[:back] {
		if i == len(part)-1 {
			g.free(name)
		}
		w.deleteOne(d)
	}
	for i := len(part) - 1; i >= back; i-- {
		if i == back {
			g.free(name)
		}
		w.giveBackOne(part[i])
	}
	return back
}

func (g *groups) hold(w *work, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holder[name]++; g.holder[name] > 1 {
		w.wrong("two receivers have messages of %s at the same time", name)
	}
}

func (g *groups) free(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holder[name]--
}
