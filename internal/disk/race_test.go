//go:build race

package disk

// flips is how many bits of a table TestFlippedTable tries, and failureStep how many operations lie
// between two of which TestOneFailure has one fail. With the race detector both take ten times as
// long.
const flips, failureStep = 3, 60
