// Package host is what the executor has of its machine: a clock, randomness, timers, and goroutines
// with a time limit.
//
// Machine is the real one. The simulation has its own, whose clock and randomness follow a seed.
// Nothing else in the executor reads a clock or starts a goroutine that outlives a call.
package host
