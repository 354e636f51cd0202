package coro

import (
	"cmp"
	"container/heap"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// Scheduler runs the coroutines of one run. Its zero value is ready to use; it is not safe for
// concurrent use.
type Scheduler struct {
	all     []*Coroutine              // those that have not ended, oldest first
	awaits  []*Coroutine              // those that wait for a condition, and some that have since stopped waiting
	front   []*Coroutine              // ready, before all others, in this order
	ready   readyQueue                // ready, by round and age
	running atomic.Pointer[Coroutine] // atomic only because Stuck reads it from another goroutine
	round   uint32
	turn    uint64 // the age of the coroutine whose turn it is in this round; 0 while those in front have theirs
	ages    uint64 // each coroutine takes one, also that of a refused update: they must not start again
	ended   int    // coroutines in all that have ended
	turns   int    // how often a coroutine has had its turn
	stopped bool   // no coroutine runs any more
	closed  bool
	err     error
	culprit *Coroutine // whose panic is err, or nil

	asked   int // conditions asked since LimitConditions
	mostAsk int // how many may be asked; 0 is no limit

	forbidden string // who may only read now; empty if Forbid is not in force
	misuse    *failure.OtherError
	abandoned bool // code that Forbid called still runs: nothing that it may read changes any more
	onCancel  func()
	unchanged func() bool

	traced bool           // see Trace
	kinds  map[*List]Kind // of the lists that coroutines have waited on; nil unless traced
}

// readyQueue is a heap of the ready coroutines, by round and age.
type readyQueue []*Coroutine

// Len implements heap.Interface.
func (q readyQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q readyQueue) Less(i, j int) bool {
	if q[i].round != q[j].round {
		return q[i].round < q[j].round
	}
	return q[i].age < q[j].age
}

// Swap implements heap.Interface.
func (q readyQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].heaped, q[j].heaped = i, j
}

// Push implements heap.Interface.
func (q *readyQueue) Push(x any) {
	c := x.(*Coroutine)
	c.heaped = len(*q)
	*q = append(*q, c)
}

// Pop implements heap.Interface.
func (q *readyQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}

// Go adds a coroutine that runs fn. It is ready at once, and younger than all others.
func (s *Scheduler) Go(name string, fn func()) *Coroutine {
	c := s.add(name, fn)
	c.parent = s.running.Load()
	s.wake(c)
	return c
}

// GoFirst adds a coroutine that runs before all other ready ones, but after those that GoFirst
// added earlier.
func (s *Scheduler) GoFirst(name string, fn func()) *Coroutine {
	c := s.add(name, fn)
	c.queued = true
	s.front = append(s.front, c)
	return c
}

func (s *Scheduler) add(name string, fn func()) *Coroutine {
	if s.closed { // a deferred function of code that is being unwound: it will never run, so it must hold nothing
		return &Coroutine{name: name, finished: true}
	}
	c := New(name, fn)
	s.ages++
	c.age = s.ages
	s.all = append(s.all, c)
	return c
}

// wake makes a coroutine ready.
func (s *Scheduler) wake(c *Coroutine) {
	if c.queued || c.finished {
		return
	}
	c.queued = true
	c.round = s.round
	if c.age <= s.turn {
		c.round++
	}
	heap.Push(&s.ready, c)
}

// Stop lets no coroutine run any more after the running one has waited or ended. Close still ends
// them.
func (s *Scheduler) Stop() { s.stopped = true }

// Run executes coroutines until none is ready or Stop is called. If a coroutine panics, Run stops
// and returns the panic with its stack.
func (s *Scheduler) Run() error {
	for s.err == nil && !s.stopped {
		c := s.next()
		if c == nil {
			break
		}
		s.execute(c)
	}
	s.round, s.turn = 0, 0
	return s.err
}

func (s *Scheduler) next() *Coroutine {
	for {
		if len(s.front) > 0 {
			c := s.front[0]
			s.front = s.front[1:]
			s.turn = 0
			return c
		}
		if len(s.ready) > 0 {
			c := heap.Pop(&s.ready).(*Coroutine)
			s.round, s.turn = c.round, c.age
			return c
		}
		if s.unchanged != nil && s.unchanged() || !s.askConditions() {
			return nil
		}
	}
}

