package engine

import (
	"maps"
	"slices"
)

// PendingFutures lists the ids of the events whose futures the code of an instance waits for, for
// the scripts.
func (in *Instance) PendingFutures() []int64 {
	return slices.Sorted(slices.Values(slices.Concat(
		slices.Collect(maps.Keys(in.activities)), slices.Collect(maps.Keys(in.timers)), slices.Collect(maps.Keys(in.children)), slices.Collect(maps.Keys(in.externals)),
	)))
}
