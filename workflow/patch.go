package workflow

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Patched reports whether the run is to go the new way at a place that has changed. It is true in runs that come to the
// place for the first time, and false in those that came by before the patch was there, so that they go on as they began:
//
//	if workflow.Patched(ctx, "reserve-first") {
//		err = Reserve.Run(ctx, order) // the new way
//	}
//
// The first answer holds for the life of the run, and is recorded with its task: it costs no write of its own. When no run
// is open that needs the old way, delete it and the question: histories with the patch replay without it. An id is used for
// one change only, and never again.
func Patched(ctx Context, id string) bool {
	if err := engine.CheckID("id of a patch", id); err != nil {
		panic(err)
	}
	return ctx.instance().Patched(id)
}

// SideEffect calls fn once and returns its value, the same on replay: for what is not the same each time, and too small for
// an activity. The value is recorded with the task; it costs no write of its own. Where the task has no place for it, SideEffect waits
// for the next one. fn must not wait, nor ask the engine for anything (not for the time or an id, either): that fails the task. It may be
// called again if its value was not recorded, so what it does must not matter elsewhere. A value that JSON cannot hold, or that is
// larger than a payload may be (5 MiB, or 256 KiB where large payloads are not kept), fails the task.
func SideEffect[T any](ctx Context, fn func() T) T {
	value, err := payload.DecodeOrZero[T](ctx.instance().SideEffect(func() history.Payload { return mustEncode(fn()) }))
	if err != nil {
		panic(fmt.Errorf("the recorded value of a side effect does not decode: %w; a side effect of another type goes behind workflow.Patched", err))
	}
	return value
}