func (s *Scheduler) execute(c *Coroutine) {
	c.queued = false
	s.turns++
	s.running.Store(c)
	defer func() { // also where the coroutine's Goexit ends this goroutine
		s.running.Store(nil)
		if c.finished {
			s.ended++
			s.sweep()
			if c.err != nil && s.err == nil {
				s.err, s.culprit = c.err, c
			}
		}
	}()
	c.Execute()
}

// sweep drops ended coroutines, when they have become many.
func (s *Scheduler) sweep() {
	if s.ended*2 > len(s.all) {
		s.all = slices.DeleteFunc(s.all, (*Coroutine).Finished)
		s.ended = 0
	}
}

// Turns returns how often a coroutine has had its turn so far.
func (s *Scheduler) Turns() int { return s.turns }

// Err returns why Run stopped early, or nil.
func (s *Scheduler) Err() error { return s.err }

// RunningOwner returns the owner of the running coroutine, or of the one that has started it. It
// may be called from another goroutine.
func (s *Scheduler) RunningOwner() string { return s.running.Load().owner() }

// Running returns the coroutine that runs now, or nil between runs.
func (s *Scheduler) Running() *Coroutine { return s.running.Load() }

// Park makes the running coroutine wait until one of the lists wakes it, the condition is true, or
// the scope is canceled. A nil condition is never true. The scheduler evaluates a condition when
// nothing else is ready; it must only read. Park may return for no reason: callers check again what
// they wait for.
func (s *Scheduler) Park(scope *Scope, condition func() bool, lists ...*List) {
	c := s.MustRun("wait")
	for _, p := range c.places {
		p.waitsAgain()
	}
	var few [4]*place
	places := few[:0]
	for _, l := range lists {
		places = append(places, l.add(c))
	}
	if condition != nil && !c.listed {
		c.listed = true
		s.awaits = append(s.awaits, c)
	}
	c.stopWaiting() // it still waits if it is being closed, and its deferred functions wait again
	c.await = condition
	if c.scope = scope; scope != nil {
		scope.enter(c)
	}
	if s.traced {
		c.note(lists)
	}
	c.Yield()
	c.stopWaiting() // askConditions removes c from awaits: doing it here would cost a pass for each wakeup
	for _, p := range places {
		p.leave()
	}
}

// stopWaiting notes that the coroutine waits neither for a condition nor under a scope.
func (c *Coroutine) stopWaiting() {
	if c.scope != nil {
		c.scope.leave(c)
	}
	c.scope, c.await = nil, nil
}

// Enlist puts the running coroutine on lists until leave is called, however often it parks in
// between: so it keeps its place on a list if it was woken and found nothing. It must do nothing
// but read and park until then.
func (s *Scheduler) Enlist(lists ...*List) (leave func()) {
	c := s.MustRun("wait")
	before := len(c.places)
	for _, l := range lists {
		c.places = append(c.places, l.add(c))
	}
	return func() {
		for _, p := range c.places[before:] {
			p.leave()
		}
		clear(c.places[before:])
		c.places = c.places[:before]
	}
}

// Hasten puts ready coroutines before all other ready ones, in the order given, after those in
// front already. It must not be called from a coroutine.
func (s *Scheduler) Hasten(coroutines ...*Coroutine) {
	for _, c := range coroutines {
		if i := c.heaped; i < len(s.ready) && s.ready[i] == c {
			heap.Remove(&s.ready, i)
			s.front = append(s.front, c)
		}
	}
}

// YieldToFront makes the running coroutine wait until those in front of the queue have had their
// turn. Its own turn continues after them as if nothing had been between.
func (s *Scheduler) YieldToFront() {
	if len(s.front) == 0 || s.closed {
		return
	}
	c, turn := s.MustRun("wait"), s.turn
	c.queued = true
	s.front = append(s.front, c)
	c.Yield()
	s.turn = turn
}

