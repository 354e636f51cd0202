//go:build !race && !likerace

package coro

import "iter"

// Pull is iter.Pull. With the race detector, another Pull does the same with a goroutine: see
// there.
func Pull(seq iter.Seq[struct{}]) (next func() (struct{}, bool), stop func()) { return iter.Pull(seq) }
