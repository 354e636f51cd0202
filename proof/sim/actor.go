package sim

import (
	"runtime/debug"
	"sync"

	"github.com/seed-41655fb1/weft/engine/coro"
)

// lane is a coroutine that runs actors, one after the other. A new coroutine for each actor would
// have to grow its stack each time.
type lane struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool
	fn    func() // runs when the lane is next entered
}

// lanes are the lanes without an actor. Simulations that run at the same time share them.
var lanes struct {
	sync.Mutex
	free []*lane
}

func takeLane() *lane {
	lanes.Lock()
	defer lanes.Unlock()
	if n := len(lanes.free); n > 0 {
		l := lanes.free[n-1]
		lanes.free = lanes.free[:n-1]
		return l
	}
	l := &lane{}
	l.next, _ = coro.Pull(func(yield func(struct{}) bool) {
		l.yield = yield
		for {
			l.fn()
			l.fn = nil
			yield(struct{}{})
		}
	})
	return l
}

func (l *lane) free() {
	lanes.Lock()
	defer lanes.Unlock()
	lanes.free = append(lanes.free, l)
}

// leave leaves the lane until it is entered again.
func (l *lane) leave() { l.yield(struct{}{}) }

// spawn adds an actor that runs fn.
func (s *simulation) spawn(name string, p *process, fn func()) *actor {
	a := &actor{name: name, process: p, fn: fn, gone: make(chan struct{}), began: s.steps, forwarding: forwarding{since: s.now}}
	if me := s.running; me != nil && p != nil && me.process == p {
		a.forwarding = me.forwarding.inherits()
	}
	s.actors = append(s.actors, a)
	return a
}

// main runs an actor to its end. A panic fails the simulation, unless it unwinds the actor.
func (s *simulation) main(a *actor) {
	defer func() {
		a.end()
		if value := recover(); value != nil {
			if _, unwound := value.(killed); !unwound {
				s.fail("%s panicked: %v\n%s", a.name, value, debug.Stack())
			}
		}
	}()
	a.fn()
}

// enter runs an actor until it pauses or ends.
func (s *simulation) enter(a *actor) {
	if a.lane == nil {
		a.lane = takeLane()
		a.lane.fn = func() { s.main(a) }
	}
	a.lane.next()
	if a.ended {
		a.lane.free()
		a.lane = nil
	}
}

// end marks an actor as ended.
func (a *actor) end() {
	if !a.ended {
		a.ended = true
		close(a.gone)
	}
}

// close ends everything that a simulation has left running. What those actors do no longer counts.
func (s *simulation) close() {
	wrong := s.wrong
	for _, a := range s.actors {
		if !a.ended {
			s.unwind(a)
		}
	}
	s.actors, s.running = nil, nil
	for _, p := range s.processes {
		p.Service.Process.Close()
	}
	s.wrong = wrong
}

// unwind ends an actor whose process has died. Its deferred functions run without any effect.
func (s *simulation) unwind(a *actor) {
	a.dead = true
	s.running = a
	if a.lane != nil {
		s.enter(a)
	}
	a.end()
}