// MustRun returns the running coroutine. It panics with a misuse failure that names the attempted
// action if there is none, or if Forbid is in force.
func (s *Scheduler) MustRun(what string) *Coroutine {
	s.Guard(what)
	c := s.running.Load()
	if c == nil {
		panic(&failure.OtherError{
			Kind:    failure.KindMisuse,
			Message: "workflow code may " + what + " only in a coroutine of its run, and not in a goroutine of its own",
		})
	}
	return c
}

// Guard panics with a misuse failure that names the attempted action if Forbid is in force.
func (s *Scheduler) Guard(what string) {
	if s.forbidden != "" {
		s.misuse = &failure.OtherError{Kind: failure.KindMisuse, Message: s.forbidden + " may not " + what}
		panic(s.misuse)
	}
}

// Forbid calls fn, in which the code named by who may not wait or do anything else that Guard
// guards. It returns the misuse if fn tried to, even if fn recovered from it.
func (s *Scheduler) Forbid(who string, fn func()) error {
	s.forbidden, s.misuse = who, nil
	defer func() {
		if !s.abandoned {
			s.forbidden = ""
		}
	}()
	fn()
	if s.misuse == nil {
		return nil
	}
	return s.misuse
}

// Abandon notes that code which Forbid has called did not return, and still runs on another
// goroutine. It stays forbidden until Close, which must not be called before the code has ended.
// The coroutine that called Forbid must panic.
func (s *Scheduler) Abandon() { s.abandoned = true }

// Abandoned reports whether Abandon was called.
func (s *Scheduler) Abandoned() bool { return s.abandoned }

// Look evaluates a condition, which may only read. It panics with the misuse if the condition does
// something else.
func (s *Scheduler) Look(condition func() bool) (yes bool) {
	if misuse := s.Forbid("a condition", func() { yes = condition() }); misuse != nil {
		panic(misuse)
	}
	return yes
}

// Await makes the running coroutine wait until the condition is true or the scope is canceled. If
// the condition is true, Await returns nil under a canceled scope, too. about are lists that wake
// nobody here: they only say, for Waits, what the condition is about.
func (s *Scheduler) Await(scope *Scope, condition func() bool, about ...*List) error {
	if s.traced && len(about) > 0 {
		defer s.MustRun("wait").noteAbout(about)()
	}
	for !s.Look(condition) {
		if err := scope.Err(); err != nil {
			return err
		}
		s.Park(scope, condition)
	}
	return nil
}

// askConditions wakes the coroutines whose condition has become true, and reports whether there was
// one.
func (s *Scheduler) askConditions() bool {
	s.awaits = slices.DeleteFunc(s.awaits, func(c *Coroutine) bool {
		c.listed = !c.finished && c.await != nil
		return !c.listed
	})
	slices.SortFunc(s.awaits, func(a, b *Coroutine) int { return cmp.Compare(a.age, b.age) })
	woken := false
	if s.asked += len(s.awaits); s.mostAsk > 0 && s.asked > s.mostAsk && s.err == nil {
		s.err = misuse("the code has had its conditions asked more than %d times in one task, which is the limit of conditions asked: "+
			"let the coroutines wait for futures or channels, or fewer of them for conditions", s.mostAsk)
		return false
	}
	for _, c := range s.awaits {
		if !c.queued && s.ask(c) {
			s.wake(c)
			woken = true
		}
	}
	return woken && s.err == nil
}

// ask evaluates a condition. If it panics, the run ends as if its coroutine had panicked.
func (s *Scheduler) ask(c *Coroutine) bool {
	defer func() {
		if value := recover(); value != nil && s.err == nil {
			s.err, s.culprit = panicError(value, debug.Stack()), c
		}
	}()
	return s.Look(c.await)
}

// OnCancel sets a function that is called whenever a scope has been canceled, before those that
// wait under it are woken.
func (s *Scheduler) OnCancel(fn func()) { s.onCancel = fn }

// SkipConditions sets a function that reports whether all code that has run since conditions were
// last evaluated may only read. None of them can have become true then, so they are not evaluated.
func (s *Scheduler) SkipConditions(unchanged func() bool) { s.unchanged = unchanged }

