//go:build race || likerace

package coro

import (
	"iter"
	"runtime"
)

// Pull does the same as iter.Pull, with a goroutine and two channels. Up to Go 1.26 at least, the
// race detector does not learn when a coroutine of iter.Pull ends: it keeps some 37 KB for each,
// and takes longer for all that follow. A test with a hundred thousand of them needs gigabytes.
func Pull(seq iter.Seq[struct{}]) (next func() (struct{}, bool), stop func()) {
	p := &pulled{enter: make(chan bool), left: make(chan struct{})}
	next = func() (struct{}, bool) {
		if p.ended {
			return struct{}{}, false
		}
		if p.started {
			p.enter <- true
		} else {
			p.started = true
			go p.run(seq)
		}
		p.leave()
		return struct{}{}, !p.ended
	}
	stop = func() {
		if p.ended {
			return
		}
		p.stopped = true
		if !p.started {
			p.ended = true
			return
		}
		p.enter <- false
		p.leave()
	}
	return next, stop
}

// pulled is a function that runs while the puller waits, and waits while the puller runs. So
// nothing in it needs a lock.
type pulled struct {
	enter chan bool     // false stops it
	left  chan struct{} // it waits, or has ended

	started, stopped, ended bool

	value  any  // of its panic
	goexit bool // it ended by runtime.Goexit
}

func (p *pulled) run(seq iter.Seq[struct{}]) {
	returned := false
	defer func() {
		if p.value = recover(); p.value == nil {
			p.goexit = !returned
		}
		p.ended = true
		p.left <- struct{}{}
	}()
	seq(func(struct{}) bool {
		if p.stopped {
			return false
		}
		p.left <- struct{}{}
		return <-p.enter
	})
	returned = true
}

// leave waits until the function waits or ends. It ends as the function did.
func (p *pulled) leave() {
	<-p.left
	switch value, goexit := p.value, p.goexit; {
	case value != nil:
		p.value = nil
		panic(value)
	case goexit:
		p.goexit = false
		runtime.Goexit()
	}
}
