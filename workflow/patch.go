package workflow

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Patched reports whether the run takes the new way at a changed place of its code. It returns true
// in runs that reach the place for the first time, and false in those that passed it before the
// patch was there, so that they continue as they began:
//
//	if workflow.Patched(ctx, "reserve-first") {
//		err = Reserve.Run(ctx, order) // the new way
//	}
//
// The first answer holds for the life of the run, and is recorded with its task: it costs no write
// of its own. When no open run needs the old way, delete the old way and the call: histories with
// the patch replay without it. Use an id for one change only, and never again.
func Patched(ctx Context, id string) bool {
	if err := engine.CheckID("id of a patch", id); err != nil {
		panic(err)
	}
	return ctx.instance().Patched(id)
}

// SideEffect calls fn once and returns its value, the same on replay. Use it for what differs each
// time, and is too small for an activity. The value is recorded with the task, and costs no write
// of its own. If the task has no room for it, SideEffect waits for the next one.
//
//   - fn must not wait, nor call the engine, not even for the time or an id: that fails the task.
//   - fn may be called again if its value was not recorded, so it must have no other effects.
//   - A value that JSON cannot hold, or that is larger than a payload may be (5 MiB, or 256 KiB
//     without large payloads), fails the task.
func SideEffect[T any](ctx Context, fn func() T) T {
	value, err := payload.DecodeOrZero[T](ctx.instance().SideEffect(func() history.Payload { return mustEncode(fn()) }))
	if err != nil {
		panic(fmt.Errorf("the recorded value of a side effect does not decode: %w; a side effect of another type goes behind workflow.Patched", err))
	}
	return value
}