// LimitConditions bounds how many conditions are evaluated from now on while nothing is ready; 0 is
// no limit. Each time that code has run, the conditions of all waiting coroutines are evaluated: if
// they become true one at a time, that takes time quadratic in their number. Beyond the limit, Run
// returns a misuse failure.
func (s *Scheduler) LimitConditions(most int) { s.asked, s.mostAsk = 0, most }

// wakeCanceled wakes those that wait under a canceled scope.
func (s *Scheduler) wakeCanceled(scope *Scope) {
	if s.onCancel != nil {
		s.onCancel()
	}
	if !s.closed {
		scope.wakeAll(s)
	}
}

// Blames reports whether the panic that stopped Run is that of a coroutine, or of one that it
// started.
func (s *Scheduler) Blames(c *Coroutine) bool { return c != nil && s.culprit.under(c) }

// under reports whether a coroutine is root, or was started by it or by one that it started.
func (c *Coroutine) under(root *Coroutine) bool {
	for ; c != nil; c = c.parent {
		if c == root {
			return true
		}
	}
	return false
}

// Kill ends a coroutine and all that it has started, the youngest first: their deferred functions
// run. Their panics are dropped. Kill must be called while nothing runs and nothing is ready.
func (s *Scheduler) Kill(root *Coroutine) {
	var doomed []*Coroutine
	known := map[*Coroutine]bool{root: true, nil: false}
	for _, c := range s.all {
		if c.startedBy(known) && !c.finished {
			doomed = append(doomed, c)
		}
	}
	for _, c := range slices.Backward(doomed) {
		if !c.finished {
			s.kill(c)
		}
	}
	s.sweep()
}

// startedBy reports whether known has true for a coroutine, or for one that has started it. It adds
// to known.
func (c *Coroutine) startedBy(known map[*Coroutine]bool) bool {
	var path []*Coroutine
	for ; ; c = c.parent {
		if yes, ok := known[c]; ok {
			for _, on := range path {
				known[on] = yes
			}
			return yes
		}
		path = append(path, c)
	}
}

func (s *Scheduler) kill(c *Coroutine) {
	s.running.Store(c)
	defer func() {
		s.running.Store(nil)
		s.ended++
		c.stopWaiting() // askConditions removes c from awaits
	}()
	c.Close()
}

// Closed reports whether Close was called: what code still does then, in deferred functions, has no
// effect.
func (s *Scheduler) Closed() bool { return s.closed }

// Close ends all coroutines: those that wait run their deferred functions, youngest first. If code
// refuses to end, the goroutine that called Close ends with it, after the others have been closed.
func (s *Scheduler) Close() {
	s.closed, s.forbidden = true, ""
	all := s.all
	s.all, s.awaits, s.front, s.ready = nil, nil, nil, nil
	closeAll(s, all)
}

func closeAll(s *Scheduler, all []*Coroutine) {
	defer func() {
		if len(all) > 0 { // code that refuses to end has ended this goroutine
			closeAll(s, all)
		}
	}()
	for len(all) > 0 {
		c := all[len(all)-1]
		all = all[:len(all)-1]
		s.running.Store(c)
		c.Close()
	}
}

// Stuck returns the stack of the running coroutine, for a caller on another goroutine that has
// waited for Run for too long. It returns "" if it finds none.
func (s *Scheduler) Stuck() string { return stacks(s.running.Load())[0] }

// Stacks returns the stacks of the waiting coroutines, those of the oldest first: where each of
// them is in the code.
func (s *Scheduler) Stacks() []string {
	waiting := slices.DeleteFunc(slices.Clone(s.all), func(c *Coroutine) bool { return !c.blocked })
	return stacks(waiting...)
}

// stacks returns the stacks of coroutines in a dump of all stacks; "" for one that has none.
func stacks(coroutines ...*Coroutine) []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	at := map[string]string{}
	for dump := range strings.SplitSeq(string(buf), "\n\n") {
		if _, rest, ok := strings.Cut(dump, "coro.(*Coroutine).call("); ok {
			at[rest[:strings.IndexFunc(rest+")", func(r rune) bool { return r == ',' || r == ')' || r == '?' })]] = dump
		}
	}
	found := make([]string, len(coroutines))
	for i, c := range coroutines {
		found[i] = at[fmt.Sprintf("%p", c)]
	}
	return found
}
