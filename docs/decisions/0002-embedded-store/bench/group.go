package main

import (
	"sync"
	"time"
)

type opKind uint8

const (
	opAppend opKind = iota
	opInsert
	opRemove
)

// op is one queued write. Only an append has a done channel.
type op struct {
	kind       opKind
	key, value []byte
	lost       bool // the append found its key taken
	done       chan error
}

// lazyDelay is how long messages alone may wait before they are written, where
// writing them means a flush. An append that comes sooner takes them along.
const lazyDelay = 2 * time.Millisecond

// group collects writes from many goroutines into one commit at a time.
type group struct {
	// commit writes ops in order, as one transaction. wait says whether an
	// append is among them, so that the transaction must reach the disk.
	commit func(ops []*op, wait bool) error
	// eager is set where a commit without wait needs no flush: then messages
	// are written at once.
	eager bool

	mu       sync.Mutex
	queue    []*op
	flushers []chan error // callers that wait for the queue to be written
	wait     bool         // an append is queued
	armed    bool         // the lazy timer runs
	closed   bool
	wake     chan struct{}
	stopped  chan struct{}
}

func newGroup(eager bool, commit func([]*op, bool) error) *group {
	g := &group{commit: commit, eager: eager, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go g.loop()
	return g
}

func (g *group) append(key, value []byte) error {
	o := &op{kind: opAppend, key: key, value: value, done: make(chan error, 1)}
	g.enqueue(o)
	return <-o.done
}

func (g *group) insert(key, value []byte) error {
	g.enqueue(&op{kind: opInsert, key: key, value: value})
	return nil
}

func (g *group) remove(key []byte) error {
	g.enqueue(&op{kind: opRemove, key: key})
	return nil
}

func (g *group) enqueue(o *op) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, o)
	switch {
	case o.done != nil:
		g.wait = true
		g.signal()
	case g.eager:
		g.signal()
	case !g.armed:
		g.armed = true
		time.AfterFunc(lazyDelay, g.signal)
	}
}

func (g *group) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// flush returns once every write queued before it is committed.
func (g *group) flush() error {
	done := make(chan error, 1)
	g.mu.Lock()
	g.flushers = append(g.flushers, done)
	g.signal()
	g.mu.Unlock()
	return <-done
}

func (g *group) loop() {
	defer close(g.stopped)
	for range g.wake {
		g.mu.Lock()
		ops, flushers, wait, closed := g.queue, g.flushers, g.wait, g.closed
		g.queue, g.flushers, g.wait, g.armed = nil, nil, false, false
		g.mu.Unlock()
		var err error
		if len(ops) > 0 {
			err = g.commit(ops, wait)
		}
		for _, o := range ops {
			o.answer(err)
		}
		for _, done := range flushers {
			done <- err
		}
		if closed {
			return
		}
	}
}

func (o *op) answer(err error) {
	switch {
	case o.done == nil:
	case err == nil && o.lost:
		o.done <- errExists
	default:
		o.done <- err
	}
}

// close writes what is queued and stops.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.signal()
	g.mu.Unlock()
	<-g.stopped
}

// appends turns items into the operations that load them.
func appends(items []item) []*op {
	ops := make([]*op, len(items))
	for i, it := range items {
		ops[i] = &op{kind: opAppend, key: it.key, value: it.value}
	}
	return ops
}
