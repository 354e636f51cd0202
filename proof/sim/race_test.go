//go:build race

package sim

// defaultSeeds is small, because a simulation is one goroutine, which the race detector only slows
// down.
const defaultSeeds = 12
