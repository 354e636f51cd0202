package testbed

import (
	"context"
	"sync"

	"github.com/seed-41655fb1/weft/store"
)

// Hook intercepts one call of a process to its log. do makes the call.
type Hook func(do func() error) error

// Op is the kind of call that a hook intercepts.
type Op uint8

// The calls that hooks can intercept: puts, and reads of the latest run.
const (
	OnPut Op = iota
	OnRead
)

// Hooks is a log whose next calls go through hooks.
type Hooks struct {
	store.Log
	mu     sync.Mutex
	next   map[Op][]Hook
	always map[Op]Hook
}

// Next sends the next call that has no hook yet through this hook.
func (h *Hooks) Next(op Op, hook Hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next[op] = append(h.next[op], hook)
}

// Always sends every call without a hook of its own through this hook. A nil hook ends that.
func (h *Hooks) Always(op Op, hook Hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.always[op] = hook
}

// Append implements store.Log.
func (h *Hooks) Append(ctx context.Context, items ...store.Item) error {
	return h.call(OnPut, func() error { return h.Log.Append(ctx, items...) })
}

// Backward implements store.Log.
func (h *Hooks) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (page store.Page, err error) {
	err = h.call(OnRead, func() error {
		page, err = h.Log.Backward(ctx, workflow, before, until, limit)
		return err
	})
	return page, err
}

func (h *Hooks) call(op Op, do func() error) error {
	if hook := h.take(op); hook != nil {
		return hook(do)
	}
	return do()
}

func (h *Hooks) take(op Op) Hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.next[op]) == 0 {
		return h.always[op]
	}
	hook := h.next[op][0]
	h.next[op] = h.next[op][1:]
	return hook
}

// Hook puts hooks between the log and the processes that start from now on, until Hook is called
// again.
func (d *Deployment) Hook() *Hooks {
	h := NewHooks(d.kept)
	d.Ports.Log = h
	return h
}

// NewHooks returns a log in front of another log, without hooks.
func NewHooks(log store.Log) *Hooks {
	return &Hooks{Log: log, next: map[Op][]Hook{}, always: map[Op]Hook{}}
}
