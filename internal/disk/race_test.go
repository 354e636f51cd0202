//go:build race

package disk

// flips is how many bits of a table TestFlippedTable tries. TestOneFailure lets every
// failureStep-th operation fail. With the race detector both tests take ten times as long.
const flips, failureStep = 3, 60
